//! Receipts in other people's envelopes: written, and verified as receipts are.

use std::num::NonZeroUsize;

use anyhow::anyhow;
use proofmark_evidence::Capability;
use proofmark_interop::cose::{self, Inclusion, Registration};
use proofmark_interop::session::RUNTIME_TRACE;
use proofmark_interop::{Decision, Document, ExportError, intoto};
use proofmark_keys::{Checked, TrustedSigners};
use proofmark_log::LogKeeper;
use proofmark_receipt::document::shown;
use proofmark_receipt::{
    InvalidCause, Json, Profile, SignatureStatus, SignerId, SigningKey, Trust, UndecidableCause, Verification,
};
use proofmark_store::{LogEntry, Store, Tenant};
use proofmark_tlog::{Checkpoint, Note, ProofFile, Vkey};

use super::demands::Unmet;
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
    let home = logs::home(config);
    let log_key = logs::key(config, unlock)?;
    if store.log_length()? == 0 {
        return Err(with_help(
            "register the statement: the log would have one entry, and a receipt of it needs two or more",
            "store another receipt first",
        ));
    }
    store.of(&Tenant::LOCAL).submit(LogEntry(entry)).wait()?;
    let keeper = LogKeeper::new(store, home.clone(), home.signer_of(&log_key)?);
    let ProofFile { index, path, checkpoint, .. } = keeper.prove(&entry, None)?;
    let note = Note::parse(&checkpoint).map_err(|error| anyhow!("read the checkpoint of the log: {error}"))?;
    let published =
        Checkpoint::parse(note.text()).map_err(|error| anyhow!("read the checkpoint of the log: {error}"))?;
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
        return Err(with_help("export a decision as `in-toto`: a Test Result is of tests", "export it as `svr`"));
    };
    Ok(intoto::sign_test_result(receipt, suite, key).map_err(failed)?.into())
}

/// An envelope with a Simple Verification Result of in-toto.
pub(super) fn svr(document: &Document, key: &SigningKey) -> anyhow::Result<Json> {
    Ok(intoto::sign_svr(document, key).map_err(failed)?.into())
}

/// The result of verifying a document in an envelope.
pub(super) struct Exported {
    pub(super) checked: Checked,
    /// What an attestation says, as names and values.
    pub(super) said: Vec<(&'static str, String)>,
    /// Receipts of logs that do not hold.
    pub(super) unmet: Vec<Unmet>,
}

/// Verifies a document in an envelope; nothing where the bytes are not one. `logs` has the keys of the logs that are trusted.
pub(super) fn check(bytes: &[u8], profile: Profile, trusted: &TrustedSigners, logs: &[Vkey]) -> Option<Exported> {
    if cose::claimed_by(bytes) {
        return Some(check_statement(bytes, profile, trusted, logs));
    }
    let Ok(Json::Object(object)) = Json::parse(bytes) else { return None };
    intoto::claimed_by(&object).then(|| check_envelope(bytes, trusted))
}

/// The statement first, and then the document inside by its own rules and the signers who may sign it.
fn check_statement(bytes: &[u8], profile: Profile, trusted: &TrustedSigners, logs: &[Vkey]) -> Exported {
    const KIND: &str = "signed_statement";
    let statement = match cose::verify_statement(bytes, &[]) {
        Ok(statement) => statement,
        Err(error) => return Exported { checked: refused(KIND, &error), said: Vec::new(), unmet: Vec::new() },
    };
    let inside = match &statement.document {
        Document::Receipt(receipt) => receipt.to_text(),
        Document::Decision(decision) => decision.document().to_text(),
    };
    let checked = Checked { kind: KIND, ..trusted.check(inside.as_bytes(), profile) };
    let (mut said, mut unmet) = (Vec::new(), Vec::new());
    let keys: Vec<SignerId> = logs.iter().map(|log| SignerId::from_bytes(*log.public_key())).collect();
    match (statement.receipts.len(), keys.first()) {
        (0, _) => {}
        (count, None) => said.push(("receipts of logs", format!("{count}, not verified: no log is trusted"))),
        (_, Some(first)) => {
            let registered = keys.iter().find_map(|key| statement.registered_in(key).ok());
            match registered.map_or_else(|| statement.registered_in(first), Ok) {
                Ok(receipt) => said.push(("registered in", receipt.origin.unwrap_or_default())),
                Err(error) => {
                    unmet.push(Unmet { code: error.code(), message: format!("the receipt of the log: {error}") })
                }
            }
        }
    }
    Exported { checked, said, unmet }
}

/// An envelope names no key, so only keys that are trusted for what it says are tried.
fn check_envelope(bytes: &[u8], trusted: &TrustedSigners) -> Exported {
    const KIND: &str = "attestation";
    let of = |checked| Exported { checked, said: Vec::new(), unmet: Vec::new() };
    let signers = trusted.signers();
    let all: Vec<SignerId> = signers.keys().iter().map(|key| key.key.signer).collect();
    let verified = match intoto::verify(bytes, &all, NonZeroUsize::MIN) {
        Ok(verified) => verified,
        Err(error) => return of(refused(KIND, &error)),
    };
    let Some(wanted) = capabilities(&verified.statement) else {
        let predicate = verified.statement.predicate_type();
        let message = format!("the predicate `{}` is not one that is written here", shown(predicate));
        let answer = SignatureStatus::Undecidable(UndecidableCause::Format { code: "unknown_predicate", message });
        let verification = Verification { answer, trust: Trust::Unknown, signer: None, hint: None };
        return of(Checked { kind: KIND, verification, claims: None });
    };
    let may = |signer: &&SignerId| wanted.iter().all(|kind| signers.of(*kind, None).contains(signer));
    let trusted = verified.signers.iter().find(may);
    let trust = if trusted.is_some() { Trust::Trusted } else { Trust::Untrusted };
    let signer = trusted.or(verified.signers.first()).copied();
    let verification = Verification { answer: SignatureStatus::Valid, trust, signer, hint: None };
    let said = words(&verified.statement);
    Exported { said, ..of(Checked { kind: KIND, verification, claims: None }) }
}

/// What a statement says, for people.
fn words(statement: &intoto::Statement) -> Vec<(&'static str, String)> {
    let document = statement.document();
    let predicate = document.get("predicate").and_then(Json::as_object);
    let subject = document.get("subject").and_then(|all| all.as_array()?.first()?.as_object());
    let digest = subject.and_then(|subject| subject.get("digest")?.as_object()?.get("sha256")?.as_str());
    let result = predicate.and_then(|predicate| predicate.get("result")?.as_str());
    let properties = predicate.and_then(|predicate| predicate.get("properties")?.as_array());
    let properties = properties.map(|all| all.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(", "));
    let mut words = vec![("predicate", statement.predicate_type().to_owned())];
    words.extend(result.map(|result| ("result", result.to_owned())));
    words.extend(properties.map(|properties| ("properties", properties)));
    words.extend(digest.map(|digest| ("about", format!("sha256:{digest}"))));
    words
}

/// For what a signer of the statement has to be trusted; none for a predicate of others.
fn capabilities(statement: &intoto::Statement) -> Option<Vec<Capability>> {
    let predicate = statement.document().get("predicate").and_then(Json::as_object);
    let properties = predicate.and_then(|predicate| predicate.get("properties")?.as_array());
    let kind = |property: &Json| {
        let is_of_decision = property.as_str() == Some(intoto::ACTION_ALLOWED);
        if is_of_decision { Capability::Decision } else { Capability::Verification }
    };
    match statement.predicate_type() {
        intoto::TEST_RESULT => Some(vec![Capability::Verification]),
        // What a guard saw is its decisions.
        RUNTIME_TRACE => Some(vec![Capability::Decision]),
        // One without a property says nothing.
        intoto::SVR => Some(properties?.iter().map(kind).collect()).filter(|kinds: &Vec<_>| !kinds.is_empty()),
        _ => None,
    }
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

pub(super) fn failed(error: ExportError) -> anyhow::Error {
    match error.help() {
        Some(help) => with_help(format!("export the document: {error}"), help),
        None => anyhow!("export the document: {error}"),
    }
}
