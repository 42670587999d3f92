use proofmark_receipt::json::{Json, JsonError};
use proofmark_receipt::{Answer, Sha256Digest};
use thiserror::Error;

use crate::checkpoint::{Checkpoint, CheckpointError, SignedCheckpoint};
use crate::proof::{self, ProofError};
use crate::proof_file::{ProofFile, ProofFileError};
use crate::{Code, Cosignature, Policy, Vkey, leaf};

/// The tag of `COSE_Sign1`, which COSE documents begin with (RFC 9052, section 4.2). No JSON begins with it.
const COSE_SIGN1: u8 = 0xd2;

/// Whom the verifier of a proof trusts.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrustedKeys<'a> {
    /// Keys of logs, beside those of the policy.
    pub logs: &'a [Vkey],
    /// Without it no witness is known, and no quorum asked for.
    pub policy: Option<&'a Policy>,
}

/// The result of verifying a proof file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofVerification {
    pub answer: Answer,
    /// The cause of the answer; of a valid one, that the quorum is not met.
    pub code: Option<Code>,
    /// The cause in words.
    pub reason: Option<String>,
    pub witnessed: Witnessed,
    pub log: LogTrust,
    /// The key of the log that has signed the checkpoint, once it is found to be a known one.
    pub log_key: Option<Vkey>,
    /// Once a known log is found to have signed it.
    pub checkpoint: Option<Checkpoint>,
    /// Where the file says the entry is: proven when the answer is valid.
    pub index: Option<u64>,
    /// Those of witnesses of the policy, with their times. The age of a proof is judged by the caller.
    pub cosignatures: Vec<Cosignature>,
    /// The extra data, when it is the document that is proven to be logged.
    pub document: Option<Vec<u8>>,
}

/// Whether the witnesses of the policy that have cosigned are enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Witnessed {
    Met,
    NotMet,
    /// No policy was given, or the answer was found before the cosignatures were read.
    Unknown,
}

/// Whether a known log has signed the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogTrust {
    Trusted,
    Unknown,
}

/// The bytes are not a document whose entry is known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum EntryError {
    #[error("the document is neither JSON nor a tagged `COSE_Sign1`: {0}")]
    Json(JsonError),
    #[error("the document is not a JSON object, as every receipt is")]
    NotAnObject,
}

#[derive(Debug, Error)]
enum Fault {
    #[error(transparent)]
    File(ProofFileError),
    #[error(transparent)]
    Checkpoint(CheckpointError),
    #[error("the entry is not proven to be at this index: {0}")]
    Inclusion(ProofError),
}

/// The entry of a document: SHA-256 of the canonical form `vrf` of JSON, signature included, or of a tagged `COSE_Sign1`
/// (log.md, section 1).
///
/// The unprotected header of a COSE document must be empty, which this does not look at; nor does it verify any signature.
///
/// # Errors
/// [`EntryError`] when the document is neither.
pub fn entry_of(document: &[u8]) -> Result<Sha256Digest, EntryError> {
    if document.first() == Some(&COSE_SIGN1) {
        return Ok(Sha256Digest::of(document));
    }
    let json = Json::parse(document).map_err(EntryError::Json)?;
    let object = json.as_object().ok_or(EntryError::NotAnObject)?;
    Ok(Sha256Digest::of(&object.canonical_vrf()))
}

/// Verifies that a proof file proves this entry to be logged, in the order: file, log, checkpoint, cosignatures, quorum, inclusion.
#[must_use]
pub fn verify_proof(file: &[u8], entry: &Sha256Digest, trusted: TrustedKeys<'_>) -> ProofVerification {
    let mut found = ProofVerification {
        answer: Answer::Valid,
        code: None,
        reason: None,
        witnessed: Witnessed::Unknown,
        log: LogTrust::Unknown,
        log_key: None,
        checkpoint: None,
        index: None,
        cosignatures: Vec::new(),
        document: None,
    };
    if let Err(fault) = found.look_into(file, entry, trusted) {
        let code = fault.code();
        found.answer = code.answer();
        found.code = Some(code);
        found.reason = Some(fault.to_string());
    } else if found.witnessed == Witnessed::NotMet {
        found.code = Some(Code::QuorumNotMet);
        found.reason = Some("too few witnesses of the policy have cosigned the checkpoint".to_owned());
    }
    found
}

impl ProofVerification {
    fn look_into(&mut self, file: &[u8], entry: &Sha256Digest, trusted: TrustedKeys<'_>) -> Result<(), Fault> {
        let proof = ProofFile::parse(file).map_err(Fault::File)?;
        self.index = Some(proof.index);
        let policy_logs = trusted.policy.into_iter().flat_map(Policy::logs).map(|log| &log.key);
        let witnesses = trusted.policy.into_iter().flat_map(Policy::witnesses).map(|witness| &witness.key);
        let opened = SignedCheckpoint::open(&proof.checkpoint, trusted.logs.iter().chain(policy_logs), witnesses);
        let signed = opened.map_err(|error| {
            // This is judged after the log's signature.
            if matches!(error, CheckpointError::CosignatureMismatch(_)) {
                self.log = LogTrust::Trusted;
            }
            Fault::Checkpoint(error)
        })?;
        self.log = LogTrust::Trusted;
        self.log_key = Some(signed.log);
        self.cosignatures = signed.cosignatures;
        if let Some(policy) = trusted.policy {
            let is_met = policy.is_met_by(&self.cosignatures);
            self.witnessed = if is_met { Witnessed::Met } else { Witnessed::NotMet };
        }
        let (size, root) = (signed.checkpoint.size, signed.checkpoint.root);
        self.checkpoint = Some(signed.checkpoint);
        proof::verify_inclusion(&leaf(entry), proof.index, size, &proof.path, &root).map_err(Fault::Inclusion)?;
        // It is in canonical form, so an entry is the digest of its bytes; other spellings of a document are not taken.
        self.document = proof.extra.filter(|extra| Sha256Digest::of(extra) == *entry);
        Ok(())
    }
}

impl Fault {
    fn code(&self) -> Code {
        match self {
            Self::File(error) => error.code(),
            Self::Checkpoint(error) => error.code(),
            Self::Inclusion(_) => Code::InclusionMismatch,
        }
    }
}

impl Witnessed {
    /// Its word in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not_met",
            Self::Unknown => "unknown",
        }
    }
}

impl LogTrust {
    /// Its word in results.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Unknown => "unknown",
        }
    }
}
