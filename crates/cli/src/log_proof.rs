//! Proofs of a log, read, verified and shown.

use std::path::Path;

use anyhow::anyhow;
use proofmark_interop::cose;
use proofmark_receipt::{Answer, Json, Object, Sha256Digest, Timestamp, object};
use proofmark_tlog::{Code, MAX_PROOF_FILE_BYTES, ProofVerification, TrustedKeys, Witnessed, entry_of, verify_proof};

use crate::exit::Exit;
use crate::input;
use crate::logs::TrustedLogs;
use crate::paint::{Paint, printable};

/// The bytes of a proof file.
pub(crate) fn proof_file(path: &Path) -> anyhow::Result<Vec<u8>> {
    // One byte more is refused by its own name.
    let limit = MAX_PROOF_FILE_BYTES as u64 + 1;
    if path == Path::new("-") { input::read_stdin(limit) } else { input::read_limited(path, limit) }
}

/// The entry of a document: of a statement in COSE the one without the receipts of logs.
pub(crate) fn document_entry(document: &[u8]) -> anyhow::Result<Sha256Digest> {
    if cose::claimed_by(document) {
        return cose::statement_entry(document).map_err(|error| anyhow!(error.to_string()));
    }
    entry_of(document).map_err(|error| anyhow!(error.to_string()))
}

/// Verifies a proof by what is trusted.
pub(crate) fn verified(bytes: &[u8], entry: &Sha256Digest, trusted: &TrustedLogs) -> ProofVerification {
    verify_proof(bytes, entry, TrustedKeys { logs: &trusted.keys, policy: trusted.policy.as_ref() })
}

/// The exit code of a verification.
pub(crate) fn exit_of(found: &ProofVerification) -> Exit {
    match (found.answer, found.witnessed) {
        (Answer::Valid, Witnessed::Met | Witnessed::Unknown) => Exit::Yes,
        (Answer::Valid, Witnessed::NotMet) | (Answer::Invalid, _) => Exit::No,
        (Answer::Undecidable, _) => Exit::NoAnswer,
    }
}

/// A verification as JSON.
pub(crate) fn to_json(found: &ProofVerification, entry: &Sha256Digest) -> Object {
    let cosigned: Vec<Json> = found
        .cosignatures
        .iter()
        .map(|cosigned| object! { "witness": cosigned.witness.name(), "time": time(cosigned.time) }.into())
        .collect();
    object! {
        "answer": found.answer.as_str(),
        "cause"?: found.code.map(Code::as_str),
        "message"?: found.reason.as_deref(),
        "log": found.log.as_str(),
        "witnessed": found.witnessed.as_str(),
        "entry": entry.to_string(),
        "origin"?: found.checkpoint.as_ref().map(|checkpoint| checkpoint.origin.as_str()),
        "index"?: found.index,
        "entries"?: found.checkpoint.as_ref().map(|checkpoint| checkpoint.size),
        "cosignatures": cosigned,
    }
}

/// A verification in lines of text.
pub(crate) fn shown(paint: Paint, label: &str, found: &ProofVerification, entry: &Sha256Digest) -> String {
    let answer = found.answer.as_str();
    let painted = if exit_of(found) == Exit::Yes { paint.good(answer) } else { paint.bad(answer) };
    let mut text = format!("{painted} {}\n", printable(label));
    if let Some((code, reason)) = found.code.zip(found.reason.as_deref()) {
        text.push_str(&format!("  {}: {}\n", code.as_str(), printable(reason)));
    }
    if let (Answer::Valid, Some(checkpoint), Some(index)) = (found.answer, &found.checkpoint, found.index) {
        let (origin, size) = (printable(&checkpoint.origin), checkpoint.size);
        text.push_str(&format!("  {entry}\n  is entry {index} of {size} in {origin}\n"));
        text.push_str(&format!("  witnesses: {}\n", found.witnessed.as_str()));
    }
    for cosigned in &found.cosignatures {
        text.push_str(&format!("  cosigned by {} at {}\n", printable(cosigned.witness.name()), time(cosigned.time)));
    }
    text
}

fn time(seconds: u64) -> String {
    Timestamp::from_unix_millis(i64::try_from(seconds).unwrap_or_default().saturating_mul(1_000)).to_string()
}
