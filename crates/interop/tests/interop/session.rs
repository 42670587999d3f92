//! A guarded session as a trace and as audit records.

use std::num::NonZeroUsize;

use proofmark_interop::intoto;
use proofmark_interop::session::{
    AuditError, CallDecision, CallEnd, CallOutcome, Drift, GuardedCall, GuardedSession, MAX_TEXT_UNITS, OCSF_VERSION,
    RUNTIME_TRACE, audit_records, ocsf_events, runtime_trace,
};
use proofmark_receipt::{Json, Object, Sha256Digest, Timestamp};

use crate::support::{issuer, text};

pub(crate) fn session() -> GuardedSession {
    let decision = |id: &str| CallDecision {
        id: id.to_owned(),
        receipt: Sha256Digest::of(id.as_bytes()),
        policy_name: "production".to_owned(),
        policy: Sha256Digest::of(b"policy"),
        outcome: "replan_required".to_owned(),
        disposition: "human_review".to_owned(),
        rule: Some("writes".to_owned()),
    };
    let call = |id: &str, outcome, decision| GuardedCall {
        id: id.to_owned(),
        at: "2026-06-06T12:00:00Z".parse().unwrap(),
        request: Some("7".to_owned()),
        method: "tools/call".to_owned(),
        service: "files".to_owned(),
        tool: "write_file".to_owned(),
        arguments: Some(Sha256Digest::of(b"{}")),
        outcome,
        decision,
        drift: Drift::None,
        result: None,
        end: None,
    };
    GuardedSession {
        name: "s1".to_owned(),
        head: Sha256Digest::of(b"head"),
        host: "urn:proofmark:host:claude".to_owned(),
        principal: "a1".to_owned(),
        purpose: Some(" reconcile June invoices ".to_owned()),
        began: Timestamp::from_unix_millis(0),
        ended: None,
        calls: vec![
            call("e1", CallOutcome::Allowed, Some(decision("d1"))),
            call("e2", CallOutcome::Denied, Some(decision("d2"))),
            call("e3", CallOutcome::Deferred, Some(decision("d3"))),
            call("e4", CallOutcome::Error, None),
        ],
    }
}

#[test]
fn a_trace_is_a_statement_about_the_end_of_the_session() {
    let session = session();
    let envelope = Json::from(intoto::envelope(&runtime_trace(&session), &issuer())).to_text();
    let read = intoto::verify(envelope.as_bytes(), &[issuer().signer()], NonZeroUsize::MIN).unwrap().statement;
    assert_eq!(read.predicate_type(), RUNTIME_TRACE);
    assert!(read.is_about(&session.head));
    let predicate = read.document().get("predicate").and_then(Json::as_object).unwrap();
    let log = predicate.get("monitorLog").and_then(Json::as_object).unwrap();
    let process = log.get("process").and_then(Json::as_array).unwrap();
    let outcomes: Vec<_> = process.iter().map(|call| text(call.as_object().unwrap(), "outcome")).collect();
    assert_eq!(outcomes, ["allowed", "denied", "deferred", "error"]);
    // Neither the arguments nor a result is in it.
    assert!(!envelope.contains("invoices"));
}

/// The procedure of SEP-3004, section 2.6; the number of the first record that does not verify.
fn first_broken(records: &[Object]) -> Option<usize> {
    let mut previous = Json::Null;
    records.iter().position(|record| {
        let mut body = record.clone();
        let hash = body.remove("event_hash").unwrap();
        let is_whole = hash == Json::from(Sha256Digest::of(&body.canonical_vrf()).bare_hex());
        let follows = body.get("previous_hash") == Some(&previous);
        previous = hash;
        !(is_whole && follows)
    })
}

#[test]
fn audit_records_are_a_chain_that_shows_what_was_changed() {
    let records = audit_records(&session()).unwrap();
    assert_eq!((records.len(), first_broken(&records)), (4, None));
    let mut changed = records.clone();
    changed[2].insert("outcome", "allowed");
    assert_eq!(first_broken(&changed), Some(2));
    let mut shorter = records.clone();
    shorter.remove(1);
    assert_eq!(first_broken(&shorter), Some(1));
    let extensions = records[0].get("extensions").and_then(Json::as_object).unwrap();
    let governance = extensions.get("caller-governance").and_then(Json::as_object).unwrap();
    assert_eq!(text(governance, "purpose_declared"), "reconcile June invoices");
    let security = extensions.get("runtime-security").and_then(Json::as_object).unwrap();
    assert_eq!(text(security, "evidence_hash"), Sha256Digest::of(b"d1").to_string());
    assert_eq!(text(security, "policy_id"), format!("urn:proofmark/production@{}", Sha256Digest::of(b"policy")));
    assert_eq!(text(&records[0], "occurred_at"), "2026-06-06T12:00:00.000Z");
}

/// The known answer of SEP-3004, "Two-extension known-answer test".
#[test]
fn the_canonical_form_is_that_of_the_proposal() {
    const PREIMAGE: &str = r#"{"event_id":"99999999-9999-9999-9999-999999999999","event_type":"tool_call","extensions":{"caller-governance":{"flagged":false,"invoked_by_principal_id":null,"purpose_declared":"reconcile June invoices","session_id":"55555555-5555-5555-5555-555555555555"},"runtime-security":{"drift_status":"confirmed","evidence_hash":"sha256:b2c547e2c8f17eafc72ef5c2d4d7b6b4d0f7437ab52bae573a9af14ff5e2d9be","policy_id":"example.org/runtime-drift@3","quarantine_decision":"quarantine","severity":"high"}},"occurred_at":"2026-06-06T12:00:00.000Z","outcome":"deferred","previous_hash":null,"principal_id":"aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa","tool_name":"export"}"#;
    let canonical = Json::parse(PREIMAGE.as_bytes()).unwrap().canonical_vrf();
    assert_eq!(canonical, PREIMAGE.as_bytes());
    let expected = "f733fed9cc757165f810b778e4baba1f51a45504988e937707aaab4361b2f064";
    assert_eq!(Sha256Digest::of(&canonical).bare_hex(), expected);
}

#[test]
fn texts_are_normalized_or_refused() {
    let with_tool = |tool: &str| {
        let mut session = session();
        session.calls[0].tool = tool.to_owned();
        audit_records(&session).map(|records| text(&records[0], "tool_name").to_owned())
    };
    assert_eq!(with_tool(" e\u{301} "), Ok("\u{e9}".to_owned()));
    assert_eq!(with_tool("\u{a0}a"), Ok("\u{a0}a".to_owned()));
    assert_eq!(with_tool("a\tb"), Err(AuditError::ControlCharacter("a\\tb".to_owned())));
    assert!(with_tool(&"x".repeat(MAX_TEXT_UNITS)).is_ok());
    assert!(matches!(with_tool(&"x".repeat(MAX_TEXT_UNITS + 1)), Err(AuditError::TooLong(_))));
    let mut session = session();
    session.purpose = None;
    let records = audit_records(&session).unwrap();
    assert_eq!(records[0].get("extensions").and_then(Json::as_object).unwrap().len(), 1);
}

#[test]
fn events_of_ocsf_say_what_was_decided_and_how_calls_ended() {
    let mut session = session();
    session.calls[0].end = Some(CallEnd::Succeeded);
    session.calls[3].end = Some(CallEnd::Failed);
    let events = ocsf_events(&session, None, None);
    let number = |event: &Object, name: &str| event.get(name).and_then(Json::as_number).unwrap().as_i64().unwrap();
    let said: Vec<_> = events
        .iter()
        .map(|event| (number(event, "type_uid"), number(event, "status_id"), number(event, "disposition_id")))
        .collect();
    // The call that was blocked, and the one that was made without a decision, are findings too.
    let expected =
        [(600_399, 1, 1), (600_399, 2, 2), (200_401, 1, 2), (600_399, 0, 14), (600_399, 2, 15), (200_401, 1, 15)];
    assert_eq!(said, expected);
    let metadata = events[0].get("metadata").and_then(Json::as_object).unwrap();
    assert_eq!((text(metadata, "version"), text(metadata, "correlation_uid")), (OCSF_VERSION, "s1"));
    let whole: String = events.into_iter().map(|event| Json::from(event).to_text()).collect();
    assert!(!whole.contains("invoices"), "{whole}");
}

#[test]
fn a_period_begins_at_its_beginning_and_ends_before_its_end() {
    let session = session();
    let at = session.calls[0].at.unix_millis();
    for (since, until, is_in) in [(at, at + 1, true), (at + 1, at + 2, false), (at - 1, at, false)] {
        assert_eq!(!ocsf_events(&session, Some(since), Some(until)).is_empty(), is_in);
    }
}
