//! Any body of `add-checkpoint` has an answer, and a witness that knows a log cosigns nothing that the log has not signed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_tlog::{CheckpointRequest, Cosigner, SignedCheckpoint, Vkey};

/// The log of the conformance data, whose requests are seeds.
const LOG: &str = "log.example/proofmark+f356cdaf+Ae1JKMYo0cLG6ukDOJBZlWEpWSc6XGP5NjbBRhSshzfR";

fuzz_target!(|body: &[u8]| {
    let log: Vkey = LOG.parse().unwrap();
    let witness = Cosigner::from_seed("witness.example/w1", &[4; 32]).unwrap();
    match CheckpointRequest::parse(body, [&log]) {
        Ok(request) => {
            if let Ok(cosigned) = request.cosign(None, &witness, 1) {
                assert!(SignedCheckpoint::open(cosigned.checkpoint.as_bytes(), [&log], [witness.vkey()]).is_ok());
            }
        }
        Err(refusal) => assert!((400..500).contains(&refusal.status()) && refusal.body().ends_with('\n')),
    }
});
