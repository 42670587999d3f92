//! What pages say, and that what agents write is text.

use super::{MAIL, Office};
use crate::client::text;

const HOSTILE: &str = "<script>alert(1)</script>\"'onload=\u{202e}\u{200b}";

/// The text with what differs from run to run replaced.
fn redacted(words: &str) -> String {
    let hex = |word: &str, dashes: usize| {
        word.matches('-').count() == dashes
            && word.len() > 7
            && word.chars().all(|c| c.is_ascii_hexdigit() || "-…:.,".contains(c))
    };
    let mut out: Vec<String> = Vec::new();
    for word in words.split(' ') {
        let bare = word.trim_start_matches("sha256:");
        let is_clock = word.len() >= 8 && word.bytes().filter(|byte| *byte == b':').count() == 2;
        out.push(match word {
            _ if hex(bare, 4) && !is_clock => "[id]".to_owned(),
            _ if is_clock && word.bytes().next().is_some_and(|first| first.is_ascii_digit()) => "[time]".to_owned(),
            _ if word.contains('…') && bare != word || hex(bare, 0) && bare.len() > 15 => "[digest]".to_owned(),
            _ => word.to_owned(),
        });
    }
    let mut text = out.join(" ");
    // The document itself is in the snapshots of the API.
    while let Some((from, until)) =
        text.find("{\"receipt_").and_then(|from| Some((from, from + text.get(from..)?.find("}} ")? + 3)))
    {
        text.replace_range(from..until, "[document] ");
    }
    text
}

#[test]
fn pages_say_what_happened() {
    let office = Office::open();
    let ann = office.browser(&office.ann);
    insta::assert_snapshot!("page_nothing_waits", ann.get("/ui/waiting").words());
    insta::assert_snapshot!("page_no_decisions", ann.get("/ui/decisions").words());
    insta::assert_snapshot!("page_no_findings", ann.get("/ui/findings").words());
    insta::assert_snapshot!("page_no_receipts", ann.get("/ui/receipts").words());
    insta::assert_snapshot!("page_policy", redacted(&ann.get("/ui/policy").words()));
    insta::assert_snapshot!("page_unknown", ann.get("/ui/decisions/none").words());
    insta::assert_snapshot!("page_sign_in", super::Browser::stranger(&office.server).get("/ui/sign-in").words());
    let id = office.ask(MAIL);
    let words = ann.get("/ui/waiting").words();
    assert!(words.contains("One decision waits for you") && words.contains("Nobody has read the mail."), "{words}");
    let page = ann.get(&format!("/ui/decisions/{id}")).words();
    for part in [
        "Waits for an approval as reviewer",
        "support-bot wants to run send_email to a@example.org",
        "Why it was stopped Nobody has read the mail.",
        "What exactly would be done",
        "body Dear A,↵ yours",
        "absent An approval as reviewer Nobody has given one.",
        "What happened so far",
        "this decision",
        "Approve once",
        "This decision is genuine Content and signature hold",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn what_agents_write_is_text_on_every_page() {
    let office = Office::open();
    let hostile = proofmark_receipt::Json::from(HOSTILE).to_text();
    let request = format!(
        r#"{{"action": {{"tool": "send_email", "class": "external_message_send", "target": {hostile}, "args": {{{hostile}: {hostile},
            "deep": [[[{{"a": {hostile}}}]]], "long": "{}"}}}}, "agent": {{"id": {hostile}, "environment": {hostile}, "run": {hostile},
            "step": {hostile}}}, "task": {{"first": {hostile}}}, "calls": [{{"tool": {hostile}}}]}}"#,
        "y".repeat(1 << 20)
    );
    let id = office.ask(&request);
    let check = format!(
        r#"{{"task_id": {hostile}, "specification": {hostile}, "output": {{"content": {hostile}}},
            "verification": {{"kind": "schema_check", "checks": [{{"name": {hostile}, "constraint": "length <= 1"}}]}}}}"#
    );
    let (status, receipt) = office.server.post("/v1/verifications", &office.agent, &check);
    assert_eq!(status, 200, "{receipt:?}");
    let receipt = text(&receipt, "receipt_id");
    let eve = office.browser(&office.eve);
    let denied = eve.post(&format!("/ui/decisions/{id}"), &[("verdict", "deny"), ("note", HOSTILE)]);
    assert_eq!(denied.status, 303, "{}", denied.words());
    let report = format!(r#"{{"observed_execution": {{"decision_id": {hostile}, "side_effect_executed": true}}}}"#);
    assert_eq!(office.server.post("/v4/runtime/boundaries/executions/report", &office.agent, &report).0, 200);
    office.ask(&request.replace(&"y".repeat(1 << 20), "short").replace("\"long\"", "\"other\""));
    office.ask(&request.replace("\"long\"", "\"third\""));
    assert!(eve.get("/ui/waiting").words().contains("an action with very long arguments"));
    let pages = [
        "/ui".to_owned(),
        "/ui/waiting".to_owned(),
        format!("/ui/waiting?find={}", "%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%E2%80%AE"),
        "/ui/decisions?agent=%22%3E%3Cscript%3Ealert(1)".to_owned(),
        "/ui/decisions".to_owned(),
        format!("/ui/decisions/{id}"),
        "/ui/receipts".to_owned(),
        format!("/ui/receipts/{receipt}"),
        "/ui/findings".to_owned(),
        "/ui/chains/verifications".to_owned(),
    ];
    for path in pages {
        let page = eve.get(&path);
        assert_eq!(page.status, 200, "{path}: {}", page.words());
        assert!(!page.body.contains("<script>alert") && !page.body.contains("\"'onload"), "{path}");
        let text = page.body.replace(|c: char| c != '\u{202e}' && c != '\u{200b}', "");
        // An attribute keeps a value as it is; text never does.
        let in_attributes = page.body.matches("value=\"").count() + page.body.matches("data-").count();
        assert!(text.is_empty() || in_attributes > 0, "{path}: invisible characters are shown by their number");
        let (_, main) = page.body.split_once("<main").unwrap();
        let visible: String = main.split('<').filter_map(|part| part.split_once('>')).map(|(_, text)| text).collect();
        assert!(!visible.contains(['\u{202e}', '\u{200b}']), "{path}");
    }
    let page = eve.get(&format!("/ui/decisions/{id}"));
    assert!(page.body.contains("⟨U+202E⟩"));
    assert!(page.body.contains(&"y".repeat(1 << 20)), "every argument is shown, and whole");
}
