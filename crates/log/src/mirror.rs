//! A copy of a log, in a folder that any web server can serve.

use std::fmt;
use std::io;
use std::path::PathBuf;

use proofmark_tlog::{
    Appender, AuditError, Audited, CheckpointError, Code, Cosigner, HistoryError, LogFiles, Note, SignedCheckpoint,
    TilePath, TreeError, Vkey, audit, bundle, consistency_proof,
};

use crate::folder::LogFolder;

/// Where a log is copied from.
pub trait LogSource: LogFiles {
    /// The signed checkpoint.
    ///
    /// # Errors
    /// When it cannot be read.
    fn checkpoint(&self) -> Result<Vec<u8>, Self::Error>;
}

/// How many entries a mirror had, and has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirrored {
    pub before: u64,
    pub entries: u64,
}

/// Why a mirror does not follow a log. What it has copied is then unchanged; a checkpoint that contradicts its own is kept beside that.
#[derive(Debug, thiserror::Error)]
pub enum MirrorError<E: fmt::Display> {
    #[error("read the log ({0})")]
    Source(E),
    #[error("use the folder of the mirror ({0})")]
    Folder(io::Error),
    #[error("use the checkpoint of the log: {0}")]
    Checkpoint(CheckpointError),
    #[error("use the checkpoint of the mirror: {0}")]
    Own(CheckpointError),
    #[error("follow the log: it has {size} entries, and the mirror has {held}; its checkpoint is kept in `{}`", kept.display())]
    Shrunk { held: u64, size: u64, kept: PathBuf },
    #[error("follow the log: {cause}; its checkpoint is kept in `{}`", kept.display())]
    History { cause: HistoryError, kept: PathBuf },
    #[error("copy the log: {0}")]
    Files(String, Option<Code>),
}

impl<E: fmt::Display> MirrorError<E> {
    /// The code of what is wrong with the log; none where it could not be read, or the mirror not written.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Source(_) | Self::Folder(_) => None,
            Self::Checkpoint(error) | Self::Own(error) => Some(error.code()),
            Self::Shrunk { .. } => Some(Code::ConsistencyMismatch),
            Self::History { cause, .. } => Some(cause.code()),
            Self::Files(_, code) => *code,
        }
    }
}

/// Copies what the log has and the mirror has not. What is copied was compared with the signed root before the copy has a checkpoint; a
/// checkpoint that does not continue that of the mirror is refused. It keeps the lines of these logs and witnesses; `cosigner` adds the mirror's
/// own at this time, in seconds since 1970.
///
/// # Errors
/// [`MirrorError`]
pub fn mirror<S: LogSource>(
    source: &S,
    folder: &LogFolder,
    vkeys: &[Vkey],
    witnesses: &[Vkey],
    cosigner: Option<(&Cosigner, u64)>,
) -> Result<Mirrored, MirrorError<S::Error>>
where
    S::Error: fmt::Display,
{
    let _locked = folder.lock().map_err(MirrorError::Folder)?;
    let note = source.checkpoint().map_err(MirrorError::Source)?;
    let signed = SignedCheckpoint::open(&note, vkeys, []).map_err(MirrorError::Checkpoint)?.checkpoint;
    let held = folder.checkpoint().map_err(MirrorError::Folder)?;
    let held = held.map(|held| SignedCheckpoint::open(&held, vkeys, [])).transpose().map_err(MirrorError::Own)?;
    let held = held.map(|held| held.checkpoint);
    let before = held.as_ref().map_or(0, |held| held.size);
    let parsed = Note::parse(&note).map_err(|error| MirrorError::Checkpoint(CheckpointError::Note(error)))?;
    // Lines of unknown keys could be many, and the mirror would pass them on.
    let mut note = parsed.with_lines_of(vkeys.iter().chain(witnesses));
    if before > signed.size {
        let kept = folder.keep_other(&note).map_err(MirrorError::Folder)?;
        return Err(MirrorError::Shrunk { held: before, size: signed.size, kept });
    }
    if let Some(held) = &held {
        let proof = consistency_proof(before, signed.size, source).map_err(tree)?;
        if let Err(cause) = held.verify_prefix_of(&signed, &proof) {
            let kept = folder.keep_other(&note).map_err(MirrorError::Folder)?;
            return Err(MirrorError::History { cause, kept });
        }
    }
    let tree = Appender::open(before, folder).map_err(of_folder)?;
    let size = signed.size;
    let (mut failed, mut staged) = (folder.clear_stage().err(), Vec::new());
    let audited = audit(tree, size, &signed.root, source, |audited| {
        let (path, bytes) = match audited {
            Audited::Tile(tile) => (TilePath::of_tile(tile.id, size), tile.bytes),
            Audited::Bundle { index, entries } => (TilePath::of_entries(index, size), bundle(&entries)),
        };
        // Only once all of it leads to the signed root is any of it in its place, where readers keep it for ever.
        if let (Some(path), None) = (path, &failed) {
            failed = folder.stage(&path, &bytes).err();
            staged.push(path);
        }
        Ok(())
    });
    if let Some(error) = failed {
        return Err(MirrorError::Folder(error));
    }
    audited.map_err(|fault| match fault {
        AuditError::Storage(error) => MirrorError::Source(error),
        fault => MirrorError::Files(fault.to_string(), fault.code()),
    })?;
    staged.iter().try_for_each(|path| folder.unstage(path)).map_err(MirrorError::Folder)?;
    folder.clear_stage().map_err(MirrorError::Folder)?;
    if let Some((cosigner, now)) = cosigner {
        note.push_str(&cosigner.cosign(parsed.text(), now));
    }
    folder.publish(note.as_bytes()).map_err(MirrorError::Folder)?;
    Ok(Mirrored { before, entries: size })
}

fn tree<E: fmt::Display>(error: TreeError<E>) -> MirrorError<E> {
    match error {
        TreeError::Storage(error) => MirrorError::Source(error),
        other => MirrorError::Files(other.to_string(), Some(Code::TileMissing)),
    }
}

fn of_folder<E: fmt::Display>(error: TreeError<io::Error>) -> MirrorError<E> {
    match error {
        TreeError::Storage(error) => MirrorError::Folder(error),
        other => MirrorError::Folder(io::Error::other(other.to_string())),
    }
}
