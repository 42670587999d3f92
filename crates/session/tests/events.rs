//! Events are read as they were written, whatever is in an entry.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use proofmark_receipt::{Json, Object, ReceiptId, object};
use proofmark_session::{Entry, Event, Executed, Kind, SessionDocument};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// An entry of each form that guards and hooks write, as it is stored before it is linked and signed.
const RECORDED: &str = include_str!("entries.jsonl");

/// The names of all members of events.
const MEMBERS: [&str; 58] = [
    "agent",
    "allowed",
    "arguments",
    "at",
    "attempt",
    "before",
    "call",
    "cancelled",
    "class",
    "decision",
    "declined",
    "entries",
    "environment",
    "excerpt",
    "executed",
    "from",
    "handling",
    "host",
    "host_tool",
    "instructions",
    "kind",
    "lines_not_forwarded",
    "list",
    "listed",
    "message",
    "method",
    "name",
    "notifications",
    "origin",
    "origin_sha256",
    "origin_state",
    "policy_hash",
    "process",
    "protocol",
    "quarantined",
    "reason",
    "receipt",
    "request",
    "result",
    "run",
    "server",
    "shadow",
    "shadowed",
    "signs",
    "source",
    "state",
    "status",
    "step",
    "subagent",
    "surface",
    "text",
    "tool",
    "turn",
    "twin",
    "unanswered",
    "unheard_of",
    "version",
    "would",
];

/// Words that members have.
const WORDS: [&str; 9] = ["", "client", "server", "no", "unknown", "succeeded", "blocked", "withhold", "tools/call"];

fn value() -> impl Strategy<Value = Json> {
    let text = prop_oneof![select(&WORDS[..]).prop_map(str::to_owned), "\\PC{0,8}"];
    let leaf = prop_oneof![
        4 => text.prop_map(Json::from),
        2 => any::<bool>().prop_map(Json::from),
        2 => (0..1_u64 << 53).prop_map(Json::from),
        1 => Just(Json::Null),
    ];
    leaf.prop_recursive(2, 8, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Json::from),
            vec((select(vec!["sha256", "bytes", "id", "kind", "x"]), inner), 0..4).prop_map(|members| object(&members)),
        ]
    })
}

fn object(members: &[(&'static str, Json)]) -> Json {
    let mut object = Object::new();
    for (name, value) in members {
        object.insert(*name, value.clone());
    }
    object.into()
}

fn entry() -> impl Strategy<Value = Object> {
    (select(Kind::ALL), vec((select(&MEMBERS[..]), value()), 0..40)).prop_map(|(kind, members)| {
        let mut entry = object(&members).as_object().unwrap().clone();
        entry.insert("kind", kind.as_str());
        entry.insert("at", "2026-03-01T12:00:00.000Z");
        entry
    })
}

fn document(entry: &Entry) -> Object {
    entry.to_document(ReceiptId::from_random_bytes([0; 16]), "s1")
}

proptest! {
    #[test]
    fn an_event_is_read_as_it_was_written(entry in entry()) {
        let read = Entry::read(&entry).unwrap();
        let written = document(&read);
        prop_assert_eq!(Entry::read(&written), Some(read.clone()));
        prop_assert_eq!(Event::read(read.event.kind().as_str(), &written), Some(read.event));
    }
}

#[test]
fn stored_entries_are_written_again_byte_for_byte() {
    let mut kinds = Vec::new();
    for line in RECORDED.lines() {
        let Json::Object(stored) = Json::parse(line.as_bytes()).unwrap() else { panic!("{line}") };
        let entry = Entry::read(&stored).unwrap_or_else(|| panic!("{line}"));
        let text = |name: &str| stored.get(name).and_then(Json::as_str).unwrap();
        let written = entry.to_document(text("entry_id").parse().unwrap(), text("session"));
        assert_eq!(Json::from(written).to_text(), line);
        kinds.push(entry.event.kind());
    }
    let missing: Vec<_> = Kind::ALL.iter().filter(|kind| !kinds.contains(kind)).collect();
    assert!(missing.is_empty(), "no entry of these kinds is among the recorded ones: {missing:?}");
}

#[test]
fn what_is_not_said_is_not_allowed() {
    for text in [r#"{"kind":"decided"}"#, r#"{"kind":"decided","allowed":"true","shadowed":1}"#] {
        let Json::Object(entry) = Json::parse(text.as_bytes()).unwrap() else { panic!("{text}") };
        let Some(Entry { event: Event::Decided(decided), .. }) = Entry::read(&entry) else { panic!("{text}") };
        assert!(!decided.was_forwarded(), "{text}");
    }
    let cancelled = object! { "kind": "cancelled" };
    let Some(Entry { event: Event::Cancelled(cancelled), .. }) = Entry::read(&cancelled) else { panic!() };
    assert_eq!(cancelled.executed, Executed::Unknown);
}

#[test]
fn an_entry_of_an_unknown_kind_is_a_document_without_an_event() {
    let text =
        r#"{"record_type":"proofmark_session_entry","entry_id":"00000000-0000-4000-8000-000000000000","kind":"later"}"#;
    let document = SessionDocument::read(Json::parse(text.as_bytes()).unwrap()).unwrap();
    assert_eq!((document.kind(), document.event()), ("later", None));
    assert_eq!(Entry::read(document.document()), None);
}
