//! Any bytes have an answer under every profile, and without a key given nobody is trusted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_receipt::{SignatureStatus, Profile, Receipt, Trust, verify, verify_chain};

fuzz_target!(|bytes: &[u8]| {
    for profile in Profile::ALL {
        let verification = verify(bytes, profile, &[]);
        assert_eq!(verification.trust, Trust::Unknown);
        assert_eq!(verification.answer.code().is_none(), verification.answer == SignatureStatus::Valid);
    }
    if let Ok(receipt) = Receipt::parse(bytes) {
        assert_eq!(Receipt::parse(receipt.to_text().as_bytes()).as_ref(), Ok(&receipt));
        let _ = verify_chain(&[receipt.clone(), receipt], None);
    }
});
