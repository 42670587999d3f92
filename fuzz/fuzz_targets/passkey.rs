//! What a page sends as the assertion of a passkey, and passkeys as policies name them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_passkey::{Assertion, Passkey};
use proofmark_receipt::{Json, Sha256Digest};

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(passkey) = text.parse::<Passkey>()
    {
        assert_eq!(passkey.to_string(), text);
    }
    let Ok(json) = Json::parse(data) else { return };
    let passkey: Passkey = format!("eddsa:{}@https://a.example", "01".repeat(32)).parse().expect("it is one");
    let Some(assertion) = json.as_object().and_then(|sent| Assertion::read(sent).ok()) else { return };
    assert!(assertion.verify(&passkey, &Sha256Digest::of(b"")).is_err());
    assert_eq!(Assertion::read(&assertion.write(&passkey)), Ok(assertion));
});
