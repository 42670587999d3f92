use proofmark_receipt::Answer;
use proofmark_store::{Checking, Store, Used, Wrong};
use proofmark_tlog::{Appender, AuditError, Code, LogFiles, SignedCheckpoint, Vkey, audit};

use crate::error::LogError;
use crate::home::LogHome;
use crate::stored::StoredLog;

/// What an audit of a log found: nothing, where `faults` is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Audit {
    /// How many entries were compared with tiles and with a signed root.
    pub entries: u64,
    pub faults: Vec<Fault>,
}

/// Something wrong in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// A short stable name of what is wrong: of [`Code`], or of [`Wrong`].
    pub code: &'static str,
    pub message: String,
    /// `Undecidable` where the log cannot be read as far as this, and `Invalid` where it is not what was signed.
    pub answer: Answer,
}

impl Audit {
    /// Whether the log is what was signed.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let is_undecidable = |fault: &Fault| fault.answer == Answer::Undecidable;
        match self.faults.as_slice() {
            [] => Answer::Valid,
            faults if faults.iter().all(is_undecidable) => Answer::Undecidable,
            _ => Answer::Invalid,
        }
    }
}

/// The code of what cannot be read.
const UNREADABLE: &str = "unreadable";

/// Recomputes the log of a store from its entries: tiles, the last checkpoint in the store, and the one that is kept in `home`. Each
/// document has to have its entry.
///
/// # Errors
/// When the store or the home cannot be read.
pub fn audit_store(store: &Store, home: &LogHome) -> Result<Audit, LogError> {
    let mut found = Audit::default();
    // Each document is hashed again: the column beside it may still have the old hash.
    store.check(Checking {
        judge: &mut |_| Ok(Used::default()),
        found: &mut |wrong| found.faults.extend(Fault::of(&wrong)),
        progress: &mut |_, _| {},
    })?;
    let state = store.log_state()?;
    let stored = store.log_length()?;
    let has_home = home.origin()?.is_some();
    let vkeys = if has_home { home.vkeys()? } else { Vec::new() };
    let mut signed = Vec::new();
    if has_home && let Some(kept) = home.published()? {
        signed.push(kept);
    }
    if !state.checkpoint.is_empty() {
        match SignedCheckpoint::open(state.checkpoint.as_bytes(), &vkeys, []) {
            Ok(checkpoint) => signed.push(checkpoint),
            Err(error) => found.faults.push(Fault::new(error.code(), format!("the store's checkpoint: {error}"))),
        }
    }
    signed.sort_by_key(|signed| signed.checkpoint.size);
    signed.dedup_by(|one, other| one.checkpoint == other.checkpoint);
    // From the smallest on, so that no entry is read twice.
    let mut tree = Appender::default();
    for SignedCheckpoint { checkpoint, .. } in signed {
        let size = checkpoint.size;
        if size > stored.min(state.integrated) {
            let (there, what) = if size > stored { (stored, "there") } else { (state.integrated, "in tiles") };
            let message =
                format!("{size} entries were signed, and {there} are {what}: the store was rolled back or changed");
            found.faults.push(Fault::new(Code::CheckpointAhead, message));
            continue;
        }
        match audit(tree.clone(), size, &checkpoint.root, StoredLog(store), |_| Ok(())) {
            Ok(()) => found.entries = size,
            // What was found so far is not lost.
            Err(AuditError::Storage(error)) if !found.faults.is_empty() => {
                found.faults.push(Fault::unreadable(error.to_string()));
                return Ok(found);
            }
            Err(AuditError::Storage(error)) => return Err(error.into()),
            Err(fault) => {
                found.faults.push(Fault::of_audit(&fault));
                return Ok(found);
            }
        }
        tree = Appender::open(size, StoredLog(store)).map_err(LogError::of_tree)?;
    }
    Ok(found)
}

/// Recomputes a log from its files, and compares it with its checkpoint, which one of these keys has signed.
///
/// # Errors
/// When the files cannot be read.
pub fn audit_files<F: LogFiles>(note: &[u8], files: F, vkeys: &[Vkey]) -> Result<Audit, F::Error>
where
    F::Error: std::fmt::Display,
{
    let signed = match SignedCheckpoint::open(note, vkeys, []) {
        Ok(signed) => signed.checkpoint,
        Err(error) => {
            return Ok(Audit { entries: 0, faults: vec![Fault::new(error.code(), error.to_string())] });
        }
    };
    match audit(Appender::default(), signed.size, &signed.root, files, |_| Ok(())) {
        Ok(()) => Ok(Audit { entries: signed.size, faults: Vec::new() }),
        Err(AuditError::Storage(error)) => Err(error),
        Err(fault) => Ok(Audit { entries: 0, faults: vec![Fault::of_audit(&fault)] }),
    }
}

impl Fault {
    fn new(code: Code, message: String) -> Self {
        Self { code: code.as_str(), message, answer: code.answer() }
    }

    fn unreadable(message: String) -> Self {
        Self { code: UNREADABLE, message, answer: Answer::Undecidable }
    }

    /// What a check of the store has found, as far as it is about the log.
    fn of(wrong: &Wrong) -> Option<Self> {
        let Wrong { code, table, row, detail } = wrong;
        let code = match (*code, *table) {
            ("changed", "receipts" | "decisions") => Code::EntryChanged.as_str(),
            (code @ ("not_logged" | "missing" | "checkpoint_ahead"), _) => code,
            (UNREADABLE, "receipts" | "decisions") => UNREADABLE,
            _ => return None,
        };
        let answer = if code == UNREADABLE { Answer::Undecidable } else { Answer::Invalid };
        Some(Self { code, message: format!("{table} {row}: {detail}"), answer })
    }

    fn of_audit<E: std::fmt::Display>(fault: &AuditError<E>) -> Self {
        let message = fault.to_string();
        fault.code().map_or_else(|| Self::unreadable(message.clone()), |code| Self::new(code, message.clone()))
    }
}
