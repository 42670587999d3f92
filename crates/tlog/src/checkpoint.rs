use proofmark_receipt::shown;
use thiserror::Error;

use crate::cosignature::{self, Cosignature, cosigned_at};
use crate::key::{KeyNameError, PrivateKey, PrivateKeyError, is_key_name};
use crate::note::{Note, NoteError, signature_line};
use crate::proof::{self, ProofError};
use crate::text::decimal;
use crate::{Code, Hash, KeyType, Vkey};

/// The head of a log: how many entries it has, and the root of their tree (C2SP tlog-checkpoint).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

/// The text is not that of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckpointTextError {
    #[error("the checkpoint has fewer than three lines: it is an origin, a size and a root")]
    Lines,
    #[error("`{0}` is not the origin of a log: it is empty, has a space or a plus sign, or is `cosignature/v1`")]
    Origin(String),
    #[error("`{0}` is not the size of a tree: write it in decimal, without leading zeros")]
    Size(String),
    #[error("the root `{0}` is not 32 bytes in base64")]
    Root(String),
    #[error("an extension line is empty")]
    EmptyExtension,
    #[error("the root of a tree of size 0 is not the hash of nothing")]
    EmptyTreeRoot,
}

/// Why a checkpoint is not used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CheckpointError {
    #[error(transparent)]
    Note(NoteError),
    #[error("no known log has signed the checkpoint")]
    UnsignedByLog,
    #[error("the signature line of the log `{0}` does not verify: the checkpoint was changed, or is forged")]
    LogSignatureMismatch(String),
    #[error(transparent)]
    Text(CheckpointTextError),
    #[error("the checkpoint is of `{origin}`, but signed by the log `{signed_by}`")]
    WrongOrigin { origin: String, signed_by: String },
    #[error("the cosignature of `{0}` does not verify")]
    CosignatureMismatch(String),
}

/// Two signed checkpoints of a log do not belong to one history.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HistoryError {
    #[error("the checkpoints are of two logs, `{0}` and `{1}`")]
    WrongOrigin(String, String),
    /// Both are evidence against the log.
    #[error("the log has signed two trees of size {0}: keep both checkpoints, they prove it")]
    SplitView(u64),
    #[error("the older tree is not proven to be a prefix of the newer one: {0}")]
    Consistency(ProofError),
}

/// A checkpoint that a known log has signed, and whose lines of known witnesses verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCheckpoint {
    pub checkpoint: Checkpoint,
    /// The key of the log.
    pub log: Vkey,
    /// Those of known witnesses, one of each.
    pub cosignatures: Vec<Cosignature>,
}

impl CheckpointError {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Note(error) => error.code(),
            Self::UnsignedByLog => Code::UnsignedByLog,
            Self::LogSignatureMismatch(_) => Code::LogSignatureMismatch,
            Self::Text(_) => Code::MalformedCheckpoint,
            Self::WrongOrigin { .. } => Code::WrongOrigin,
            Self::CosignatureMismatch(_) => Code::CosignatureMismatch,
        }
    }
}

impl HistoryError {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::WrongOrigin(..) => Code::WrongOrigin,
            Self::SplitView(_) => Code::SplitView,
            Self::Consistency(_) => Code::ConsistencyMismatch,
        }
    }
}

impl Checkpoint {
    /// Reads what is signed. Extension lines say nothing and are left out.
    ///
    /// # Errors
    /// [`CheckpointTextError`] when it does not have the form of a checkpoint.
    pub fn parse(text: &str) -> Result<Self, CheckpointTextError> {
        let checkpoint = Self::parse_any_root(text)?;
        checkpoint.check_root()?;
        Ok(checkpoint)
    }

    /// As [`Checkpoint::parse`], with any root of an empty tree: a witness judges it later than the form.
    pub(crate) fn parse_any_root(text: &str) -> Result<Self, CheckpointTextError> {
        let mut lines = text.strip_suffix('\n').ok_or(CheckpointTextError::Lines)?.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(CheckpointTextError::Lines);
        };
        if !is_key_name(origin) || origin == cosignature::HEADER {
            return Err(CheckpointTextError::Origin(shown(origin)));
        }
        let size = decimal(size).ok_or_else(|| CheckpointTextError::Size(shown(size)))?;
        let root = root.parse().map_err(|_| CheckpointTextError::Root(shown(root)))?;
        if lines.any(str::is_empty) {
            return Err(CheckpointTextError::EmptyExtension);
        }
        Ok(Self { origin: origin.to_owned(), size, root })
    }

    pub(crate) fn check_root(&self) -> Result<(), CheckpointTextError> {
        let is_possible = self.size > 0 || self.root == Hash::OF_NOTHING;
        if is_possible { Ok(()) } else { Err(CheckpointTextError::EmptyTreeRoot) }
    }

    /// What is signed, with its last line feed.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, self.root)
    }

    /// Verifies that the tree of this checkpoint is a prefix of that of `newer`. From an empty tree and between equal trees the proof
    /// is empty.
    ///
    /// # Errors
    /// [`HistoryError`] when it is not.
    pub fn verify_prefix_of(&self, newer: &Self, proof: &[Hash]) -> Result<(), HistoryError> {
        if self.origin != newer.origin {
            return Err(HistoryError::WrongOrigin(shown(&self.origin), shown(&newer.origin)));
        }
        if self.size == newer.size && self.root != newer.root {
            return Err(HistoryError::SplitView(self.size));
        }
        if self.size == 0 {
            let length = HistoryError::Consistency(ProofError::Length(proof.len()));
            return if proof.is_empty() { Ok(()) } else { Err(length) };
        }
        proof::verify_consistency(self.size, newer.size, proof, &self.root, &newer.root)
            .map_err(HistoryError::Consistency)
    }
}

impl SignedCheckpoint {
    /// Reads a signed checkpoint and verifies the lines of known keys, in an order in which nothing is interpreted before it is known to
    /// be signed. Keys of other types than `01` for logs and `04` for witnesses are left out.
    ///
    /// # Errors
    /// [`CheckpointError`] when it must not be used.
    pub fn open<'k>(
        note: &[u8],
        logs: impl IntoIterator<Item = &'k Vkey>,
        witnesses: impl IntoIterator<Item = &'k Vkey>,
    ) -> Result<Self, CheckpointError> {
        let note = Note::parse(note).map_err(CheckpointError::Note)?;
        let signed_by = log_keys_of(&note, logs)?;
        let checkpoint = Checkpoint::parse(note.text()).map_err(CheckpointError::Text)?;
        let log = log_of(&checkpoint, &signed_by)?.clone();
        let mut cosignatures: Vec<Cosignature> = Vec::new();
        for key in witnesses {
            let time = cosigned_at(&note, key).map_err(|error| CheckpointError::CosignatureMismatch(error.0))?;
            // A witness counts once, also when a caller knows it twice.
            let is_new = !cosignatures.iter().any(|other| other.witness.public_key() == key.public_key());
            if let Some(time) = time.filter(|_| is_new) {
                cosignatures.push(Cosignature { witness: key.clone(), time });
            }
        }
        Ok(Self { checkpoint, log, cosignatures })
    }
}

/// The known logs that have signed a note: at least one.
pub(crate) fn log_keys_of<'k>(
    note: &Note<'_>,
    logs: impl IntoIterator<Item = &'k Vkey>,
) -> Result<Vec<&'k Vkey>, CheckpointError> {
    let mut signed_by = Vec::new();
    for key in logs {
        if note.is_signed_by(key).map_err(|error| CheckpointError::LogSignatureMismatch(error.0))? {
            signed_by.push(key);
        }
    }
    if signed_by.is_empty() { Err(CheckpointError::UnsignedByLog) } else { Ok(signed_by) }
}

/// The key of the log that the checkpoint is of: its name is the origin.
fn log_of<'k>(checkpoint: &Checkpoint, signed_by: &[&'k Vkey]) -> Result<&'k Vkey, CheckpointError> {
    let own = signed_by.iter().find(|key| key.name() == checkpoint.origin);
    own.copied().ok_or_else(|| CheckpointError::WrongOrigin {
        origin: shown(&checkpoint.origin),
        signed_by: signed_by.first().map(|key| shown(key.name())).unwrap_or_default(),
    })
}

/// The private key of a log, of type `01`. It is another key than that of the issuer.
#[derive(Clone, Debug)]
pub struct LogSigner(PrivateKey);

impl LogSigner {
    /// The signer of the log with this origin and this seed, 32 bytes of good randomness (RFC 8032, section 5.1.5).
    ///
    /// # Errors
    /// [`KeyNameError`] when no key can have the name.
    pub fn from_seed(origin: &str, seed: &[u8; 32]) -> Result<Self, KeyNameError> {
        PrivateKey::from_seed(origin, KeyType::Note, seed).map(Self)
    }

    /// As [`LogSigner::from_seed`], with a key in PKCS#8 PEM (RFC 8410).
    ///
    /// # Errors
    /// [`PrivateKeyError`] when no key can have the name, or the text is another kind of key.
    pub fn from_pkcs8_pem(origin: &str, pem: &str) -> Result<Self, PrivateKeyError> {
        PrivateKey::from_pkcs8_pem(origin, KeyType::Note, pem).map(Self)
    }

    /// The key by which its checkpoints verify.
    #[must_use]
    pub fn vkey(&self) -> &Vkey {
        self.0.vkey()
    }

    /// The signed checkpoint of this tree. It must be an extension of every tree that was signed before.
    ///
    /// # Errors
    /// [`CheckpointTextError`] when the origin is `cosignature/v1`, or a tree of size 0 has another root than the hash of nothing.
    pub fn sign(&self, size: u64, root: Hash) -> Result<String, CheckpointTextError> {
        let text = Checkpoint { origin: self.vkey().name().to_owned(), size, root }.text();
        // What readers refuse must not be signed.
        Checkpoint::parse(&text)?;
        let line = signature_line(&self.0, &self.0.sign(text.as_bytes()));
        Ok(format!("{text}\n{line}"))
    }
}
