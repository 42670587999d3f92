//! The keys that an issuer publishes (JSON Web Key Set, RFC 7517), as far as tokens are signed with them.

use std::sync::Arc;

use base64ct::{Base64UrlUnpadded, Encoding};
use jsonwebtoken::{Algorithm, DecodingKey};
use proofmark_receipt::{Json, Object, Sha256Digest};

use super::refusal::Refusal;

/// The most keys that are looked at.
const MAX_KEYS: usize = 128;
/// The longest id of a key, in bytes.
pub(super) const MAX_KEY_ID: usize = 256;
/// The bytes of a coordinate of P-256, and of a key of Ed25519.
const COORDINATE: usize = 32;

/// The algorithms that tokens may be signed with. None has a secret.
pub(super) const ALGORITHMS: [(&str, Algorithm); 4] = [
    ("RS256", Algorithm::RS256),
    ("PS256", Algorithm::PS256),
    ("ES256", Algorithm::ES256),
    ("EdDSA", Algorithm::EdDSA),
];

/// The keys of an issuer.
#[derive(Clone, Debug, Default)]
pub(super) struct KeySet {
    keys: Vec<IssuerKey>,
}

/// A key of an issuer, for one algorithm.
#[derive(Clone, Debug)]
pub(super) struct IssuerKey {
    id: String,
    pub(super) algorithm: Algorithm,
    pub(super) key: Arc<DecodingKey>,
    /// Of the whole key.
    digest: Sha256Digest,
}

impl PartialEq for IssuerKey {
    fn eq(&self, other: &Self) -> bool {
        (&self.id, self.algorithm, self.digest) == (&other.id, other.algorithm, other.digest)
    }
}

impl KeySet {
    /// Reads `{keys: [{kty, kid, alg, use, …}, …]}`. A key that no token can be signed with here is left out (RFC 7517, section 5).
    /// `None` if this is not a set of keys, or is too large.
    pub(super) fn read(document: &Json) -> Option<Self> {
        let keys = document.as_object()?.get("keys")?.as_array()?;
        if keys.len() > MAX_KEYS {
            return None;
        }
        Some(Self { keys: keys.iter().filter_map(IssuerKey::read).collect() })
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The one key with this id. If there are two, the right one would be a guess.
    pub(super) fn find(&self, id: &str) -> Result<&IssuerKey, Refusal> {
        let mut named = self.keys.iter().filter(|key| key.id == id);
        match (named.next(), named.next()) {
            (Some(key), None) => Ok(key),
            (_, _) => Err(Refusal::UnknownKey),
        }
    }

    pub(super) fn has(&self, key: &IssuerKey) -> bool {
        self.find(&key.id) == Ok(key)
    }
}

impl IssuerKey {
    fn read(json: &Json) -> Option<Self> {
        let key = json.as_object()?;
        let id = text(key, "kid").filter(|id| (1..=MAX_KEY_ID).contains(&id.len()))?;
        // The members that are present say what the key is for; missing ones forbid nothing.
        let signs = key.get("use").is_none_or(|usage| usage.as_str() == Some("sig"));
        let verifies = |operations: &Json| {
            operations.as_array().is_some_and(|all| all.iter().any(|one| one.as_str() == Some("verify")))
        };
        if !signs || !key.get("key_ops").is_none_or(verifies) {
            return None;
        }
        let (algorithm, decoding) = read_material(key)?;
        let digest = Sha256Digest::of(json.to_text().as_bytes());
        Some(Self { id: id.to_owned(), algorithm, key: Arc::new(decoding), digest })
    }
}

/// The algorithm of a key and what signatures are checked with.
fn read_material(key: &Object) -> Option<(Algorithm, DecodingKey)> {
    let algorithm = match key.get("alg") {
        Some(named) => Some(algorithm(named.as_str()?)?),
        None => None,
    };
    match (text(key, "kty")?, text(key, "crv"), algorithm) {
        // If `alg` is missing, RS256, which every issuer must have (OpenID Connect Discovery, section 3).
        ("RSA", _, None | Some(Algorithm::RS256)) => Some((Algorithm::RS256, rsa(key)?)),
        ("RSA", _, Some(Algorithm::PS256)) => Some((Algorithm::PS256, rsa(key)?)),
        ("EC", Some("P-256"), None | Some(Algorithm::ES256)) => {
            let point = [vec![4], bytes(key, "x")?, bytes(key, "y")?].concat();
            (point.len() == 1 + 2 * COORDINATE).then(|| (Algorithm::ES256, DecodingKey::from_ec_der(&point)))
        }
        ("OKP", Some("Ed25519"), None | Some(Algorithm::EdDSA)) => {
            let point = bytes(key, "x").filter(|point| point.len() == COORDINATE)?;
            Some((Algorithm::EdDSA, DecodingKey::from_ed_der(&point)))
        }
        (_, _, _) => None,
    }
}

fn rsa(key: &Object) -> Option<DecodingKey> {
    let number = |name: &str| {
        let bytes = bytes(key, name)?;
        let begin = bytes.iter().position(|byte| *byte != 0)?;
        bytes.get(begin..).map(<[u8]>::to_vec)
    };
    Some(DecodingKey::from_rsa_raw_components(&number("n")?, &number("e")?))
}

/// The algorithm with this name.
pub(super) fn algorithm(name: &str) -> Option<Algorithm> {
    ALGORITHMS.iter().find(|(known, _)| *known == name).map(|(_, algorithm)| *algorithm)
}

fn text<'k>(key: &'k Object, name: &str) -> Option<&'k str> {
    key.get(name)?.as_str()
}

fn bytes(key: &Object, name: &str) -> Option<Vec<u8>> {
    Base64UrlUnpadded::decode_vec(text(key, name)?).ok()
}
