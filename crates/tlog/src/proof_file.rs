use proofmark_receipt::shown;
use thiserror::Error;

use crate::text::{base64, decimal, split_line, to_base64};
use crate::{Code, Hash, MAX_NOTE_BYTES, MAX_PROOF_HASHES};

/// How many bytes of extra data a proof file has at most: a receipt has at most 1 MiB.
pub const MAX_EXTRA_BYTES: usize = 1 << 20;

/// How many bytes a proof file has at most: extra data in base64, the path, the other lines and a note.
pub const MAX_PROOF_FILE_BYTES: usize = MAX_EXTRA_BYTES.div_ceil(3) * 4 + MAX_PROOF_HASHES * 45 + 128 + MAX_NOTE_BYTES;

/// The first line of a proof file.
pub const PROOF_HEADER: &str = "c2sp.org/tlog-proof@v1";
const HEADER: &[u8] = PROOF_HEADER.as_bytes();

/// That an entry is logged, in one file for a verifier who has only keys (C2SP tlog-proof). Nothing of it is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProofFile {
    /// Data that nothing authenticates. Here it is the document, which counts once its digest is the entry.
    pub extra: Option<Vec<u8>>,
    pub index: u64,
    /// Siblings from the leaf up.
    pub path: Vec<Hash>,
    /// The signed checkpoint, with cosignatures.
    pub checkpoint: Vec<u8>,
}

/// The bytes are not a proof file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProofFileError {
    #[error("the proof file has {0} bytes: at most {MAX_PROOF_FILE_BYTES} are read")]
    TooLong(usize),
    #[error("the proof file does not begin with the line `c2sp.org/tlog-proof@v1`")]
    Header,
    #[error("the extra data of the proof file is not 1 to {MAX_EXTRA_BYTES} bytes in base64")]
    Extra,
    #[error("`{0}` is not the line `index <decimal>` of a proof file")]
    Index(String),
    #[error("`{0}` is not a hash of the path in base64, nor the empty line behind the path")]
    Hash(String),
    #[error("the path of the proof file has more than {MAX_PROOF_HASHES} hashes")]
    TooManyHashes,
    #[error("the proof file ends before its checkpoint")]
    Unfinished,
}

impl ProofFileError {
    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::TooLong(_) => Code::TooLarge,
            _ => Code::MalformedProof,
        }
    }
}

impl ProofFile {
    /// Reads a proof file. Its checkpoint is left as it is, for [`SignedCheckpoint::open`](crate::SignedCheckpoint::open).
    ///
    /// # Errors
    /// [`ProofFileError`] when it does not have the form of one.
    pub fn parse(bytes: &[u8]) -> Result<Self, ProofFileError> {
        if bytes.len() > MAX_PROOF_FILE_BYTES {
            return Err(ProofFileError::TooLong(bytes.len()));
        }
        let next_line = |bytes| split_line(bytes).ok_or(ProofFileError::Unfinished);
        let (header, rest) = next_line(bytes)?;
        if header != HEADER {
            return Err(ProofFileError::Header);
        }
        let (mut line, mut rest) = next_line(rest)?;
        let mut extra = None;
        if let Some(encoded) = line.strip_prefix(b"extra ") {
            extra = Some(parse_extra(encoded).ok_or(ProofFileError::Extra)?);
            (line, rest) = next_line(rest)?;
        }
        let index = line.strip_prefix(b"index ").and_then(|index| decimal(std::str::from_utf8(index).ok()?));
        let index = index.ok_or_else(|| ProofFileError::Index(quoted(line)))?;
        let (path, checkpoint) = parse_hashes(rest)?;
        Ok(Self { extra, index, path, checkpoint: checkpoint.to_vec() })
    }

    /// The file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [HEADER, b"\n"].concat();
        if let Some(extra) = &self.extra {
            bytes.extend_from_slice(format!("extra {}\n", to_base64(extra)).as_bytes());
        }
        bytes.extend_from_slice(format!("index {}\n", self.index).as_bytes());
        bytes.extend_from_slice(hash_lines(&self.path).as_bytes());
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.checkpoint);
        bytes
    }
}

/// Hashes, one a line, up to an empty line; and what follows it.
pub(crate) fn parse_hashes(bytes: &[u8]) -> Result<(Vec<Hash>, &[u8]), ProofFileError> {
    let mut hashes = Vec::new();
    let mut rest = bytes;
    loop {
        let (line, others) = split_line(rest).ok_or(ProofFileError::Unfinished)?;
        rest = others;
        if line.is_empty() {
            return Ok((hashes, rest));
        }
        if hashes.len() == MAX_PROOF_HASHES {
            return Err(ProofFileError::TooManyHashes);
        }
        let hash = std::str::from_utf8(line).ok().and_then(|line| line.parse().ok());
        hashes.push(hash.ok_or_else(|| ProofFileError::Hash(quoted(line)))?);
    }
}

/// Hashes, one a line.
pub(crate) fn hash_lines(hashes: &[Hash]) -> String {
    hashes.iter().map(|hash| format!("{hash}\n")).collect()
}

fn parse_extra(encoded: &[u8]) -> Option<Vec<u8>> {
    let extra = base64(std::str::from_utf8(encoded).ok()?)?;
    (1..=MAX_EXTRA_BYTES).contains(&extra.len()).then_some(extra)
}

fn quoted(line: &[u8]) -> String {
    // What is shown is cut after 64 characters, so no more need be decoded.
    let line = line.get(..line.len().min(512)).unwrap_or_default();
    shown(&String::from_utf8_lossy(line))
}
