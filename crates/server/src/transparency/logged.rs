//! What the pages show of a document in the log.

use proofmark_log::{LogError, prove};
use proofmark_receipt::Sha256Digest;
use proofmark_store::Store;
use proofmark_tlog::{Checkpoint, Note, ProofVerification, TrustedKeys, verify_proof};

use super::ServedLog;

/// The proof that a document is in the log that a server signs, and how it verifies with the keys of that log and of the witnesses that the
/// server asks.
#[derive(Clone, Debug)]
pub struct Logged {
    /// The proof file, without the document.
    pub proof: String,
    /// The keys by which a reader verifies it again, as a policy (C2SP tlog-policy) that asks for no witness.
    pub policy: String,
    pub verification: ProofVerification,
    /// How many witnesses the server asks.
    pub witnesses: usize,
}

impl ServedLog {
    /// The proof of the document with this digest by the checkpoint that was signed last; `None` until one covers it.
    ///
    /// # Errors
    /// When the store or the home cannot be read, and [`LogError::Tree`] where the tiles of the store do not prove it.
    pub fn logged(&self, store: &Store, digest: &Sha256Digest) -> Result<Option<Logged>, LogError> {
        let note = store.log_state()?.checkpoint;
        let checkpoint = Note::parse(note.as_bytes()).ok().and_then(|note| Checkpoint::parse(note.text()).ok());
        let Some(checkpoint) = checkpoint else { return Ok(None) };
        let file = match prove(store, digest, None, note.into_bytes(), &checkpoint) {
            Ok(file) => file.to_bytes(),
            Err(LogError::NotLogged(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let vkeys = self.home.vkeys()?;
        let verification = verify_proof(&file, digest, TrustedKeys { logs: &vkeys, policy: self.policy.as_ref() });
        let logs = vkeys.iter().map(|vkey| format!("log {vkey}\n"));
        let witnesses = self.policy.as_ref().map(|policy| policy.witnesses()).unwrap_or_default();
        let known = witnesses.iter().map(|witness| format!("witness {} {}\n", witness.name, witness.key));
        Ok(Some(Logged {
            proof: String::from_utf8_lossy(&file).into_owned(),
            policy: logs.chain(known).chain(["quorum none\n".to_owned()]).collect(),
            verification,
            witnesses: witnesses.len(),
        }))
    }
}
