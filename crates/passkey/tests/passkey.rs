//! What a passkey has signed counts, and nothing else does. `vectors/passkey.json` has the cases one by one.

#![allow(clippy::unwrap_used, reason = "a test may stop anywhere")]

use base64ct::{Base64UrlUnpadded, Encoding};
use p256::ecdsa::signature::Signer;
use p256::ecdsa::{Signature, SigningKey};
use proofmark_passkey::{Assertion, AssertionError, Origin, Passkey, PublicKey};
use proofmark_receipt::{Object, Sha256Digest, object};
use proptest::prelude::*;

const PAGE: &str = "https://approvals.example:8443";

fn key() -> SigningKey {
    SigningKey::from_slice(&[7; 32]).unwrap()
}

fn passkey() -> Passkey {
    let point = key().verifying_key().to_encoded_point(false);
    let (_, coordinates) = point.as_bytes().split_first().unwrap();
    let key = PublicKey::Es256(coordinates.try_into().unwrap());
    Passkey { key, origin: PAGE.parse().unwrap() }
}

/// What an authenticator signs, in its parts.
#[derive(Clone, Debug)]
struct Signed {
    data: Vec<u8>,
    client_data: String,
    signature: Vec<u8>,
}

fn signed(challenge: &Sha256Digest) -> Signed {
    let challenge = Base64UrlUnpadded::encode_string(challenge.as_bytes());
    let client_data =
        format!(r#"{{"type":"webauthn.get","challenge":"{challenge}","origin":"{PAGE}","crossOrigin":false}}"#);
    let data = [Sha256Digest::of(b"approvals.example").as_bytes(), &[5, 0, 0, 1, 2][..]].concat();
    let message = [&data[..], Sha256Digest::of(client_data.as_bytes()).as_bytes()].concat();
    let signature: Signature = key().sign(&message);
    Signed { data, client_data, signature: signature.to_bytes().to_vec() }
}

/// As a page sends it.
fn sent(signed: &Signed) -> Object {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    object! {
        "credential": "AQID",
        "authenticator_data": hex(&signed.data),
        "client_data": signed.client_data.as_str(),
        "signature": hex(&signed.signature),
    }
}

#[test]
fn what_a_page_sends_counts_and_is_read_back() {
    let challenge = Sha256Digest::of(b"approval");
    let assertion = Assertion::read(&sent(&signed(&challenge))).unwrap();
    assert_eq!((assertion.verify(&passkey(), &challenge), assertion.counter()), (Ok(()), 258));
    assert_eq!(Assertion::read(&assertion.write(&passkey())).unwrap(), assertion);
    let other = Sha256Digest::of(b"another");
    assert_eq!(assertion.verify(&passkey(), &other), Err(AssertionError::Challenge));
}

#[test]
fn passkeys_have_one_spelling() {
    let text = passkey().to_string();
    assert_eq!(text.parse(), Ok(passkey()));
    for wrong in [
        text.to_uppercase(),
        text.replace("es256:", "es256:0"),
        text.replace("es256", "es384"),
        text.replace('@', "@@"),
        text.replace('@', ""),
        text.replace(":8443", ":08443"),
        text.replace(":8443", "/"),
        text.replace("https", "http"),
        text.replace("approvals.example", "127.0.0.1"),
        text.replace("approvals.example", "-a.example"),
    ] {
        assert!(wrong.parse::<Passkey>().is_err(), "{wrong}");
    }
    let local: Origin = "http://localhost:8700".parse().unwrap();
    assert_eq!(local.relying_party(), "localhost");
}

proptest! {
    #[test]
    fn nothing_that_was_changed_counts(part in 0_usize..3, at in 0_usize..512, bits in 1_u8..=255) {
        let challenge = Sha256Digest::of(b"approval");
        let mut changed = signed(&challenge);
        let mut text = changed.client_data.clone().into_bytes();
        let bytes = match part {
            0 => &mut changed.data,
            1 => &mut text,
            _ => &mut changed.signature,
        };
        let at = at % bytes.len();
        bytes[at] ^= bits;
        let Ok(text) = String::from_utf8(text) else { return Ok(()) };
        changed.client_data = text;
        let counts = Assertion::read(&sent(&changed)).is_ok_and(|one| one.verify(&passkey(), &challenge).is_ok());
        prop_assert!(!counts, "{changed:?}");
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}", data in proptest::collection::vec(any::<u8>(), 0..80)) {
        let parsed = text.parse::<Passkey>();
        prop_assert!(parsed.is_err() || parsed.unwrap().to_string() == text);
        let sent = sent(&Signed { signature: data.clone(), data, client_data: text });
        prop_assert!(Assertion::read(&sent).is_err(), "two parts of it have different lengths");
    }
}
