//! The signatures of tokens, which `ring` checks for `jsonwebtoken`. No algorithm has a secret, and nothing is signed.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result as JwtResult};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

/// What checks signatures in this process.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes this process check signatures here. A second call changes nothing.
pub(super) fn install() {
    match PROVIDER.install_default() {
        Ok(()) | Err(_) => {}
    }
}

enum Check {
    Rsa { n: Vec<u8>, e: Vec<u8>, parameters: &'static RsaParameters },
    Point { key: Vec<u8>, algorithm: &'static dyn VerificationAlgorithm },
}

struct Checking {
    algorithm: Algorithm,
    check: Check,
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> JwtResult<Box<dyn JwtVerifier>> {
    if algorithm.family() != key.family() {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    let rsa = |parameters| -> JwtResult<Check> {
        match key.kind() {
            DecodingKeyKind::RsaModulusExponent { n, e } => Ok(Check::Rsa { n: n.clone(), e: e.clone(), parameters }),
            DecodingKeyKind::SecretOrDer(_) => Err(ErrorKind::InvalidKeyFormat.into()),
        }
    };
    let point =
        |algorithm| -> JwtResult<Check> { Ok(Check::Point { key: key.try_get_as_bytes()?.to_vec(), algorithm }) };
    let check = match algorithm {
        Algorithm::RS256 => rsa(&RSA_PKCS1_2048_8192_SHA256)?,
        Algorithm::PS256 => rsa(&RSA_PSS_2048_8192_SHA256)?,
        Algorithm::ES256 => point(&ECDSA_P256_SHA256_FIXED)?,
        Algorithm::EdDSA => point(&ED25519)?,
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    };
    Ok(Box::new(Checking { algorithm: *algorithm, check }))
}

impl JwtVerifier for Checking {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

impl Verifier<Vec<u8>> for Checking {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), Error> {
        let checked = match &self.check {
            Check::Rsa { n, e, parameters } => RsaPublicKeyComponents { n, e }.verify(parameters, message, signature),
            Check::Point { key, algorithm } => UnparsedPublicKey::new(*algorithm, key).verify(message, signature),
        };
        checked.map_err(|_| Error::new())
    }
}
