//! Sessions in other formats.

use proofmark_receipt::Json;

use super::Place;

/// The same calls, in the formats of in-toto, of MCP's proposal, and of OCSF.
pub(crate) fn for_others(place: &Place) {
    let as_form =
        |form: &str| String::from_utf8(place.proofmark(&["session", "export", "s1", "--as", form]).stdout).unwrap();
    let records: Vec<Json> = as_form("mcp-audit").lines().map(|line| Json::parse(line.as_bytes()).unwrap()).collect();
    let member = |record: &Json, name: &str| record.as_object().unwrap().get(name).unwrap().clone();
    let said: Vec<_> = records.iter().map(|record| [member(record, "tool_name"), member(record, "outcome")]).collect();
    let expected = [["read", "allowed"], ["delete", "denied"]].map(|words| words.map(Json::from));
    assert_eq!(said, expected);
    let hashes = records.first().zip(records.last()).unwrap();
    assert_eq!(member(hashes.1, "previous_hash"), member(hashes.0, "event_hash"));
    let trace = as_form("runtime-trace");
    std::fs::write(place.at("trace.json"), &trace).unwrap();
    assert!(place.proofmark(&["receipt", "verify", "trace.json"]).status.success(), "{trace}");
    std::fs::write(place.at("trace.json"), trace.replace("\"sig\":\"", "\"sig\":\"AA")).unwrap();
    assert!(!place.proofmark(&["receipt", "verify", "trace.json"]).status.success());
    events(place);
}

fn number(event: &Json, name: &str) -> i64 {
    event.as_object().unwrap().get(name).and_then(Json::as_number).unwrap().as_i64().unwrap()
}

/// The events of OCSF of the session: class, status and disposition; with the messages.
fn events_of(place: &Place, more: &[&str]) -> (Vec<(i64, i64, i64)>, Option<i32>, String) {
    let output = place.proofmark(&[&["session", "export", "s1", "--as", "ocsf"], more].concat());
    let lines = String::from_utf8(output.stdout).unwrap();
    let events = lines.lines().map(|line| Json::parse(line.as_bytes()).unwrap());
    let said = events.map(|event| ["class_uid", "status_id", "disposition_id"].map(|name| number(&event, name)));
    let said = said.map(|[class, status, disposition]| (class, status, disposition)).collect();
    (said, output.status.code(), String::from_utf8(output.stderr).unwrap())
}

/// The signed part of a session is exported, and the rest is named.
fn events(place: &Place) {
    let all = vec![(6003, 1, 1), (6003, 2, 2), (2004, 1, 2)];
    assert_eq!(events_of(place, &[]), (all.clone(), Some(0), String::new()));
    assert_eq!(events_of(place, &["--since", "1h"]).0, all);
    assert_eq!(events_of(place, &["--until", "2026-01-01"]), (Vec::new(), Some(0), String::new()));
    let part = place.proofmark(&["session", "export", "s1", "--since", "1h"]);
    assert_eq!(part.status.code(), Some(2), "the entries are a chain, of which a part proves nothing");
    // The first decision: without the newest one, nothing at all is exported.
    place.home.sql("CREATE TABLE kept AS SELECT * FROM decisions");
    place.home.sql("UPDATE decisions SET outcome = 'goal_fail_terminal' WHERE outcome = 'allow'");
    let (said, code, note) = events_of(place, &[]);
    assert_eq!((said, code), (all.clone(), Some(1)), "{note}");
    assert!(note.contains("exported without its decision") && note.contains("column outcome"), "{note}");
    place.home.sql(
        "UPDATE decisions SET outcome = (SELECT outcome FROM kept WHERE kept.decision_id = decisions.decision_id)",
    );
    place.home.sql("DROP TABLE kept");
    assert_eq!(events_of(place, &[]).1, Some(0));
    place.home.sql("UPDATE session_entries SET document = replace(document, '\"read\"', '\"look\"')");
    let (said, code, note) = events_of(place, &[]);
    assert_eq!((said, code), (Vec::new(), Some(2)), "{note}");
}
