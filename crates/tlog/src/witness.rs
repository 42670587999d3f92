use thiserror::Error;

use crate::checkpoint::{Checkpoint, CheckpointError, log_keys_of};
use crate::cosignature::{Cosigner, cosigned_at};
use crate::note::{MAX_NOTE_BYTES, Note, SignatureMismatch};
use crate::proof;
use crate::proof_file::{hash_lines, parse_hashes};
use crate::text::{decimal, split_line};
use crate::{Hash, MAX_PROOF_HASHES, Vkey};

/// How many bytes the body of `add-checkpoint` has at most: the size, the hashes and a note.
pub const MAX_REQUEST_BYTES: usize = 32 + MAX_PROOF_HASHES * 45 + MAX_NOTE_BYTES;

/// What a witness has cosigned last, of one origin. It is stored before the cosignature is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WitnessState {
    pub size: u64,
    pub root: Hash,
    /// In seconds since 1970.
    pub time: u64,
}

/// A request for a cosignature, whose log is known and has signed it (C2SP tlog-witness, `add-checkpoint`).
#[derive(Clone, Debug)]
pub struct CheckpointRequest<'a> {
    old: u64,
    proof: Vec<Hash>,
    checkpoint: Checkpoint,
    /// What is cosigned, and the lines of the log.
    text: &'a str,
    log_lines: String,
}

/// What a witness answers, once the state is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosigned {
    pub state: WitnessState,
    /// The body of the answer: one signature line.
    pub line: String,
    /// The checkpoint with the lines of the log and of the witness, which others may fetch.
    pub checkpoint: String,
}

/// Why a witness does not cosign.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error(
        "the body is not `old <size>`, up to {MAX_PROOF_HASHES} hashes, an empty line and a signed checkpoint: {0}"
    )]
    Malformed(String),
    #[error("the log `{0}` is not known here")]
    UnknownLog(String),
    #[error("{0}")]
    Forbidden(CheckpointError),
    #[error("the old size {old} is more than the size {size} of the checkpoint")]
    OldPastNew { old: u64, size: u64 },
    #[error("the checkpoint that was cosigned last has {last} entries")]
    Stale { last: u64 },
    #[error("the tree is not an extension of the one that was cosigned last: {0}")]
    Inconsistent(String),
}

impl Refusal {
    /// The status of the answer (RFC 9110, section 15).
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Malformed(_) | Self::OldPastNew { .. } => 400,
            Self::UnknownLog(_) => 404,
            Self::Forbidden(_) => 403,
            Self::Stale { .. } => 409,
            Self::Inconsistent(_) => 422,
        }
    }

    /// The body of the answer.
    #[must_use]
    pub fn body(&self) -> String {
        match self {
            Self::Stale { last } => format!("{last}\n"),
            _ => format!("{self}\n"),
        }
    }

    /// The media type of the body.
    #[must_use]
    pub fn content_type(&self) -> &'static str {
        match self {
            Self::Stale { .. } => "text/x.tlog.size",
            _ => "text/plain; charset=utf-8",
        }
    }
}

impl<'a> CheckpointRequest<'a> {
    /// Reads the body of a request, and verifies that a known log has signed its checkpoint. `logs` has the keys of all known logs.
    ///
    /// # Errors
    /// [`Refusal`], which is to be answered.
    pub fn parse<'k>(body: &'a [u8], logs: impl IntoIterator<Item = &'k Vkey>) -> Result<Self, Refusal> {
        let malformed = |fault: &dyn std::fmt::Display| Refusal::Malformed(fault.to_string());
        if body.len() > MAX_REQUEST_BYTES {
            return Err(malformed(&format_args!("at most {MAX_REQUEST_BYTES} bytes are read")));
        }
        let first = split_line(body).and_then(|(line, rest)| Some((line.strip_prefix(b"old ")?, rest)));
        let old = first.and_then(|(old, rest)| Some((decimal(std::str::from_utf8(old).ok()?)?, rest)));
        let (old, rest) = old.ok_or_else(|| malformed(&"the first line is not `old <size>`"))?;
        let (proof, note) = parse_hashes(rest).map_err(|error| malformed(&error))?;
        let note = Note::parse(note).map_err(|error| malformed(&error))?;
        // Only the origin is read of what is not known to be signed, to find the keys.
        let origin = note.text().split('\n').next().unwrap_or_default();
        let keys: Vec<&Vkey> = logs.into_iter().filter(|key| key.name() == origin).collect();
        if keys.is_empty() {
            return Err(Refusal::UnknownLog(proofmark_receipt::shown(origin)));
        }
        let signed_by = log_keys_of(&note, keys).map_err(Refusal::Forbidden)?;
        // A wrong root of an empty tree has a status of its own, so the form is read without it.
        let checkpoint = Checkpoint::parse_any_root(note.text()).map_err(|error| malformed(&error))?;
        let mut log_lines = String::new();
        for line in signed_by.iter().flat_map(|key| note.lines_of(key)) {
            log_lines.push_str(line.line);
            log_lines.push('\n');
        }
        Ok(Self { old, proof, checkpoint, text: note.text(), log_lines })
    }

    /// The origin of the log, by which the state is found.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.checkpoint.origin
    }

    /// The tree that is to be cosigned.
    #[must_use]
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Cosigns the tree if it is an extension of the one that was cosigned last.
    ///
    /// The caller reads `last`, calls this and stores the new state in one transaction, and answers after that. `now` is in seconds
    /// since 1970; the time that is signed is never before the last one.
    ///
    /// # Errors
    /// [`Refusal`], which is to be answered.
    pub fn cosign(&self, last: Option<&WitnessState>, cosigner: &Cosigner, now: u64) -> Result<Cosigned, Refusal> {
        let Checkpoint { size, root, .. } = self.checkpoint;
        if self.old > size {
            return Err(Refusal::OldPastNew { old: self.old, size });
        }
        let last_size = last.map_or(0, |last| last.size);
        if self.old != last_size {
            return Err(Refusal::Stale { last: last_size });
        }
        self.check_growth(last)?;
        let time = last.map_or(now, |last| now.max(last.time)).min(crate::MAX_TIME);
        let line = cosigner.cosign(self.text, time);
        let checkpoint = format!("{}\n{}{line}", self.text, self.log_lines);
        Ok(Cosigned { state: WitnessState { size, root, time }, line, checkpoint })
    }

    fn check_growth(&self, last: Option<&WitnessState>) -> Result<(), Refusal> {
        let inconsistent = |fault: &dyn std::fmt::Display| Refusal::Inconsistent(fault.to_string());
        self.checkpoint.check_root().map_err(|error| inconsistent(&error))?;
        let Some(last) = last.filter(|last| last.size > 0) else {
            let is_empty = self.proof.is_empty();
            return if is_empty { Ok(()) } else { Err(inconsistent(&"the proof from size 0 is empty")) };
        };
        let Checkpoint { size, root, .. } = &self.checkpoint;
        proof::verify_consistency(last.size, *size, &self.proof, &last.root, root).map_err(|error| inconsistent(&error))
    }
}

/// The body of a request that asks a witness to cosign `checkpoint`, a signed note, which it is to compare with the tree of `old`
/// entries.
#[must_use]
pub fn add_checkpoint_body(old: u64, proof: &[Hash], checkpoint: &str) -> String {
    format!("old {old}\n{}\n{checkpoint}", hash_lines(proof))
}

/// The size that a witness has cosigned last, as it answers with status 409: the proof of the next request begins there.
#[must_use]
pub fn read_stale_size(body: &[u8]) -> Option<u64> {
    decimal(std::str::from_utf8(body.strip_suffix(b"\n")?).ok()?)
}

/// The line of this witness in what it has answered about `checkpoint`, a signed note; with its line feed, to be added to it. Of several the
/// last, so that a witness cannot fill the note. Lines of other keys are left out.
///
/// # Errors
/// [`CheckpointError`] when the answer is not signature lines, or when one of this witness does not verify.
pub fn cosignature_line(checkpoint: &str, answer: &[u8], witness: &Vkey) -> Result<String, CheckpointError> {
    let text = Note::parse(checkpoint.as_bytes()).map_err(CheckpointError::Note)?.text();
    // An answer with an empty line would move the end of the text.
    let note = [text.as_bytes(), b"\n", answer].concat();
    let note = Note::parse(&note).map_err(CheckpointError::Note)?;
    let mismatch = |SignatureMismatch(name)| CheckpointError::CosignatureMismatch(name);
    if note.text() != text || cosigned_at(&note, witness).map_err(mismatch)?.is_none() {
        return Err(CheckpointError::CosignatureMismatch(witness.name().to_owned()));
    }
    Ok(note.lines_of(witness).last().map(|line| format!("{}\n", line.line)).unwrap_or_default())
}
