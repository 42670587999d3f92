//! Whatever is read has canonical forms that read back to themselves.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_receipt::{Json, Profile};

fuzz_target!(|bytes: &[u8]| {
    let Ok(document) = Json::parse(bytes) else { return };
    assert_eq!(Json::parse(document.to_text().as_bytes()).as_ref(), Ok(&document));
    for profile in Profile::ALL {
        let Ok(form) = document.canonical(profile) else { continue };
        // An escaped form can pass the limit of size that the document kept.
        let Ok(again) = Json::parse(&form) else { continue };
        assert_eq!(again.canonical(profile), Ok(form));
    }
});
