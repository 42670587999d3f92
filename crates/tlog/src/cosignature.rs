use crate::key::{KeyNameError, PrivateKey, PrivateKeyError};
use crate::note::{Note, SignatureMismatch, signature_line};
use crate::{KeyType, Vkey};

/// The latest time of a cosignature, in seconds (C2SP tlog-cosignature).
pub const MAX_TIME: u64 = i64::MAX as u64;

/// The first line of what a cosigner signs, which no checkpoint can begin with.
pub(crate) const HEADER: &str = "cosignature/v1";

/// A cosignature that verifies: of all trees of this log that the cosigner has seen, the checkpoint is the largest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosignature {
    /// The key of the cosigner.
    pub witness: Vkey,
    /// When it was made, in seconds since 1970 by the cosigner's clock.
    pub time: u64,
}

/// The private key of a witness or a mirror, of type `04` (C2SP tlog-cosignature). One key must not serve two cosigners.
#[derive(Clone, Debug)]
pub struct Cosigner(PrivateKey);

impl Cosigner {
    /// The cosigner of this name with this seed, 32 bytes of good randomness (RFC 8032, section 5.1.5).
    ///
    /// # Errors
    /// [`KeyNameError`] when no key can have the name.
    pub fn from_seed(name: &str, seed: &[u8; 32]) -> Result<Self, KeyNameError> {
        PrivateKey::from_seed(name, KeyType::Cosignature, seed).map(Self)
    }

    /// As [`Cosigner::from_seed`], with a key in PKCS#8 PEM (RFC 8410).
    ///
    /// # Errors
    /// [`PrivateKeyError`] when no key can have the name, or the text is another kind of key.
    pub fn from_pkcs8_pem(name: &str, pem: &str) -> Result<Self, PrivateKeyError> {
        PrivateKey::from_pkcs8_pem(name, KeyType::Cosignature, pem).map(Self)
    }

    /// The key by which its cosignatures verify.
    #[must_use]
    pub fn vkey(&self) -> &Vkey {
        self.0.vkey()
    }

    /// The signature line, with its line feed, over the text of a checkpoint: what [`Note::text`] returns. `time` is in seconds since
    /// 1970, at most [`MAX_TIME`].
    ///
    /// This does not look at the text. A witness uses [`CheckpointRequest::cosign`](crate::CheckpointRequest::cosign).
    #[must_use]
    pub fn cosign(&self, text: &str, time: u64) -> String {
        let time = time.min(MAX_TIME);
        let signature = self.0.sign(&message(text, time));
        signature_line(&self.0, &[time.to_be_bytes().as_slice(), &signature].concat())
    }
}

/// The time at which this key of type `04` has cosigned the note; the latest one if it has done so more than once.
///
/// # Errors
/// [`SignatureMismatch`] when a line of the key does not verify, which spoils the whole note.
pub(crate) fn cosigned_at(note: &Note<'_>, key: &Vkey) -> Result<Option<u64>, SignatureMismatch> {
    let mut latest = None;
    if key.key_type() != KeyType::Cosignature {
        return Ok(None);
    }
    for line in note.lines_of(key) {
        let time = verified_time(note.text(), key, &line.signature);
        let time = time.ok_or_else(|| SignatureMismatch(key.name().to_owned()))?;
        latest = latest.max(Some(time));
    }
    Ok(latest)
}

fn verified_time(text: &str, key: &Vkey, signature: &[u8]) -> Option<u64> {
    let (time, signature) = signature.split_first_chunk()?;
    let time = u64::from_be_bytes(*time);
    let is_signed = time <= MAX_TIME && key.verifies(&message(text, time), signature);
    is_signed.then_some(time)
}

/// What is signed (C2SP tlog-cosignature).
fn message(text: &str, time: u64) -> Vec<u8> {
    format!("{HEADER}\ntime {time}\n{text}").into_bytes()
}
