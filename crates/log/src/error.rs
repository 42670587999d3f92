use std::io;
use std::path::PathBuf;

use proofmark_keys::KeyringError;
use proofmark_receipt::document::shown;
use proofmark_store::StoreError;
use proofmark_tlog::{CheckpointError, CheckpointTextError, PrivateKeyError, TreeError};

/// Why the log cannot be kept or read, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Key(#[from] KeyringError),
    #[error("{doing} `{}` ({error})", path.display())]
    Io { doing: &'static str, path: PathBuf, error: io::Error },
    #[error("find the log in `{}`: it was not initialized", .0.display())]
    NotBegun(PathBuf),
    #[error("begin the log `{new}`: this home keeps the log `{old}`", new = shown(.new), old = shown(.old))]
    Begun { old: String, new: String },
    #[error("use the origin `{}`: {reason}", shown(.origin))]
    Origin { origin: String, reason: &'static str },
    /// The home keeps another log by now, or signs with another key.
    #[error("sign the log `{0}`: this home has another log or another key by now")]
    Replaced(String),
    #[error("use the key of the log ({0})")]
    PrivateKey(#[from] PrivateKeyError),
    #[error("read `{}`: it is not what this home wrote ({reason})", path.display())]
    Changed { path: PathBuf, reason: String },
    #[error("read the checkpoint in the store ({0})")]
    Stored(CheckpointError),
    #[error("sign for the log `{ours}`: the store has a checkpoint of the log `{theirs}`", ours = shown(.ours), theirs = shown(.theirs))]
    OtherLog { ours: String, theirs: String },
    /// The store was rolled back.
    #[error(
        "sign the log: a checkpoint of {signed} entries was signed, and the store has {stored}: it was rolled back"
    )]
    CheckpointAhead { signed: u64, stored: u64 },
    /// The store has other entries than those that were signed.
    #[error(
        "sign the log: its first {size} entries are not those that were signed: the store was rolled back or changed"
    )]
    Forked { size: u64 },
    #[error("read the log: {0}")]
    Tree(String),
    #[error("sign the checkpoint ({0})")]
    Sign(#[from] CheckpointTextError),
    #[error("write to the log: other processes changed it {0} times meanwhile")]
    Busy(usize),
    /// The checkpoint waits, or is not there yet.
    #[error("copy the log to `{}`: {reason}", shown(.place))]
    Copy { place: String, reason: String },
    #[error("prove that the document {0} is in the log: it is not")]
    NotLogged(String),
}

impl LogError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Store(error) => return error.help(),
            Self::Key(error) => return error.help(),
            Self::NotBegun(_) => {
                "initialize it with `proofmark log init ORIGIN`, as in log.example.org/proofmark".to_owned()
            }
            Self::Begun { .. } => "a log keeps its origin; use another PROOFMARK_HOME for another log".to_owned(),
            Self::Origin { .. } => {
                "write the address of the log without `https://`, as in log.example.org/proofmark".to_owned()
            }
            Self::OtherLog { .. } => {
                "use the home that keeps that log, or begin another log with `proofmark log init ORIGIN --restart`"
                    .to_owned()
            }
            Self::CheckpointAhead { .. } | Self::Forked { .. } => {
                "restore the newest copy of the store; if the entries are lost, begin another log with \
                 `proofmark log init ORIGIN --restart`: no two histories of one log may be signed"
                    .to_owned()
            }
            Self::Copy { .. } => {
                "checkpoints wait until it has the files that they cover; what was stored is not lost".to_owned()
            }
            Self::Replaced(_) => "start the program again".to_owned(),
            Self::NotLogged(_) => {
                "the log has the documents of the store, and what `proofmark log add` has added".to_owned()
            }
            Self::Tree(_) | Self::Stored(_) => "run `proofmark log fsck`, which names what is wrong".to_owned(),
            Self::Busy(_) => "run the command again".to_owned(),
            Self::Changed { .. } => {
                "find out who changed it, and restore it from a backup; if its key is lost, begin another log with \
                 `proofmark log init ORIGIN --restart`"
                    .to_owned()
            }
            _ => return None,
        })
    }

    pub(crate) fn of_tree(error: TreeError<StoreError>) -> Self {
        match error {
            TreeError::Storage(error) => Self::Store(error),
            other => Self::Tree(other.to_string()),
        }
    }
}
