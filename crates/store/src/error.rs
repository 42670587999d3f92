use std::path::{Path, PathBuf};

use proofmark_receipt::ReceiptId;
use rusqlite::ErrorCode;
use thiserror::Error;

use crate::write::MAX_CHAIN_NAME;

/// Why the store could not be opened, read or written. It can be cloned because a failed commit fails every receipt of
/// its group.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// There is no file at the path.
    #[error("open the store `{}`: there is no such file; a first `proofmark verify` makes it", path.display())]
    Missing {
        /// The store's file.
        path: PathBuf,
    },
    /// Another process kept the database locked for longer than we wait.
    #[error(
        "use the store `{}`: another process keeps it locked; try again when that has ended, or name another file with \
         `--store`", path.display()
    )]
    Locked {
        /// The store's file.
        path: PathBuf,
    },
    /// The file is a Proofmark database, but cannot be relied on any more.
    #[error(
        "use the store `{}`: it is damaged ({detail}); restore it from a backup, or move it and its `-wal` file away to \
         begin a new one", path.display()
    )]
    Damaged {
        /// The store's file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// A later version of Proofmark has written the file.
    #[error(
        "open the store `{}`: it has version {found}, and this program knows versions up to {known}; use a newer \
         `proofmark`, or name another file with `--store`", path.display()
    )]
    Newer {
        /// The store's file.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The newest version this program reads.
        known: u32,
    },
    /// The file belongs to something else; it was not touched.
    #[error(
        "open the store `{}`: it is not a Proofmark database, or its beginning has been overwritten; name another file \
         with `--store`, or restore this one from a backup", path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("write the store `{}`: no space is left on its disk; free some and try again", path.display())]
    Full {
        /// The store's file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("use the store `{}`: {reason}; see that the file and its folder can be read and written", path.display())]
    Io {
        /// The store's file.
        path: PathBuf,
        /// What it said.
        reason: String,
    },
    /// The writer has ended before its time; what was not acknowledged is not kept.
    #[error("write the store `{}`: its writer has stopped; open the store again", path.display())]
    Stopped {
        /// The store's file.
        path: PathBuf,
    },
    /// A receipt of the same issuer with this id is kept already; ids are unique (VRF 1.0, security considerations 1).
    #[error("keep the receipt `{0}`: one of this issuer with this id is kept already; make a receipt with a new id")]
    Duplicate(ReceiptId),
    /// The receipt does not continue the chain from its tip, which another receipt has moved.
    #[error(
        "extend the chain `{chain}`: the receipt does not follow its tip, the next position is {next}; make the receipt \
         again from the present tip"
    )]
    ChainMoved {
        /// The chain's name.
        chain: String,
        /// The position the next receipt must have.
        next: u64,
    },
    /// The receipt is longer than a reader of receipts accepts.
    #[error("keep the receipt `{receipt_id}`: it has {bytes} bytes, more than {max}; leave details out of it")]
    TooLarge {
        /// The receipt.
        receipt_id: ReceiptId,
        /// Its length.
        bytes: usize,
        /// The longest that is read.
        max: usize,
    },
    /// The name cannot be that of a chain.
    #[error("use `{0}` as the name of a chain: write 1 to {MAX_CHAIN_NAME} bytes without control characters")]
    ChainName(String),
    /// Another judgment of the step was kept first.
    #[error("judge step `{step}` of run `{run}`: another judgment was kept meanwhile; judge the attempt again")]
    RunMoved {
        /// The run.
        run: String,
        /// The step.
        step: String,
    },
    /// The receipt was used up before; it counts once.
    #[error("use the receipt `{0}` as evidence: it was used before and counts once; ask for a new one")]
    Spent(ReceiptId),
    /// The tenant has no receipt with this id.
    #[error("find the receipt `{0}`: there is none with this id; write the id of a receipt that is kept")]
    NoReceipt(ReceiptId),
    /// Another receipt stands in its place already.
    #[error("use the receipt `{0}`: another stands in its place already; use that one")]
    Superseded(ReceiptId),
    /// The job has ended, or another process runs it; what was done of it here does not count.
    #[error("finish the job `{0}`: it has ended or another process runs it; ask what came of it")]
    JobTaken(ReceiptId),
    /// A decision with this id is kept already.
    #[error("keep the decision `{0}`: one with this id is kept already; decide under a new id")]
    DecisionKept(String),
    /// Another decision was kept first.
    #[error("keep the decision: another was kept meanwhile, the next position is {next}; decide again")]
    DecisionMoved {
        /// The position the next decision must have.
        next: u64,
    },
    /// A request with this key was answered meanwhile.
    #[error("answer the request `{0}`: one with this key was answered meanwhile; send it again to get that answer")]
    Answered(String),
    /// The decision was reviewed before.
    #[error(
        "review the decision `{0}`: this reviewer has reviewed it before, and a review stands; let somebody else review it"
    )]
    Reviewed(String),
    /// The action was allowed when it was asked for again.
    #[error(
        "review the decision `{0}`: the decision `{1}` has allowed the action since, so there is nothing to review"
    )]
    AllowedSince(String, String),
    /// The text is not the beginning of a receipt's id.
    #[error("find receipts by `{0}`: write 4 to 32 hex digits of the receipt's id")]
    Prefix(String),
}

impl StoreError {
    /// What `error`, of the database at `path`, comes to.
    pub(crate) fn of_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let path = path.to_owned();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
                Self::Locked { path }
            }
            Some(ErrorCode::DiskFull) => Self::Full { path },
            // Every statement is a constant that fits the schema, so one that does not compile met another schema; and
            // an error without a code is a value that is not what was stored.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) | None => {
                Self::Damaged { path, detail: error.to_string() }
            }
            Some(_) => Self::Io { path, reason: error.to_string() },
        }
    }

    /// What `error`, of the file or folder at `path`, comes to.
    pub(crate) fn of_io(path: &Path, error: &std::io::Error) -> Self {
        let path = path.to_owned();
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::Full { path },
            std::io::ErrorKind::NotFound => Self::Missing { path },
            _ => Self::Io { path, reason: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn codes_have_names() {
        let path = Path::new("p");
        let named = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            StoreError::of_sqlite(path, &error)
        };
        let path = path.to_owned();
        assert_eq!(named(ffi::SQLITE_FULL), StoreError::Full { path: path.clone() });
        assert_eq!(named(ffi::SQLITE_BUSY_SNAPSHOT), StoreError::Locked { path });
        assert!(matches!(named(ffi::SQLITE_CORRUPT_INDEX), StoreError::Damaged { .. }));
        assert!(matches!(named(ffi::SQLITE_IOERR_FSYNC), StoreError::Io { .. }));
        assert!(matches!(named(ffi::SQLITE_READONLY), StoreError::Io { .. }));
    }
}
