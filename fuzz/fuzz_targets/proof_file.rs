//! Any bytes are a proof file or refused; what is read is written back. Verifying one has an answer.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_receipt::{Answer, Sha256Digest};
use proofmark_tlog::{ProofFile, TrustedKeys, verify_proof};

fuzz_target!(|bytes: &[u8]| {
    let found = verify_proof(bytes, &Sha256Digest::of(b""), TrustedKeys::default());
    assert_ne!(found.answer, Answer::Valid);
    if let Ok(file) = ProofFile::parse(bytes) {
        assert_eq!(file.to_bytes(), bytes);
    }
});
