//! What a witness has cosigned last, in files.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use proofmark_keys::owned::{self, OwnedError};
use proofmark_receipt::Sha256Digest;
use proofmark_tlog::{
    CheckpointRequest, Cosigned, Cosigner, MAX_NOTE_BYTES, Refusal, SignedCheckpoint, Vkey, WitnessState,
};

/// A witness: it cosigns each tree that continues the one that it has cosigned last, and keeps that in a file before it answers.
pub struct Witness {
    cosigner: Cosigner,
    logs: Vec<Vkey>,
    folder: PathBuf,
    /// Locked as long as the process lives: two processes with one state would cosign two histories.
    _lock: File,
    states: Mutex<BTreeMap<String, Last>>,
}

#[derive(Clone)]
struct Last {
    state: WitnessState,
    checkpoint: String,
}

/// Why a witness cannot begin, or cannot keep what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum WitnessError {
    #[error("{doing} `{}` ({error})", path.display())]
    Io { doing: &'static str, path: PathBuf, error: io::Error },
    #[error("be a witness of the log `{0}` with its own key: a witness has another one")]
    OwnLog(String),
    #[error("use the state in `{}`: another process uses it", .0.display())]
    InUse(PathBuf),
    #[error("use the state `{}`: it is not of this witness and these logs ({reason}); a log that has a new key is named with both", path.display())]
    Changed { path: PathBuf, reason: String },
}

/// What a witness answers.
#[derive(Debug)]
pub enum WitnessAnswer {
    /// The lines of the cosignature.
    Cosigned(String),
    Refused(Refusal),
}

impl Witness {
    /// The witness with this key, for logs with these keys, whose state is in `folder`, which is made where it is missing.
    ///
    /// # Errors
    /// [`WitnessError`]
    pub fn open(cosigner: Cosigner, logs: Vec<Vkey>, folder: &Path) -> Result<Self, WitnessError> {
        let io = |doing, path: &Path| {
            let path = path.to_owned();
            move |error| WitnessError::Io { doing, path, error }
        };
        if let Some(own) = logs.iter().find(|log| log.public_key() == cosigner.vkey().public_key()) {
            return Err(WitnessError::OwnLog(own.name().to_owned()));
        }
        owned::create_folder(folder).map_err(io("create", folder))?;
        let path = folder.join("lock");
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(io("open", &path))?;
        lock.try_lock().map_err(|_| WitnessError::InUse(folder.to_owned()))?;
        let mut states = BTreeMap::new();
        for log in &logs {
            if let Some(last) = Last::read(&state_path(folder, log.name()), &cosigner, &logs)? {
                states.insert(log.name().to_owned(), last);
            }
        }
        Ok(Self { cosigner, logs, folder: folder.to_owned(), _lock: lock, states: Mutex::new(states) })
    }

    /// The key by which its cosignatures verify.
    #[must_use]
    pub fn vkey(&self) -> &Vkey {
        self.cosigner.vkey()
    }

    /// Judges the body of `add-checkpoint` at this time, in seconds since 1970. What is cosigned is on disk before it is answered.
    ///
    /// # Errors
    /// [`WitnessError::Io`] when the state cannot be written; then nothing was cosigned.
    pub fn add_checkpoint(&self, body: &[u8], now: u64) -> Result<WitnessAnswer, WitnessError> {
        let request = match CheckpointRequest::parse(body, &self.logs) {
            Ok(request) => request,
            Err(refusal) => return Ok(WitnessAnswer::Refused(refusal)),
        };
        // Comparing with the last state and writing the new one is one step.
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let last = states.get(request.origin()).map(|last| last.state);
        let Cosigned { state, line, checkpoint } = match request.cosign(last.as_ref(), &self.cosigner, now) {
            Ok(cosigned) => cosigned,
            Err(refusal) => return Ok(WitnessAnswer::Refused(refusal)),
        };
        let path = state_path(&self.folder, request.origin());
        let written = owned::replace(&path, checkpoint.as_bytes());
        written.map_err(|error| WitnessError::Io { doing: "write", path, error })?;
        states.insert(request.origin().to_owned(), Last { state, checkpoint });
        Ok(WitnessAnswer::Cosigned(line))
    }

    /// The checkpoint that it cosigned last of the log whose origin has this SHA-256 in hex.
    #[must_use]
    pub fn checkpoint(&self, origin_hash: &str) -> Option<String> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        let found = states.iter().find(|(origin, _)| Sha256Digest::of(origin.as_bytes()).bare_hex() == origin_hash);
        found.map(|(_, last)| last.checkpoint.clone())
    }
}

impl Last {
    /// The state in a file: the last checkpoint, which the witness itself has cosigned.
    fn read(path: &Path, cosigner: &Cosigner, logs: &[Vkey]) -> Result<Option<Self>, WitnessError> {
        let changed = |reason: String| WitnessError::Changed { path: path.to_owned(), reason };
        let checkpoint = match owned::read(path, MAX_NOTE_BYTES as u64) {
            Ok(text) => text,
            Err(OwnedError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(OwnedError::Io(error)) => {
                return Err(WitnessError::Io { doing: "read", path: path.to_owned(), error });
            }
            Err(OwnedError::Writable) => return Err(changed("others may write to it".to_owned())),
        };
        let opened = SignedCheckpoint::open(checkpoint.as_bytes(), logs, [cosigner.vkey()]);
        let signed = opened.map_err(|error| changed(error.to_string()))?;
        let Some(cosignature) = signed.cosignatures.first() else {
            return Err(changed("it has no line of this witness".to_owned()));
        };
        let state = WitnessState { size: signed.checkpoint.size, root: signed.checkpoint.root, time: cosignature.time };
        Ok(Some(Self { state, checkpoint }))
    }
}

fn state_path(folder: &Path, origin: &str) -> PathBuf {
    folder.join(Sha256Digest::of(origin.as_bytes()).bare_hex())
}
