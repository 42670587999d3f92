//! SEP-3004 of the Model Context Protocol, "Tamper-Evident Audit Record Contract", as proposed in July 2026.

use proofmark_receipt::{Json, Object, Sha256Digest, Timestamp, object, shown};
use thiserror::Error;
use unicode_normalization::UnicodeNormalization;

use super::{CallOutcome, GuardedCall, GuardedSession};

/// The longest text in a record, in UTF-16 code units (SEP-3004, section 2.3).
pub const MAX_TEXT_UNITS: usize = 8192;

/// A text that no audit record can hold.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AuditError {
    #[error("`{0}` has a control character, which an audit record cannot hold")]
    ControlCharacter(String),
    #[error("`{0}` has more than {MAX_TEXT_UNITS} UTF-16 code units, the most that an audit record holds")]
    TooLong(String),
}

/// The audit records of a session's calls, in their order, each with the hash of the one before.
///
/// Each has the extension `runtime-security`, and `caller-governance` where the session says what the agent was asked for. Its
/// `evidence_hash` is the hash of the decision's receipt. The proposal has no place for the digests of arguments and results; the
/// decision binds the former.
///
/// # Errors
/// [`AuditError`] names a text that the proposal refuses.
pub fn audit_records(session: &GuardedSession) -> Result<Vec<Object>, AuditError> {
    let mut records = Vec::with_capacity(session.calls.len());
    let mut previous = Json::Null;
    for call in &session.calls {
        let mut record = record(session, call, previous)?;
        let hash = Sha256Digest::of(&record.canonical_vrf()).bare_hex();
        record.insert("event_hash", hash.as_str());
        previous = hash.into();
        records.push(record);
    }
    Ok(records)
}

/// A record without its hash. Its values are texts and nulls only, whose canonical form is that of the proposal, too.
fn record(session: &GuardedSession, call: &GuardedCall, previous: Json) -> Result<Object, AuditError> {
    let mut extensions = Object::new();
    if let Some(purpose) = &session.purpose {
        let governance = object! { "purpose_declared": normalized(purpose)?, "session_id": normalized(&session.name)? };
        extensions.insert("caller-governance", governance);
    }
    extensions.insert("runtime-security", runtime_security(call)?);
    Ok(object! {
        "event_id": normalized(&call.id)?,
        // With milliseconds, whatever precision the entry was written with.
        "occurred_at": Timestamp::from_unix_millis(call.at.unix_millis()).as_str(),
        "principal_id": normalized(&session.principal)?,
        "event_type": "tool_call",
        "tool_name": normalized(&call.tool)?,
        "outcome": call.outcome.as_str(),
        "extensions": extensions,
        "previous_hash": previous,
    })
}

fn runtime_security(call: &GuardedCall) -> Result<Object, AuditError> {
    let (severity, applied) = match call.outcome {
        CallOutcome::Allowed => ("info", "release"),
        CallOutcome::Deferred => ("medium", "hold"),
        CallOutcome::Denied => ("high", "quarantine"),
        // It continued without a decision.
        CallOutcome::Error => ("high", "release"),
    };
    let policy = match &call.decision {
        Some(decision) => format!("urn:proofmark/{}@{}", decision.policy_name, decision.policy),
        None => "urn:proofmark/none@0".to_owned(),
    };
    Ok(object! {
        "drift_status": call.drift.as_str(),
        "severity": severity,
        "quarantine_decision": applied,
        "policy_id": normalized(&policy)?,
        "evidence_hash"?: call.decision.as_ref().map(|decision| decision.receipt.to_string()),
    })
}

/// A text in the form of protected values: NFC, without spaces (U+0020) at its ends.
fn normalized(text: &str) -> Result<String, AuditError> {
    let normal: String = text.trim_matches(' ').nfc().collect();
    if normal.chars().any(char::is_control) {
        return Err(AuditError::ControlCharacter(shown(&normal)));
    }
    if normal.encode_utf16().count() > MAX_TEXT_UNITS {
        return Err(AuditError::TooLong(shown(&normal)));
    }
    Ok(normal)
}
