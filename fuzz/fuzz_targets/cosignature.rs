//! Any bytes are a note or refused, and no signature of a known log or witness can be found by chance.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_tlog::{Note, SignedCheckpoint, Vkey};

/// Keys of the conformance data, whose notes are seeds.
const LOG: &str = "log.example/proofmark+f356cdaf+Ae1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR";
const WITNESS: &str = "witness.example/w1+141f260a+BMqTrBcFGHBx1nuDx/8O/oEI6OxFMFdddyaHkzPb2r58";

fuzz_target!(|bytes: &[u8]| {
    let (log, witness): (Vkey, Vkey) = (LOG.parse().unwrap(), WITNESS.parse().unwrap());
    let opened = SignedCheckpoint::open(bytes, [&log], [&witness]);
    match Note::parse(bytes) {
        Ok(note) => {
            assert!(bytes.starts_with(note.text().as_bytes()));
            if let Ok(signed) = opened {
                assert_eq!(note.is_signed_by(&log), Ok(true));
                assert!(note.text().starts_with(&signed.checkpoint.text()));
            }
        }
        Err(_) => assert!(opened.is_err()),
    }
    let _ = std::str::from_utf8(bytes).map(|text| {
        if let Ok(key) = text.parse::<Vkey>() {
            assert_eq!(key.to_string(), text);
        }
    });
});
