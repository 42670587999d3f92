//! Proofs that receipts are in a transparency log: which receipt each is of, and what it shows of it.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

use proofmark_evidence::{LogPolicy, LogProof, LogProofError, Logged, MAX_PROOFS};
use proofmark_receipt::{Receipt, Sha256Digest};

/// The most bytes that all proofs of one request have together.
pub const MAX_PROOFS_BYTES: usize = 16 << 20;

/// A proof that is presented, and what it is called in messages.
#[derive(Clone, Debug)]
pub struct PresentedProof {
    name: String,
    bytes: usize,
    proof: LogProof,
}

/// Why a proof cannot be used. It is an error, because the caller relies on the proof.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    #[error("read the proof `{name}`: {error}")]
    Invalid { name: String, error: LogProofError },
    #[error("use the proof `{0}`: its receipt is not presented, and the policy does not look for it in the store")]
    OfNothing(String),
    #[error(
        "read the proofs: there are more than {MAX_PROOFS}, or they have more than {MAX_PROOFS_BYTES} bytes together"
    )]
    TooMany,
}

impl ProofError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Invalid { error, .. } => error.help(),
            Self::OfNothing(_) => "also present the receipt, with the signature that was logged, or remove the proof",
            Self::TooMany => "present those of the receipts that the policy asks for",
        }
    }

    /// A short stable name, for programs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "invalid_proof",
            Self::OfNothing(_) => "proof_of_nothing",
            Self::TooMany => "too_many_proofs",
        }
    }
}

impl PresentedProof {
    /// Reads a proof file.
    ///
    /// # Errors
    /// [`ProofError::Invalid`] when it is none, or has no document in it.
    pub fn parse(name: String, file: Vec<u8>) -> Result<Self, ProofError> {
        let bytes = file.len();
        match LogProof::parse(file) {
            Ok(proof) => Ok(Self { name, bytes, proof }),
            Err(error) => Err(ProofError::Invalid { name, error }),
        }
    }

    /// What it is called in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Refuses more proofs than are verified for one request.
pub(super) fn check_count(proofs: &[PresentedProof]) -> Result<(), ProofError> {
    let bytes: usize = proofs.iter().map(|proof| proof.bytes).sum();
    if proofs.len() > MAX_PROOFS || bytes > MAX_PROOFS_BYTES { Err(ProofError::TooMany) } else { Ok(()) }
}

/// What the presented proofs show of receipts, under the keys of one policy.
///
/// A proof is verified when its receipt comes, and once. Without a policy that pins logs, proofs are ignored: no rule asks for one.
#[derive(Default)]
pub struct Proofs<'a> {
    by: Option<&'a LogPolicy>,
    of: BTreeMap<Sha256Digest, OfEntry<'a>>,
}

#[derive(Default)]
struct OfEntry<'a> {
    proofs: Vec<&'a PresentedProof>,
    is_met: Cell<bool>,
    logged: OnceCell<Option<Logged>>,
}

impl<'a> Proofs<'a> {
    /// These proofs, under the keys of this policy.
    #[must_use]
    pub fn new(by: Option<&'a LogPolicy>, proofs: &'a [PresentedProof]) -> Self {
        let mut of: BTreeMap<_, OfEntry<'a>> = BTreeMap::new();
        for proof in proofs.iter().filter(|_| by.is_some()) {
            of.entry(proof.proof.entry()).or_default().proofs.push(proof);
        }
        Self { by, of }
    }

    /// What they show of a receipt: with exactly this signature, which the entry of a log covers.
    pub(super) fn of(&self, receipt: &Receipt) -> Option<Logged> {
        if self.of.is_empty() {
            return None;
        }
        let of_entry = self.of.get(&receipt.hash())?;
        of_entry.is_met.set(true);
        let verified = || self.by?.best(of_entry.proofs.iter().map(|presented| &presented.proof));
        of_entry.logged.get_or_init(verified).clone()
    }

    /// Refuses a proof of which no receipt came.
    ///
    /// # Errors
    /// [`ProofError::OfNothing`] names it.
    pub fn check_all_met(&self) -> Result<(), ProofError> {
        match self.of.values().find(|of_entry| !of_entry.is_met.get()).and_then(|of_entry| of_entry.proofs.first()) {
            Some(proof) => Err(ProofError::OfNothing(proof.name.clone())),
            None => Ok(()),
        }
    }
}
