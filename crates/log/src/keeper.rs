use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::thread;

use proofmark_receipt::{Json, Sha256Digest};
use proofmark_store::{LogChange, LogState, LogTile, MAX_LOG_ENTRIES, Store};
use proofmark_tlog::{
    Appender, Checkpoint, Hash, LogSigner, MAX_NOTE_LINES, Note, Party, ProofFile, SignedCheckpoint, Tile, Vkey,
    add_checkpoint_body, consistency_proof, cosignature_line, inclusion_proof, leaf, read_stale_size, root,
    verify_inclusion,
};

use crate::copy::LogCopy;
use crate::error::LogError;
use crate::home::LogHome;
use crate::stored::StoredLog;

/// How often a change is made again that another process has overtaken.
const TRIES: usize = 20;

/// After how many seconds a witness is asked to cosign a checkpoint once more: readers may demand cosignatures of the last day, also of a log in
/// which nothing new is stored.
pub const RENEW_AFTER: u64 = 6 * 60 * 60;

/// The most witnesses that are asked.
pub const MAX_WITNESSES: usize = MAX_NOTE_LINES - 8;

/// Signs for the log of a store.
pub struct LogKeeper<'s> {
    store: &'s Store,
    home: LogHome,
    signer: LogSigner,
    witnesses: Option<&'s Witnesses>,
    copy: Option<&'s LogCopy>,
}

/// Sends a body to a witness: the URL, the body; the status and the body of the answer, or why it did not answer.
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
}

/// The result of asking witnesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cosigning {
    /// How many cosigned.
    pub cosigned: usize,
    /// Those that did not, and why.
    pub missing: Vec<(String, String)>,
}

impl Witnesses {
    /// Those of these witnesses that have a URL, asked by this function; at most [`MAX_WITNESSES`], for which a note has room.
    #[must_use]
    pub fn new(parties: &[Party], ask: Box<Ask>) -> Self {
        let parties = parties.iter().filter(|party| party.url.is_some()).take(MAX_WITNESSES).cloned().collect();
        Self { parties, ask, cosigned: Mutex::default() }
    }
}

impl<'s> LogKeeper<'s> {
    /// The keeper of the log of `store`, whose origin and last checkpoint are kept in `home`.
    #[must_use]
    pub fn new(store: &'s Store, home: LogHome, signer: LogSigner) -> Self {
        Self { store, home, signer, witnesses: None, copy: None }
    }

    /// Has [`LogKeeper::cosign`] ask these witnesses.
    #[must_use]
    pub fn with_witnesses(self, witnesses: &'s Witnesses) -> Self {
        Self { witnesses: Some(witnesses), ..self }
    }

    /// Has the files of the log in this copy before a checkpoint of them is signed.
    #[must_use]
    pub fn with_copy(self, copy: Option<&'s LogCopy>) -> Self {
        Self { copy, ..self }
    }

    /// The key that signs.
    #[must_use]
    pub fn vkey(&self) -> &Vkey {
        self.signer.vkey()
    }

    /// Adds what was stored since to the tiles, and signs a checkpoint of it, if there is anything new. It is kept in the home before anybody
    /// can see it. No witness is asked.
    ///
    /// # Errors
    /// [`LogError::CheckpointAhead`] and [`LogError::Forked`] where the store is not a continuation of what was signed;
    /// [`LogError::OtherLog`], [`LogError::Replaced`]; [`LogError::Copy`] where the copy does not take the files; and when the store or the home cannot be read or written.
    pub fn publish(&self) -> Result<Published, LogError> {
        for _ in 0..TRIES {
            // Before the store: what another process signs meanwhile is in tiles before it is kept.
            let kept = self.kept()?;
            let state = integrate(self.store)?;
            let last = self.last(kept.as_ref(), &state)?;
            let size = state.integrated;
            let current = last.filter(|signed| signed.checkpoint.size == size && signed.log == *self.vkey());
            if let Some(signed) = current {
                // What this home has not seen was signed by another process, or was lost here.
                if kept.as_ref() == Some(&signed.checkpoint) || self.home.publish(&state.checkpoint, kept.as_ref())? {
                    let note = state.checkpoint;
                    return Ok(Published { note, checkpoint: signed.checkpoint, is_new: false });
                }
                continue;
            }
            // Before anybody can see the checkpoint, also a witness: who sees it finds its files.
            if let Some(copy) = self.copy {
                copy.add(self.store, &self.home, size)?;
            }
            let checkpoint = Checkpoint { origin: self.vkey().name().to_owned(), size, root: self.root(size)? };
            let note = self.signer.sign(size, checkpoint.root)?;
            if !self.home.publish(&note, kept.as_ref())? {
                continue;
            }
            let to = LogState { signed: size, checkpoint: note.clone(), ..state.clone() };
            if self.store.change_log(LogChange { from: state, to, tiles: Vec::new() })? {
                return Ok(Published { note, checkpoint, is_new: true });
            }
        }
        Err(LogError::Busy(TRIES))
    }

    /// Brings the checkpoint of the copy up to date, if there is a copy: to the last one of the store, with the cosignatures that it has.
    ///
    /// # Errors
    /// [`LogError::Copy`], and as [`LogKeeper::publish`].
    pub fn copy(&self) -> Result<(), LogError> {
        self.copy.map_or(Ok(()), |copy| copy.publish(self.store, &self.home))
    }

    /// Keeps the last checkpoint of the store in this home, where another process signs: a home that has seen it does not sign for a store
    /// that has lost it.
    ///
    /// # Errors
    /// As [`LogKeeper::publish`].
    pub fn follow(&self) -> Result<(), LogError> {
        let kept = self.kept()?;
        let state = self.store.log_state()?;
        let last = self.last(kept.as_ref(), &state)?;
        let newer = last.filter(|last| kept.as_ref().is_none_or(|kept| kept.size < last.checkpoint.size));
        if newer.is_some() {
            // One that another process has kept meanwhile is as good.
            self.home.publish(&state.checkpoint, kept.as_ref())?;
        }
        Ok(())
    }

    /// Asks the witnesses whose cosignature this checkpoint does not have, or has from [`RENEW_AFTER`] before `now` (in seconds since 1970), all at
    /// once. Adds their cosignatures to it, if it is still the last one.
    ///
    /// # Errors
    /// When the store or the home cannot be read or written.
    pub fn cosign(&self, published: &Published, now: u64) -> Result<Cosigning, LogError> {
        let Published { note, checkpoint, .. } = published;
        let Some(witnesses) = self.witnesses else { return Ok(Cosigning::default()) };
        let due = |party: &&Party| {
            let known = SignedCheckpoint::open(note.as_bytes(), [self.vkey()], [&party.key]);
            known.is_ok_and(|known| known.cosignatures.iter().all(|last| last.time.saturating_add(RENEW_AFTER) <= now))
        };
        let asked: Vec<(&Party, Result<String, String>)> = thread::scope(|scope| {
            let ask = |party| (party, scope.spawn(move || self.cosignature(witnesses, party, note, checkpoint)));
            let asking: Vec<_> = witnesses.parties.iter().filter(due).map(ask).collect();
            let answer = |answer: Result<_, _>| answer.unwrap_or_else(|_| Err("it could not be asked".to_owned()));
            asking.into_iter().map(|(party, thread)| (party, answer(thread.join()))).collect()
        });
        let (mut lines, mut cosigning) = (String::new(), Cosigning::default());
        for (party, answer) in asked {
            match answer {
                Ok(line) => {
                    lines.push_str(&line);
                    cosigning.cosigned += 1;
                }
                Err(reason) => cosigning.missing.push((party.name.clone(), reason)),
            }
        }
        if !lines.is_empty() {
            self.add_lines(checkpoint, &lines)?;
        }
        Ok(cosigning)
    }

    /// Adds lines of witnesses to the last checkpoint, if it is this one. Each witness has one line: a later one takes the place of the one before.
    fn add_lines(&self, checkpoint: &Checkpoint, lines: &str) -> Result<(), LogError> {
        for _ in 0..TRIES {
            let state = self.store.log_state()?;
            let same = Note::parse(state.checkpoint.as_bytes()).ok().filter(|note| note.text() == checkpoint.text());
            let Some(Ok(note)) = same.map(|note| note.with_lines(lines)) else { return Ok(()) };
            if !self.home.publish(&note, Some(checkpoint))? {
                return Ok(());
            }
            let to = LogState { checkpoint: note, ..state.clone() };
            if self.store.change_log(LogChange { from: state, to, tiles: Vec::new() })? {
                return Ok(());
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

    /// The checkpoint that the home keeps.
    fn kept(&self) -> Result<Option<Checkpoint>, LogError> {
        // A log or key that was replaced since this process began no longer signs.
        if self.home.vkeys()?.last() != Some(self.vkey()) {
            return Err(LogError::Replaced(self.vkey().name().to_owned()));
        }
        Ok(self.home.published()?.map(|kept| kept.checkpoint))
    }

    /// The checkpoint in the store. The entries in tiles must continue it and the one that is kept.
    fn last(&self, kept: Option<&Checkpoint>, state: &LogState) -> Result<Option<SignedCheckpoint>, LogError> {
        let vkeys = self.home.vkeys()?;
        let stored = match state.checkpoint.as_str() {
            "" => None,
            note => Some(self.stored(note, &vkeys)?),
        };
        for signed in kept.into_iter().chain(stored.iter().map(|stored| &stored.checkpoint)) {
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

    fn cosignature(
        &self,
        witnesses: &Witnesses,
        party: &Party,
        note: &str,
        checkpoint: &Checkpoint,
    ) -> Result<String, String> {
        let url = party.url.as_deref().unwrap_or_default();
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
                    return cosignature_line(note, &answer, &party.key).map_err(|error| error.to_string());
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
    // Every reader would refuse another one.
    let proven = verify_inclusion(&leaf(digest), index, checkpoint.size, &path, &checkpoint.root);
    proven.map_err(|error| LogError::Tree(error.to_string()))?;
    Ok(ProofFile { extra: document.map(Json::canonical_vrf), index, path, checkpoint: note })
}

/// Adds the entries that are not in tiles yet, up to the last one that is there now; the state afterwards.
fn integrate(store: &Store) -> Result<LogState, LogError> {
    let stored = store.log_length()?;
    let mut overtaken = 0;
    loop {
        let state = store.log_state()?;
        if state.integrated > stored && state.integrated > store.log_length()? {
            return Err(LogError::CheckpointAhead { signed: state.integrated, stored });
        }
        let missing = usize::try_from(stored.saturating_sub(state.integrated)).unwrap_or(usize::MAX);
        if missing == 0 {
            return Ok(state);
        }
        let entries = store.log_entries(state.integrated, missing.min(MAX_LOG_ENTRIES))?;
        let mut appender = Appender::open(state.integrated, StoredLog(store)).map_err(LogError::of_tree)?;
        for entry in &entries {
            appender.append(entry);
        }
        let tile = |Tile { id, bytes }: Tile| LogTile { level: id.level, index: id.index, hashes: bytes };
        let tiles = appender.take_tiles().into_iter().map(tile).collect();
        let to = LogState { integrated: appender.size(), ..state.clone() };
        if !store.change_log(LogChange { from: state, to, tiles })? {
            overtaken += 1;
            if overtaken >= TRIES {
                return Err(LogError::Busy(TRIES));
            }
        }
    }
}
