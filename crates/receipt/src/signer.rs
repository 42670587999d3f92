mod strict;

use std::fmt;
use std::str::FromStr;

use base64ct::{Base64, Base64UrlUnpadded, Encoding};
use thiserror::Error;

use crate::hex;
use crate::json::{Json, Object};
use crate::{Sha256Digest, object, shown};

/// The DER of a SubjectPublicKeyInfo before an Ed25519 key's 32 bytes (RFC 8410, section 4).
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00];
/// The multicodec of Ed25519 public keys, as `did:key` prefixes it.
const DID_KEY_PREFIX: [u8; 2] = [0xED, 0x01];
/// The bytes of the DER of an Ed25519 key's SubjectPublicKeyInfo, and of its base64.
const SPKI: usize = 44;
const SPKI_BASE64: usize = 60;
const PEM_BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const PEM_END: &str = "-----END PUBLIC KEY-----";

/// A signer: an Ed25519 public key.
///
/// Written as base64 of its DER SubjectPublicKeyInfo (`MCowBQYDK2VwAyEA…`). Read as well: base64 of the raw 32 bytes,
/// `ed25519:` and 64 hex digits, and `did:key:z6Mk…`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignerId([u8; 32]);

/// The text is not an Ed25519 public key.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not an Ed25519 public key")]
pub struct ParseSignerError(String);

impl ParseSignerError {
    fn new(text: &str) -> Self {
        // A private key given by mistake must not reach a message or a log.
        let text = if text.contains("PRIVATE KEY") { "a private key" } else { text };
        Self(shown(text))
    }

    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        Some("write its SubjectPublicKeyInfo in base64, as `proofmark key show` prints it".to_owned())
    }
}

impl SignerId {
    /// The signer whose public key is these 32 bytes (RFC 8032, section 5.1.5). Bytes that are not a point of the curve
    /// verify no signature.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// `did:key:z6Mk…`: base58btc of the key with its multicodec (did:key method, section 3).
    pub fn did_key(&self) -> String {
        let bytes: Vec<u8> = DID_KEY_PREFIX.into_iter().chain(self.0).collect();
        format!("did:key:z{}", bs58::encode(bytes).into_string())
    }

    /// The JSON Web Key (RFC 8037, section 2), its `kid` the thumbprint of RFC 7638.
    pub fn jwk(&self) -> Object {
        let x = Base64UrlUnpadded::encode_string(&self.0);
        // RFC 7638, section 3: the required members only, sorted, without white space. Base64url needs no escapes.
        let thumbprint = Sha256Digest::of(format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#).as_bytes());
        object! {
            "kty": "OKP",
            "crv": "Ed25519",
            "x": x,
            "kid": Base64UrlUnpadded::encode_string(thumbprint.as_bytes()),
            "alg": "EdDSA",
            "use": "sig",
        }
    }

    /// SHA-256(DER SubjectPublicKeyInfo), for people to compare.
    pub fn fingerprint(&self) -> String {
        self.key_hash().to_string()
    }

    /// The digest that [`SignerId::fingerprint`] writes.
    pub fn key_hash(&self) -> Sha256Digest {
        Sha256Digest::of(&self.spki())
    }

    /// The public key as PEM (RFC 7468, section 13).
    pub fn to_public_pem(&self) -> String {
        format!("{PEM_BEGIN}\n{self}\n{PEM_END}\n")
    }

    /// Reads a public key as PEM.
    ///
    /// # Errors
    /// [`ParseSignerError`] when it is not one of Ed25519.
    pub fn from_public_pem(text: &str) -> Result<Self, ParseSignerError> {
        let body = text.trim().strip_prefix(PEM_BEGIN).and_then(|rest| rest.strip_suffix(PEM_END));
        let body: Option<String> = body.map(|body| body.split_whitespace().collect());
        body.and_then(|body| from_spki(&body)).map(Self).ok_or_else(|| ParseSignerError::new(text))
    }

    /// Reads a JSON Web Key: `kty` `OKP`, `crv` `Ed25519`, `x` in base64url (RFC 8037, section 2).
    ///
    /// # Errors
    /// [`ParseSignerError`] when it is another kind of key.
    pub fn from_jwk(jwk: &Object) -> Result<Self, ParseSignerError> {
        let text = |name: &str| jwk.get(name).and_then(Json::as_str);
        let bytes = match (text("kty"), text("crv"), text("x")) {
            (Some("OKP"), Some("Ed25519"), Some(x)) => decoded::<Base64UrlUnpadded, 32>(x),
            _ => None,
        };
        bytes.map(Self).ok_or_else(|| ParseSignerError::new("the JSON Web Key"))
    }

    /// Ed25519-verify-strict(self, `message`, `signature`): no small-order key, no non-canonical encoding.
    pub fn verify(&self, message: &[u8], signature: &[u8; 64]) -> bool {
        strict::verify(&self.0, message, signature)
    }

    /// Whether `text` is the way [`fmt::Display`] writes this signer.
    pub(crate) fn is_written(&self, text: &str) -> bool {
        let mut base64 = [0; SPKI_BASE64];
        Base64::encode(&self.spki(), &mut base64).is_ok_and(|own| own == text)
    }

    fn spki(&self) -> [u8; SPKI] {
        let mut der = [0; SPKI];
        der.iter_mut().zip(SPKI_PREFIX.iter().chain(&self.0)).for_each(|(to, from)| *to = *from);
        der
    }
}

impl FromStr for SignerId {
    type Err = ParseSignerError;

    fn from_str(text: &str) -> Result<Self, ParseSignerError> {
        let bytes = if let Some(digits) = text.strip_prefix("ed25519:") {
            // Lower case only: each form of a key has one spelling (`docs/receipts.md`, "Signature").
            hex::decode_lower(digits)
        } else if let Some(encoded) = text.strip_prefix("did:key:z") {
            from_did(encoded)
        } else {
            from_spki(text).or_else(|| decoded::<Base64, 32>(text))
        };
        bytes.map(Self).ok_or_else(|| ParseSignerError::new(text))
    }
}

impl fmt::Display for SignerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Base64::encode_string(&self.spki()))
    }
}

impl fmt::Debug for SignerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn from_spki(text: &str) -> Option<[u8; 32]> {
    let der: [u8; SPKI] = decoded::<Base64, SPKI>(text)?;
    der.strip_prefix(&SPKI_PREFIX)?.try_into().ok()
}

fn from_did(encoded: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 34];
    // An encoding of 34 bytes has at most 47 characters; longer ones would only cost time.
    let length = (encoded.len() <= 48).then(|| bs58::decode(encoded).onto(&mut bytes).ok())??;
    let key = bytes.get(..length)?.strip_prefix(&DID_KEY_PREFIX)?;
    key.try_into().ok()
}

/// Exactly `N` bytes in canonical base64.
fn decoded<E: Encoding, const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    // The decoder refuses missing padding and stray bits in the last character, which would be further spellings.
    let length = E::decode(text, &mut bytes).ok()?.len();
    (length == N).then_some(bytes)
}

#[cfg(test)]
mod conformance;

#[cfg(test)]
mod tests {
    use super::*;

    /// The key of RFC 8032, section 7.1, test 1.
    const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

    #[test]
    fn every_form_names_the_same_key() {
        let signer: SignerId = format!("ed25519:{KEY}").parse().unwrap();
        assert_eq!(signer.to_string(), "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");
        assert_eq!(signer.to_string().parse(), Ok(signer));
        assert_eq!("11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".parse(), Ok(signer));
        assert_eq!(signer.did_key().parse(), Ok(signer));
        assert_eq!(SignerId::from_public_pem(&signer.to_public_pem()), Ok(signer));
        assert_eq!(SignerId::from_jwk(&signer.jwk()), Ok(signer));
    }

    #[test]
    fn the_thumbprint_is_that_of_rfc_8037() {
        let signer: SignerId = format!("ed25519:{KEY}").parse().unwrap();
        assert_eq!(signer.jwk().get("kid"), Some(&Json::from("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")));
        assert_eq!(signer.jwk().get("x"), Some(&Json::from("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")));
    }

    #[test]
    fn near_misses_are_refused() {
        for bad in [
            "",
            "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURp=",
            "MCowBQYDK2VuAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
            "ed25519:d75a98",
            "ed25519:D75A980182B10AB7D54BFED3C964073A0EE172F3DAA62325AF021A68F707511A",
            "did:key:z6Mk",
        ] {
            assert!(bad.parse::<SignerId>().is_err(), "{bad}");
        }
    }
}
