//! That a receipt is in a transparency log, as a proof shows under the keys of a policy.

use std::collections::BTreeSet;
use std::sync::Arc;

use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{Answer, Json, Object, Sha256Digest, object};
use proofmark_tlog::{
    KeyType, MAX_NOTE_LINES, PROOF_HEADER, Policy, ProofFile, ProofFileError, TrustedKeys, Vkey, verify_proof,
};

/// The most proofs that are presented with one request.
pub const MAX_PROOFS: usize = 64;
/// The most witnesses that can have cosigned one checkpoint: one of its signatures is the log's.
pub const MAX_WITNESSES: usize = MAX_NOTE_LINES - 1;
/// The largest tree whose size every reader of JSON takes for the same number (RFC 8785).
const MAX_SIZE: u64 = (1 << 53) - 1;

/// The logs and witnesses that an action policy or a workflow pins (C2SP tlog-policy). No other key makes a receipt a logged one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogPolicy {
    policy: Arc<Policy>,
    text: Arc<str>,
}

/// That a log has signed a tree that has a receipt in it. The keys are those that signatures were verified by, so that it can be judged
/// under another policy than the one that it was found under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    log: Vkey,
    index: u64,
    size: u64,
    /// Each once.
    witnesses: Vec<Vkey>,
}

/// What the log of a receipt is to a policy that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standing {
    /// Whether the quorum of the policy is met.
    pub quorum: bool,
    /// How many different witnesses of the policy have cosigned.
    pub witnesses: usize,
}

/// A proof that is presented: a proof file with the document in it. Nothing of it is verified.
#[derive(Clone, PartialEq, Eq)]
pub struct LogProof {
    entry: Sha256Digest,
    file: Vec<u8>,
}

/// The bytes are not a proof that can be presented.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogProofError {
    #[error(transparent)]
    File(ProofFileError),
    #[error("the proof does not contain its document, so it is unknown which receipt it belongs to")]
    NoDocument,
}

impl LogProofError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::File(_) => "give the file as the log gave it, or as `proofmark log prove ID` prints it",
            Self::NoDocument => "give what `proofmark log prove ID`, or a server at `/v1/receipts/ID/proof`, gives",
        }
    }
}

impl LogProof {
    /// Whether the bytes begin as a proof file does, and no receipt.
    #[must_use]
    pub fn begins(bytes: &[u8]) -> bool {
        bytes.starts_with(PROOF_HEADER.as_bytes())
    }

    /// Reads a proof file.
    ///
    /// # Errors
    /// [`LogProofError`] when it is none, or has no document in it.
    pub fn parse(file: Vec<u8>) -> Result<Self, LogProofError> {
        let proof = ProofFile::parse(&file).map_err(LogProofError::File)?;
        // Documents are in it in canonical form, so the digest of the bytes is the entry.
        let entry = Sha256Digest::of(&proof.extra.ok_or(LogProofError::NoDocument)?);
        Ok(Self { entry, file })
    }

    /// The entry that it is to prove: the digest of the whole receipt, its signature included.
    #[must_use]
    pub fn entry(&self) -> Sha256Digest {
        self.entry
    }
}

impl std::fmt::Debug for LogProof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a proof of {}", self.entry)
    }
}

impl LogPolicy {
    /// Reads the text of a tlog-policy that names at least one log.
    ///
    /// # Errors
    /// [`DocumentError`] names the line.
    pub fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        const HELP: &str = "write it as a block (`|`), with a line `log KEY`, a line `witness NAME KEY` for each \
                            witness, and last `quorum NAME`, or `quorum none`";
        let text = field.text()?;
        let policy = Policy::parse(text.as_bytes());
        let policy = policy.map_err(|error| field.error(Cause::InvalidValue, error.to_string()).with_help(HELP))?;
        if policy.logs().is_empty() {
            let error = field.error(Cause::InvalidValue, "it names no log, so no receipt could count as logged");
            return Err(error.with_help("write a line `log KEY` with the key that `proofmark log show` prints"));
        }
        Ok(Self { policy: Arc::new(policy), text: Arc::from(text) })
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names by which it calls its witnesses, in its order.
    pub fn witnesses(&self) -> impl Iterator<Item = &str> {
        self.policy.witnesses().iter().map(|witness| witness.name.as_str())
    }

    /// Whether a log alone is enough: its quorum asks for no witness.
    #[must_use]
    pub fn asks_for_no_witness(&self) -> bool {
        self.policy.is_met_where(|_| false)
    }

    /// What proofs of one entry show: of several, the one that most witnesses have cosigned. `None` where none is valid and by a log of this
    /// policy.
    #[must_use]
    pub fn best<'p>(&self, proofs: impl IntoIterator<Item = &'p LogProof>) -> Option<Logged> {
        let found = proofs.into_iter().filter_map(|proof| self.verified(proof));
        found.max_by_key(|logged| (self.standing(logged), logged.order()))
    }

    fn verified(&self, proof: &LogProof) -> Option<Logged> {
        let trusted = TrustedKeys { logs: &[], policy: Some(&self.policy) };
        let found = verify_proof(&proof.file, &proof.entry, trusted);
        let size = found.checkpoint?.size;
        // A tree of another size could not be recorded.
        if found.answer != Answer::Valid || size > MAX_SIZE {
            return None;
        }
        let witnesses = found.cosignatures.into_iter().map(|cosignature| cosignature.witness).collect();
        Some(Logged { log: found.log_key?, index: found.index?, size, witnesses })
    }

    /// What the log and the witnesses of a receipt are to this policy; `None` where it does not name the log.
    #[must_use]
    pub fn standing(&self, logged: &Logged) -> Option<Standing> {
        self.policy.logs().iter().find(|log| log.key == logged.log)?;
        // A key under another name is another line of a checkpoint, which this policy would not have read.
        let has_cosigned = |witness: &Vkey| logged.witnesses.contains(witness);
        // The policy names each key once, so no witness counts twice.
        let witnesses = self.policy.witnesses().iter().filter(|witness| has_cosigned(&witness.key)).count();
        Some(Standing { quorum: self.policy.is_met_where(has_cosigned), witnesses })
    }

    /// A receipt in its first log that these witnesses have cosigned, for cases and hypotheses.
    #[must_use]
    pub fn supposed(&self, has_cosigned: impl Fn(&str) -> bool) -> Option<Logged> {
        let cosigned = self.policy.witnesses().iter().filter(|witness| has_cosigned(&witness.name));
        let witnesses = cosigned.take(MAX_WITNESSES).map(|witness| witness.key.clone()).collect();
        Some(Logged { log: self.policy.logs().first()?.key.clone(), index: 0, size: 1, witnesses })
    }
}

impl Logged {
    /// The origin of the log.
    #[must_use]
    pub fn origin(&self) -> &str {
        self.log.name()
    }

    /// How many witnesses have cosigned, for budgets.
    #[must_use]
    pub fn cosigned(&self) -> usize {
        self.witnesses.len()
    }

    /// As decisions record it: `{log, index, size, witnesses}`, with whole verifier keys.
    #[must_use]
    pub fn to_object(&self) -> Object {
        object! {
            "log": self.log.to_string(),
            "index": self.index,
            "size": self.size,
            "witnesses": self.witnesses.iter().map(|witness| Json::from(witness.to_string())).collect::<Vec<_>>(),
        }
    }

    /// Reads it back; `None` for another form.
    #[must_use]
    pub fn read(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let number = |name: &str| object.get(name)?.as_number()?.as_u64().filter(|number| *number <= MAX_SIZE);
        let key = |json: &Json, key_type| json.as_str()?.parse().ok().filter(|key: &Vkey| key.key_type() == key_type);
        let (index, size) = (number("index")?, number("size")?);
        let listed = object.get("witnesses")?.as_array()?;
        let witnesses: Vec<Vkey> = listed.iter().map(|json| key(json, KeyType::Cosignature)).collect::<Option<_>>()?;
        let keys: BTreeSet<_> = witnesses.iter().map(Vkey::public_key).collect();
        let is_whole = index < size && keys.len() == witnesses.len() && witnesses.len() <= MAX_WITNESSES;
        let log = key(object.get("log")?, KeyType::Note)?;
        is_whole.then_some(Self { log, index, size, witnesses })
    }

    /// Orders two of them, the one with more witnesses last. It does not depend on which came first.
    pub(crate) fn order(&self) -> (usize, u64, u64, String) {
        let witnesses: Vec<String> = self.witnesses.iter().map(ToString::to_string).collect();
        (self.witnesses.len(), self.size, self.index, format!("{} {}", self.log, witnesses.join(" ")))
    }
}
