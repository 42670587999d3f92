//! Receipts in other people's envelopes: written, and verified as receipts are.

use std::num::NonZeroUsize;

use anyhow::anyhow;
use proofmark_evidence::Capability;
use proofmark_interop::cose::{self, Inclusion, Registration};
use proofmark_interop::session::RUNTIME_TRACE;
use proofmark_interop::{Decision, Document, ExportError, intoto};
use proofmark_keys::{Checked, TrustedSigners};
use proofmark_log::LogKeeper;
use proofmark_receipt::{
    InvalidCause, Json, Profile, SignatureStatus, SignerId, SigningKey, Trust, UndecidableCause, Verification,
};
use proofmark_store::{LogEntry, Store, Tenant};
use proofmark_tlog::ProofFile;

use super::read::Stored;
use crate::config::Config;
use crate::error::with_help;
use crate::logs;
use crate::options::Unlock;

/// The document of an export.
pub(super) fn document(stored: &Stored) -> anyhow::Result<Document> {
    Ok(match stored {
        Stored::Receipt(receipt) => Document::from((**receipt).clone()),
        Stored::Decision(decision) => Document::from(Decision::read(decision.document().clone()).map_err(failed)?),
    })
}

/// The signed statement of a document (RFC 9943), without a receipt of a log.
pub(super) fn statement(document: &Document, key: &SigningKey) -> anyhow::Result<Vec<u8>> {
    cose::sign_statement(document, key).map_err(failed)
}

/// The statement registered in the log of the store, with the log's receipt (RFC 9942).
pub(super) fn transparent_statement(
    document: &Document,
    key: &SigningKey,
    (store, unlock, config): (&Store, &Unlock, &Config),
) -> anyhow::Result<Vec<u8>> {
    let signed = statement(document, key)?;
    let entry = cose::statement_entry(&signed).map_err(failed)?;
    store.of(&Tenant::LOCAL).submit(LogEntry(entry)).wait()?;
    let home = logs::home(config);
    let log_key = logs::key(config, unlock)?;
    let keeper = LogKeeper::new(store, home.clone(), home.signer_of(&log_key)?);
    let ProofFile { index, path, .. } = keeper.prove(&entry, None)?;
    let published = keeper.publish()?.checkpoint;
    if published.size < 2 {
        return Err(with_help(
            "write a receipt of the log: it has one entry, and the format needs two or more",
            "store another receipt first",
        ));
    }
    let inclusion = Inclusion {
        tree_size: published.size,
        leaf_index: index,
        path: path.iter().map(|hash| *hash.as_bytes()).collect(),
    };
    let subject = document.subject().to_string();
    let registration = Registration {
        origin: &published.origin,
        subject: &subject,
        entry: entry.as_bytes(),
        inclusion: &inclusion,
        root: published.root.as_bytes(),
    };
    let receipt = cose::sign_receipt(&registration, &log_key).map_err(failed)?;
    cose::attach_receipt(&signed, &receipt, &log_key.signer()).map_err(failed)
}

/// An envelope with a Test Result of in-toto; a document without a judgment has none.
pub(super) fn test_result(document: &Document, suite: Option<&str>, key: &SigningKey) -> anyhow::Result<Json> {
    let Document::Receipt(receipt) = document else {
        return Err(with_help("export a decision as `in-toto`: it is no test", "export it as `svr`"));
    };
    Ok(intoto::sign_test_result(receipt, suite, key).map_err(failed)?.into())
}

/// An envelope with a Simple Verification Result of in-toto.
pub(super) fn svr(document: &Document, key: &SigningKey) -> anyhow::Result<Json> {
    Ok(intoto::sign_svr(document, key).map_err(failed)?.into())
}

/// The verification of a document in an envelope; none where the bytes are not one.
pub(super) fn check(bytes: &[u8], profile: Profile, trusted: &TrustedSigners) -> Option<Checked> {
    if cose::claimed_by(bytes) {
        return Some(check_statement(bytes, profile, trusted));
    }
    let Ok(Json::Object(object)) = Json::parse(bytes) else { return None };
    intoto::claimed_by(&object).then(|| check_envelope(bytes, trusted))
}

/// The statement first, and then the document inside by its own rules and the signers who may sign it.
fn check_statement(bytes: &[u8], profile: Profile, trusted: &TrustedSigners) -> Checked {
    const KIND: &str = "signed_statement";
    match cose::verify_statement(bytes, &[]) {
        Ok(statement) => {
            let inside = match &statement.document {
                Document::Receipt(receipt) => receipt.to_text(),
                Document::Decision(decision) => decision.document().to_text(),
            };
            Checked { kind: KIND, ..trusted.check(inside.as_bytes(), profile) }
        }
        Err(error) => refused(KIND, &error),
    }
}

/// An envelope names no key, so only keys that are trusted for what it says are tried.
fn check_envelope(bytes: &[u8], trusted: &TrustedSigners) -> Checked {
    const KIND: &str = "attestation";
    let signers = trusted.signers();
    let all: Vec<SignerId> = signers.keys().iter().map(|key| key.key.signer).collect();
    let verified = match intoto::verify(bytes, &all, NonZeroUsize::MIN) {
        Ok(verified) => verified,
        Err(error) => return refused(KIND, &error),
    };
    let wanted = said(&verified.statement);
    let may = |signer: &&SignerId| wanted.iter().all(|kind| signers.of(*kind, None).contains(signer));
    let trusted = verified.signers.iter().find(may);
    let trust = if trusted.is_some() { Trust::Trusted } else { Trust::Untrusted };
    let signer = trusted.or(verified.signers.first()).copied();
    let verification = Verification { answer: SignatureStatus::Valid, trust, signer, hint: None };
    Checked { kind: KIND, verification, claims: None }
}

/// For what a signer of the statement has to be trusted.
fn said(statement: &intoto::Statement) -> Vec<Capability> {
    let predicate = statement.document().get("predicate").and_then(Json::as_object);
    let properties = predicate.and_then(|predicate| predicate.get("properties")?.as_array());
    let kind = |property: &Json| {
        let is_of_decision = property.as_str() == Some(intoto::ACTION_ALLOWED);
        if is_of_decision { Capability::Decision } else { Capability::Verification }
    };
    // What a guard saw is its decisions.
    if statement.predicate_type() == RUNTIME_TRACE {
        return vec![Capability::Decision];
    }
    // A Test Result has none.
    let kinds: Vec<Capability> = properties.unwrap_or_default().iter().map(kind).collect();
    if kinds.is_empty() { vec![Capability::Verification] } else { kinds }
}

fn refused(kind: &'static str, error: &ExportError) -> Checked {
    let (code, message) = (error.code(), error.to_string());
    let answer = match error.answer() {
        "invalid" => SignatureStatus::Invalid(InvalidCause::Format { code, message }),
        _ => SignatureStatus::Undecidable(UndecidableCause::Format { code, message }),
    };
    Checked {
        kind,
        verification: Verification { answer, trust: Trust::Unknown, signer: None, hint: None },
        claims: None,
    }
}

fn failed(error: ExportError) -> anyhow::Error {
    match error.help() {
        Some(help) => with_help(format!("export the document: {error}"), help),
        None => anyhow!("export the document: {error}"),
    }
}
