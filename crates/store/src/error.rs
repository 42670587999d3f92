use std::path::Path;

use proofmark_receipt::document::shown;
use proofmark_receipt::{ReceiptId, SignError};
use rusqlite::{ErrorCode, ffi};
use thiserror::Error;

use crate::mark::Mark;
use crate::place::Place;

/// The longest name of a chain, in bytes.
pub const MAX_CHAIN_NAME: usize = 400;

/// Why the store could not be opened, read or written. It can be cloned because a failed commit fails everything in its
/// group.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StoreError {
    /// There is no file at the path, or no store in the database.
    #[error("open the store `{place}`: {}", place.absence())]
    Missing { place: Place },
    /// Another process held the database locked for longer than we wait.
    #[error("use the store `{place}`: another process keeps it locked")]
    Locked { place: Place },
    /// The file is a Proofmark database, but cannot be relied on any more.
    #[error("use the store `{place}`: it is damaged ({detail})")]
    Damaged { place: Place, detail: String },
    /// Since it was opened, the file at the path was deleted or replaced by another one.
    #[error("use the store `{place}`: its file was deleted or replaced since it was opened")]
    Replaced { place: Place },
    /// A later version of Proofmark has written the file.
    #[error("open the store `{place}`: it has version {found}, and this program knows versions up to {known}")]
    Newer {
        place: Place,
        /// The version of the file.
        found: u32,
        /// The newest version this program reads.
        known: u32,
    },
    /// A build before version 0.1.0 has written it; it was not touched.
    #[error("open the store `{place}`: a build before version 0.1.0 has written it, and this program cannot read it")]
    Earlier { place: Place },
    /// The file or database belongs to another program; it was not touched.
    #[error("open the store `{place}`: it is not a Proofmark database, or its beginning has been overwritten")]
    Foreign { place: Place },
    /// A chain ends before the place that this home has written, or has another document there: the store lost what it had, or is an
    /// older copy.
    #[error("extend the chain `{}` of the store `{place}`: this home has signed position {signed} of it, and {}", shown(.chain), found(*.signed, *.stored))]
    Behind {
        place: Place,
        chain: String,
        /// The last position that was signed.
        signed: u64,
        /// The last position that is stored.
        stored: Option<u64>,
    },
    /// The file of the ends of chains cannot be read or written.
    #[error(
        "extend the chains of the store `{place}`: `{path}`, which says how far they were signed, cannot be used: {reason}"
    )]
    Ends { place: Place, path: String, reason: String },
    /// The disk is full.
    #[error("write the store `{place}`: no space is left on its disk")]
    Full { place: Place },
    /// The operating system refused.
    #[error("use the store `{place}`: {reason}")]
    Io { place: Place, reason: String },
    /// Everything was moved to another store; this one can be read.
    #[error("write the store `{place}`: it was moved to `{}`", shown(.to))]
    Moved { place: Place, to: String },
    /// Rows of another store are being copied into it.
    #[error("use the store `{place}`: it is an unfinished copy of `{}`", shown(.from))]
    Unfinished { place: Place, from: String },
    /// The URL of the database cannot be read.
    #[error("open the store `{place}`: invalid URL: {reason}")]
    Url { place: Place, reason: String },
    /// The database cannot be reached or does not answer now; what was to be stored is not stored.
    #[error("reach the store `{place}`: {reason}")]
    Unreachable { place: Place, reason: String },
    /// The database does not accept this user, or does not let it do what is necessary.
    #[error("use the store `{place}`: the database refuses it: {reason}")]
    Denied { place: Place, reason: String },
    /// Nobody waits for the answer any more, so reading was ended ([`crate::while_wanted`]).
    #[error("read the store: nobody waits for the answer any more")]
    Left,
    /// The connection was lost during the commit, and whether it took effect could not be asked.
    #[error("store in `{place}`: the database did not answer whether it is stored")]
    Unknown { place: Place },
    /// A store needs a database that is set up otherwise.
    #[error("use the store `{place}`: {reason}")]
    Unfit { place: Place, reason: String },
    /// A role of a database that cannot have rights of its own.
    #[error("give the role `{}` the rights of a worker: {reason}", shown(.role))]
    Role { role: String, reason: String },
    /// Text with the character U+0000, which PostgreSQL cannot store, and which no store takes.
    #[error("store the text: it has the character U+0000, which no store takes")]
    Text,
    /// Texts that are searched for together, and are too long for an index.
    #[error("store the text: what is searched for has {bytes} bytes, and the store can search for {max}")]
    LongKey {
        bytes: usize,
        /// The most bytes that one search can be for.
        max: usize,
    },
    /// The writer has ended early; what was not acknowledged is not stored.
    #[error("write the store `{place}`: its writer has stopped")]
    Stopped { place: Place },
    /// A receipt of the same issuer with this id is stored; ids are unique (VRF 1.0, security considerations 1).
    #[error("store the receipt `{0}`: a receipt of this issuer with this id is already stored")]
    Duplicate(ReceiptId),
    /// This very receipt, which was issued elsewhere, is stored.
    #[error("store the receipt `{0}`: it is already stored")]
    Stored(ReceiptId),
    /// The receipt or decision cannot be signed.
    #[error("sign the document: {0}")]
    Sign(#[from] SignError),
    /// What was signed is not linked to the tip of this chain. No caller does this; the store checks it all the same.
    #[error("extend the chain `{0}`: the document is not linked to its tip")]
    NotLinked(String),
    /// The receipt is longer than a reader of receipts accepts.
    #[error("store the receipt `{receipt_id}`: it has {bytes} bytes, more than {max}")]
    TooLarge {
        receipt_id: ReceiptId,
        bytes: usize,
        /// The longest that is read.
        max: usize,
    },
    /// An invalid name of a chain.
    #[error("use `{}` as the name of a chain", shown(.0))]
    ChainName(String),
    /// Another judgment of the step was stored first.
    #[error("judge step `{step}` of run `{run}`: another judgment was stored meanwhile")]
    RunMoved { run: String, step: String },
    /// Another process has appended to the session first.
    #[error("extend the session `{}`: another process has extended it meanwhile", shown(.0))]
    SessionMoved(String),
    /// The receipt was spent before; it counts once.
    #[error("use the receipt `{0}` as evidence: it was used before and counts once")]
    Spent(ReceiptId),
    /// The tenant has no receipt with this id.
    #[error("find the receipt `{0}`: none is stored under this id")]
    NoReceipt(ReceiptId),
    /// Another receipt has taken its place.
    #[error("use the receipt `{0}`: another receipt has taken its place")]
    Superseded(ReceiptId),
    /// The job has ended, or another process runs it; what was done for it here does not count.
    #[error("finish the job `{0}`: it has ended or another process runs it")]
    JobTaken(ReceiptId),
    /// As many jobs wait as may, of the tenant or of all.
    #[error("store the job: too many are waiting")]
    TooManyJobs,
    /// A decision with this id is stored.
    #[error("store the decision `{0}`: a decision with this id is already stored")]
    DecisionStored(String),
    /// Another decision on the same action was stored first.
    #[error("store the decision `{0}`: another decision on the action was stored meanwhile")]
    DecidedMeanwhile(String),
    /// Another action was counted under a key of this decision's limits first.
    #[error("store the decision `{0}`: another action that counts towards the same limit was stored meanwhile")]
    CountedMeanwhile(String),
    /// A request with this key was answered first.
    #[error("answer the request `{0}`: a request with this key was answered meanwhile")]
    Answered(String),
    /// The same person has reviewed the decision.
    #[error("review the decision `{0}`: this reviewer has reviewed it before, and a review stands")]
    Reviewed(String),
    /// Another review of the action was stored first.
    #[error("review the decision `{0}`: another review of the action was stored meanwhile")]
    ReviewedMeanwhile(String),
    /// The action was allowed when it was asked for again.
    #[error(
        "review the decision `{0}`: the decision `{1}` has allowed the action since, so there is nothing to review"
    )]
    AllowedSince(String, String),
    /// The text is not the beginning of a receipt's id.
    #[error("find receipts by `{0}`: it is not the beginning of an id")]
    Prefix(String),
}

impl StoreError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let text = match self {
            Self::Missing { .. } => "check its name, or run `proofmark verify` once to create it",
            Self::Locked { place: Place::Database(_) } => "try again",
            Self::Locked { .. } => "try again when that process has ended, or name another file with `--store`",
            Self::Damaged { place: Place::Database(_), .. } => "restore the database from a backup",
            Self::Damaged { .. } => "restore it from a backup, or move it and its `-wal` file away to begin a new one",
            Self::Replaced { .. } => {
                "put the file back with its `-wal` file, or restore a backup, and start the program again"
            }
            Self::Newer { place: Place::Database(_), .. } => "use a newer `proofmark`",
            Self::Newer { .. } => "use a newer `proofmark`, or name another file with `--store`",
            Self::Earlier { place: Place::Database(_) } => {
                "leave it as it is, and export its receipts with the build that wrote it (`proofmark receipt export`); name an \
                 empty database or another `search_path` with `--store`"
            }
            Self::Earlier { .. } => {
                "keep the file, and export its receipts with the build that wrote it (`proofmark receipt export`); name a new \
                 file with `--store`"
            }
            Self::Foreign { place: Place::Database(_) } => {
                "name an empty database with `--store`, or a schema of this one with `search_path`"
            }
            Self::Foreign { .. } => "name another file with `--store`, or restore this one from a backup",
            Self::Behind { .. } => {
                "use the store that has it, or restore the newest copy; where it is lost for good, `proofmark store accept-loss` has \
                 the chain go on, and its next document states the loss"
            }
            Self::Ends { .. } => "check that the file and its folder can be read and written",
            Self::Full { .. } => "free some space and try again",
            Self::Io { .. } => "check that the file and its folder can be read and written",
            Self::Moved { .. } => "name that store with `--store` or PROOFMARK_STORE",
            Self::Unfinished { .. } => "finish it with the same `proofmark store copy`, or name another store",
            Self::Url { .. } => "write `postgres://user@host:port/database`, with special characters as `%40` for `@`",
            Self::Unreachable { reason, .. } if reason.contains("certificate") => {
                "name the server as its certificate does, and a file of certificates to verify it by with `?sslrootcert=FILE`"
            }
            Self::Unreachable { .. } => "check that the database runs and can be reached, and try again",
            Self::Denied { .. } => {
                "check the user, its rights and its password, which is read from the URL, `PGPASSWORD` or `~/.pgpass`"
            }
            Self::Unknown { .. } => "look for it in the store before you send it again",
            Self::Unfit { .. } => "change this setting of the database, or name another one with `--store`",
            Self::Role { .. } => {
                "name a role that may log in and owns nothing here, as `createuser NAME` makes it, and a store in PostgreSQL"
            }
            Self::Left => "ask again",
            Self::Text => "leave the character out",
            Self::LongKey { .. } => "make names and identifiers shorter",
            Self::Stopped { .. } => "open the store again",
            Self::Duplicate(_) => "make a receipt with a new id",
            Self::TooLarge { .. } => "leave details out of it",
            Self::ChainName(_) => {
                return Some(format!("write 1 to {MAX_CHAIN_NAME} bytes without control characters"));
            }
            Self::RunMoved { .. } => "judge the attempt again",
            Self::SessionMoved(_) => "try again",
            Self::Spent(_) => "ask for a new receipt",
            Self::NoReceipt(_) => "name the id of a stored receipt",
            Self::Superseded(_) => "use the receipt that took its place",
            Self::JobTaken(_) => "get the job to see its state",
            Self::TooManyJobs => "send it again later",
            Self::DecisionStored(_) => "decide under a new id",
            Self::DecidedMeanwhile(_) | Self::CountedMeanwhile(_) => "decide again",
            Self::Answered(_) => "send it again to get that answer",
            Self::Reviewed(_) => "let another person review it",
            Self::ReviewedMeanwhile(_) => "review it again",
            Self::Prefix(_) => "write 4 to 32 hex digits of the receipt's id",
            Self::AllowedSince(..) | Self::Sign(_) | Self::NotLinked(_) | Self::Stored(_) => return None,
        };
        Some(text.to_owned())
    }

    /// Whether this is a refusal of one submission: the store works, and stores what it can.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        // No wildcard, so that every new error is put into one of the two: a batch ends at an error that is not a
        // refusal.
        match self {
            Self::Missing { .. }
            | Self::Locked { .. }
            | Self::Damaged { .. }
            | Self::Replaced { .. }
            | Self::Newer { .. }
            | Self::Earlier { .. }
            | Self::Foreign { .. }
            | Self::Behind { .. }
            | Self::Ends { .. }
            | Self::Full { .. }
            | Self::Io { .. }
            | Self::Moved { .. }
            | Self::Unfinished { .. }
            | Self::Url { .. }
            | Self::Unreachable { .. }
            | Self::Denied { .. }
            | Self::Unknown { .. }
            | Self::Unfit { .. }
            | Self::Left
            | Self::Stopped { .. } => false,
            Self::Role { .. }
            | Self::Text
            | Self::LongKey { .. }
            | Self::Duplicate(_)
            | Self::Stored(_)
            | Self::Sign(_)
            | Self::NotLinked(_)
            | Self::TooLarge { .. }
            | Self::ChainName(_)
            | Self::RunMoved { .. }
            | Self::Spent(_)
            | Self::NoReceipt(_)
            | Self::Superseded(_)
            | Self::JobTaken(_)
            | Self::TooManyJobs
            | Self::DecisionStored(_)
            | Self::DecidedMeanwhile(_)
            | Self::CountedMeanwhile(_)
            | Self::Answered(_)
            | Self::Reviewed(_)
            | Self::ReviewedMeanwhile(_)
            | Self::AllowedSince(..)
            | Self::SessionMoved(_)
            | Self::Prefix(_) => true,
        }
    }

    /// The error that `error`, of the database at `path`, is to callers.
    pub(crate) fn of_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        Self::sqlite(Place::File(path.to_owned()), error)
    }

    /// The error of a store that refuses writes for a reason of its own ([`crate::mark`]).
    pub(crate) fn of_mark(place: Place, mark: Mark) -> Self {
        match mark {
            Mark::Moved { to } => Self::Moved { place, to },
            Mark::Unfinished(origin) => Self::Unfinished { place, from: origin.place },
        }
    }

    pub(crate) fn sqlite(place: Place, error: &rusqlite::Error) -> Self {
        if let rusqlite::Error::SqliteFailure(error, Some(message)) = error
            && error.extended_code == ffi::SQLITE_CONSTRAINT_TRIGGER
            && let Some(mark) = Mark::of_refusal(message)
        {
            return Self::of_mark(place, mark);
        }
        match error.sqlite_error_code() {
            // SQLite fails with a locking protocol error when other processes keep winning the race to begin in WAL
            // mode.
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed) => {
                Self::Locked { place }
            }
            Some(ErrorCode::DiskFull) => Self::Full { place },
            // Only connections that read are interrupted (`patience`).
            Some(ErrorCode::OperationInterrupted) => Self::Left,
            // Every statement is a constant that fits the schema, so one that does not compile met another schema;
            // an error without a code is a value that is not what was stored.
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown) | None => {
                Self::Damaged { place, detail: error.to_string() }
            }
            Some(_) => Self::Io { place, reason: error.to_string() },
        }
    }

    /// The error that `error`, of the file or folder at `path`, is to callers.
    pub(crate) fn of_io(path: &Path, error: &std::io::Error) -> Self {
        let place = Place::File(path.to_owned());
        match error.kind() {
            std::io::ErrorKind::StorageFull => Self::Full { place },
            std::io::ErrorKind::NotFound => Self::Missing { place },
            _ => Self::Io { place, reason: error.to_string() },
        }
    }
}

/// What a chain has, of which position `signed` was signed.
fn found(signed: u64, stored: Option<u64>) -> String {
    match stored {
        None => "the store has none".to_owned(),
        Some(stored) if stored < signed => format!("the store ends it at position {stored}"),
        Some(_) => "the store has another document there".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names() {
        let path = Path::new("p");
        let named = |code| {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            StoreError::of_sqlite(path, &error)
        };
        let place = Place::File(path.to_owned());
        assert_eq!(named(ffi::SQLITE_FULL), StoreError::Full { place: place.clone() });
        assert_eq!(named(ffi::SQLITE_BUSY_SNAPSHOT), StoreError::Locked { place });
        assert!(matches!(named(ffi::SQLITE_CORRUPT_INDEX), StoreError::Damaged { .. }));
        assert!(matches!(named(ffi::SQLITE_IOERR_FSYNC), StoreError::Io { .. }));
        assert!(matches!(named(ffi::SQLITE_READONLY), StoreError::Io { .. }));
    }
}
