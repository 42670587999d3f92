use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use proofmark_receipt::{Json, Sha256Digest};
use proofmark_store::{LogChange, LogState, LogTile, MAX_LOG_ENTRIES, Store};
use proofmark_tlog::{
    Appender, Checkpoint, Hash, LogSigner, Party, ProofFile, SignedCheckpoint, Tile, Vkey, add_checkpoint_body,
    consistency_proof, cosignature_lines, inclusion_proof, leaf, read_stale_size, root, verify_inclusion,
};

use crate::error::LogError;
use crate::home::LogHome;
use crate::stored::StoredLog;

/// How often a change is made again that another process has overtaken.
const TRIES: usize = 20;

/// Signs for the log of a store.
pub struct LogKeeper<'s> {
    store: &'s Store,
    home: LogHome,
    signer: LogSigner,
    witnesses: Option<&'s Witnesses>,
}

/// Sends a body to a witness: the URL, the body; the status and the body of the answer, or why there is none.
pub type Ask = dyn Fn(&str, String) -> Result<(u16, Vec<u8>), String> + Send + Sync;

/// The witnesses that are asked to cosign.
pub struct Witnesses {
    parties: Vec<Party>,
    ask: Box<Ask>,
    /// Up to which size each has cosigned, as far as this process knows.
    cosigned: Mutex<BTreeMap<String, u64>>,
}

/// A checkpoint that was signed and kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Published {
    /// The signed note, with the cosignatures that it has.
    pub note: String,
    pub checkpoint: Checkpoint,
    /// Whether it was signed now.
    pub is_new: bool,
    /// Witnesses that did not cosign, and why.
    pub missing: Vec<(String, String)>,
}

impl Witnesses {
    /// Those of these witnesses that have a URL, asked by this function.
    #[must_use]
    pub fn new(parties: &[Party], ask: Box<Ask>) -> Self {
        let parties = parties.iter().filter(|party| party.url.is_some()).cloned().collect();
        Self { parties, ask, cosigned: Mutex::default() }
    }
}

impl<'s> LogKeeper<'s> {
    /// The keeper of the log of `store`, whose origin and last checkpoint are kept in `home`.
    #[must_use]
    pub fn new(store: &'s Store, home: LogHome, signer: LogSigner) -> Self {
        Self { store, home, signer, witnesses: None }
    }

    /// Asks these witnesses to cosign each checkpoint before it is published. One that does not answer delays nothing but its own
    /// cosignature.
    #[must_use]
    pub fn with_witnesses(self, witnesses: &'s Witnesses) -> Self {
        Self { witnesses: Some(witnesses), ..self }
    }

    /// The key that signs.
    #[must_use]
    pub fn vkey(&self) -> &Vkey {
        self.signer.vkey()
    }

    /// Adds what was stored since to the tiles, and signs a checkpoint of it, if there is anything new. Witnesses that have not cosigned the
    /// last checkpoint are asked.
    ///
    /// # Errors
    /// [`LogError::CheckpointAhead`] and [`LogError::Forked`] where the store is not a continuation of what was signed;
    /// [`LogError::OtherLog`]; and when the store or the home cannot be read or written.
    pub fn publish(&self) -> Result<Published, LogError> {
        for _ in 0..TRIES {
            let state = integrate(self.store)?;
            let last = self.last(&state)?;
            let size = state.integrated;
            let current = last.filter(|signed| signed.checkpoint.size == size && signed.log == *self.vkey());
            let is_new = current.is_none();
            let checkpoint = match current {
                Some(signed) => signed.checkpoint,
                None => Checkpoint { origin: self.vkey().name().to_owned(), size, root: self.root(size)? },
            };
            let mut note = if is_new { self.signer.sign(size, checkpoint.root)? } else { state.checkpoint.clone() };
            let (lines, missing) = self.cosignatures(&note, &checkpoint);
            if !is_new && lines.is_empty() {
                return Ok(Published { note, checkpoint, is_new, missing });
            }
            note.push_str(&lines);
            // Kept outside the store first: what anybody has seen is never forgotten with the store.
            self.home.publish(&note, size)?;
            let to = LogState { signed: size, checkpoint: note.clone(), ..state.clone() };
            if self.store.change_log(LogChange { from: state, to, tiles: Vec::new() })? {
                return Ok(Published { note, checkpoint, is_new, missing });
            }
        }
        Err(LogError::Busy(TRIES))
    }

    /// Forgets the checkpoint of another log that the store has: this log begins with all entries that are there.
    ///
    /// # Errors
    /// [`LogError::Begun`] where this log has signed a checkpoint, and when the store cannot be read or written.
    pub fn restart(&self) -> Result<(), LogError> {
        if self.home.published()?.is_some() {
            let old = self.vkey().name().to_owned();
            return Err(LogError::Begun { new: old.clone(), old });
        }
        for _ in 0..TRIES {
            let state = self.store.log_state()?;
            let to = LogState { signed: 0, checkpoint: String::new(), ..state.clone() };
            if self.store.change_log(LogChange { from: state, to, tiles: Vec::new() })? {
                return Ok(());
            }
        }
        Err(LogError::Busy(TRIES))
    }

    /// The proof that a document is in the log, by its digest. `document` is put into the file in canonical form,
    /// so that it needs no other.
    ///
    /// # Errors
    /// [`LogError::NotLogged`], and as [`LogKeeper::publish`].
    pub fn prove(&self, digest: &Sha256Digest, document: Option<&Json>) -> Result<ProofFile, LogError> {
        let published = self.publish()?;
        let note = published.note.into_bytes();
        prove(self.store, digest, document, note, &published.checkpoint)
    }

    /// The checkpoint in the store. The entries in tiles must continue it, and the one that is kept in the home.
    fn last(&self, state: &LogState) -> Result<Option<SignedCheckpoint>, LogError> {
        let vkeys = self.home.vkeys()?;
        let kept = self.home.published()?;
        let stored = match state.checkpoint.as_str() {
            "" => None,
            note => Some(self.stored(note, &vkeys)?),
        };
        for signed in kept.iter().chain(&stored).map(|signed| &signed.checkpoint) {
            if signed.size > state.integrated {
                return Err(LogError::CheckpointAhead { signed: signed.size, stored: state.integrated });
            }
            if self.root(signed.size)? != signed.root {
                return Err(LogError::Forked { size: signed.size });
            }
        }
        Ok(stored)
    }

    fn stored(&self, note: &str, vkeys: &[Vkey]) -> Result<SignedCheckpoint, LogError> {
        SignedCheckpoint::open(note.as_bytes(), vkeys, []).map_err(|error| {
            let (ours, theirs) = (self.vkey().name().to_owned(), note.lines().next().unwrap_or_default().to_owned());
            if ours == theirs { LogError::Stored(error) } else { LogError::OtherLog { ours, theirs } }
        })
    }

    fn root(&self, size: u64) -> Result<Hash, LogError> {
        root(size, StoredLog(self.store)).map_err(LogError::of_tree)
    }

    /// The lines of witnesses that have not cosigned the note, and those that did not cosign now.
    fn cosignatures(&self, note: &str, checkpoint: &Checkpoint) -> (String, Vec<(String, String)>) {
        let (mut lines, mut missing) = (String::new(), Vec::new());
        let Some(witnesses) = self.witnesses else { return (lines, missing) };
        for Party { key, name, url } in &witnesses.parties {
            let known = SignedCheckpoint::open(note.as_bytes(), [self.vkey()], [key]);
            if known.is_ok_and(|known| !known.cosignatures.is_empty()) {
                continue;
            }
            match self.cosignature(witnesses, key, url.as_deref().unwrap_or_default(), note, checkpoint) {
                Ok(line) => lines.push_str(&line),
                Err(reason) => missing.push((name.clone(), reason)),
            }
        }
        (lines, missing)
    }

    fn cosignature(
        &self,
        witnesses: &Witnesses,
        key: &Vkey,
        url: &str,
        note: &str,
        checkpoint: &Checkpoint,
    ) -> Result<String, String> {
        let lock = || witnesses.cosigned.lock().unwrap_or_else(PoisonError::into_inner);
        let url = format!("{}/add-checkpoint", url.trim_end_matches('/'));
        let mut old = lock().get(&url).copied().unwrap_or_default();
        // A witness that has cosigned another size says which, and is asked once more.
        for _ in 0..2 {
            let proof = consistency_proof(old, checkpoint.size, StoredLog(self.store));
            let proof = proof.map_err(|error| format!("it has cosigned {old} entries: {error}"))?;
            match (witnesses.ask)(&url, add_checkpoint_body(old, &proof, note))? {
                (200, answer) => {
                    lock().insert(url, checkpoint.size);
                    return cosignature_lines(note, &answer, key).map_err(|error| error.to_string());
                }
                (409, answer) => {
                    old = read_stale_size(&answer).ok_or("it answered 409 without a size")?;
                }
                (status, answer) => {
                    let answer = String::from_utf8_lossy(answer.get(..200).unwrap_or(&answer)).trim().to_owned();
                    return Err(format!("it answered {status}: {answer}"));
                }
            }
        }
        Err("it answered 409 twice".to_owned())
    }
}

/// The proof that a document is in the log by a checkpoint that was signed, by the digest of the document.
///
/// # Errors
/// [`LogError::NotLogged`], [`LogError::Tree`] where the store's tiles do not prove it, and when the store cannot be read.
pub fn prove(
    store: &Store,
    digest: &Sha256Digest,
    document: Option<&Json>,
    note: Vec<u8>,
    checkpoint: &Checkpoint,
) -> Result<ProofFile, LogError> {
    let not_logged = || LogError::NotLogged(digest.to_string());
    let index = store.log_index(digest)?.filter(|index| *index < checkpoint.size).ok_or_else(not_logged)?;
    let path = inclusion_proof(index, checkpoint.size, StoredLog(store)).map_err(LogError::of_tree)?;
    // A proof that no reader accepts is no answer.
    let proven = verify_inclusion(&leaf(digest), index, checkpoint.size, &path, &checkpoint.root);
    proven.map_err(|error| LogError::Tree(error.to_string()))?;
    Ok(ProofFile { extra: document.map(Json::canonical_vrf), index, path, checkpoint: note })
}

/// Adds the entries that are not in tiles yet; the state afterwards.
fn integrate(store: &Store) -> Result<LogState, LogError> {
    let mut overtaken = 0;
    loop {
        let state = store.log_state()?;
        let entries = store.log_entries(state.integrated, MAX_LOG_ENTRIES)?;
        if entries.is_empty() {
            let stored = store.log_length()?;
            let is_there = state.integrated <= stored;
            let ahead = LogError::CheckpointAhead { signed: state.integrated, stored };
            return if is_there { Ok(state) } else { Err(ahead) };
        }
        let mut appender = Appender::open(state.integrated, StoredLog(store)).map_err(LogError::of_tree)?;
        for entry in &entries {
            appender.append(entry);
        }
        let stored = |Tile { id, bytes }: Tile| LogTile { level: id.level, index: id.index, hashes: bytes };
        let tiles = appender.take_tiles().into_iter().map(stored).collect();
        let to = LogState { integrated: appender.size(), ..state.clone() };
        if !store.change_log(LogChange { from: state, to, tiles })? {
            overtaken += 1;
            if overtaken >= TRIES {
                return Err(LogError::Busy(TRIES));
            }
        }
    }
}
