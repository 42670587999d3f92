//! Nobody signs blind: the action is printed and confirmed before it is approved or denied, and it is the one that was decided on.

use proofmark_receipt::{Json, Receipt};

use crate::run::{Done, Place};

const POLICY: &str = "version: 1
boundaries:
  - id: wire
    match: {tool: wire_transfer}
    require:
      - approval: {role: finance}
        reason: {code: not_approved, message: Nobody from finance has approved it.}
";

const WIRE: &str = r#"{"action": {"tool": "wire_transfer", "server": "bank", "class": "system_change", "target": "DE02120300000000202051",
    "args": {"amount": 90000, "purpose": "two\nlines", "reference": "90000"}}, "agent": {"id": "bot", "environment": "prod"}}"#;

/// A place where a transfer waits for Ann.
fn place() -> (Place, String, String) {
    let place = Place::new();
    place.run(&["key", "new"]);
    place.run(&["key", "new", "ann"]);
    place.file("policy.yaml", POLICY);
    place.run(&["reviewer", "add", "ann", "--key", "ann", "--role", "finance", "--policy", "policy.yaml"]);
    let blocked = decide(&place);
    assert_eq!(blocked.code, 1, "{blocked:?}");
    let decision = Json::parse(blocked.stdout.as_bytes()).unwrap();
    let id = decision.as_object().unwrap().get("decision_id").unwrap().as_str().unwrap().to_owned();
    (place, id, blocked.stdout)
}

fn decide(place: &Place) -> Done {
    place.run_with(&["decide", "-", "--policy", "policy.yaml", "--json"], &[], WIRE.as_bytes())
}

fn review(place: &Place, verb: &str, decision: &str, more: &[&str]) -> Done {
    place.run(&[&["decision", verb, decision, "--key", "ann", "--note", "seen"], more].concat())
}

#[test]
fn nobody_signs_blind() {
    let (place, id, _) = place();
    for verb in ["approve", "deny"] {
        let refused = review(&place, verb, &id, &[]);
        assert_eq!((refused.code, refused.stdout.as_str()), (2, ""), "{refused:?}");
        assert!(refused.stderr.contains("--yes") && refused.stderr.contains("wire_transfer"), "{refused:?}");
    }
    assert_eq!(decide(&place).code, 1, "nothing was signed");
    let approved = review(&place, "approve", &id, &["--yes"]);
    let said = [
        "bot asked to run wire_transfer on DE02120300000000202051",
        "tool             wire_transfer",
        "server           bank",
        "on               DE02120300000000202051",
        "class            system_change",
        "agent            bot",
        "separation       none: the agent may have been able to decide for itself",
        "environment      prod",
        "arguments",
        "amount           90000",
        "purpose          two↵",
        "lines",
        "reference        \"90000\"",
        "what blocks it",
        "Nobody from finance has approved it.",
    ];
    let lines: Vec<_> = approved.stderr.lines().map(str::trim).collect();
    for line in said {
        assert!(lines.iter().any(|one| one.starts_with(line)), "{line}: {approved:?}");
    }
    assert_eq!(decide(&place).code, 0);
    // `decision show` says the same.
    let shown = place.run(&["decision", "show", &id]).stdout;
    assert!(shown.starts_with("bot asked to run wire_transfer on DE02120300000000202051\n"), "{shown}");
}

#[test]
fn an_approval_binds_what_was_shown() {
    let (place, id, decision) = place();
    let approved = review(&place, "approve", &id, &["--yes"]);
    let receipt = Receipt::parse(approved.stdout.trim().as_bytes()).unwrap();
    let approval = receipt.metadata().get("approval").and_then(Json::as_object).unwrap();
    let decision = Json::parse(decision.as_bytes()).unwrap();
    let binding = decision.as_object().unwrap().get("binding").and_then(Json::as_object).unwrap();
    let due = proofmark_evidence::shown_of(binding).to_string();
    assert_eq!(approval.get("shown").and_then(Json::as_str), Some(due.as_str()));
    assert_eq!(approval.get("separation").and_then(Json::as_str), Some("none"));
    assert_eq!(place.run(&["store", "check"]).code, 0);
}

/// Programs that can write to the store can change the action beside the signed decision.
#[test]
fn an_action_that_was_not_decided_on_is_neither_shown_nor_approved() {
    let (place, id, _) = place();
    place.home.sql("UPDATE decisions SET action = replace(action, '90000,', '9,')");
    let refused = review(&place, "approve", &id, &["--yes"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("is not the one that was decided on"), "{refused:?}");
    assert!(!refused.stderr.contains("amount"), "{refused:?}");
    let shown = place.run(&["decision", "show", &id]);
    assert!(shown.stderr.contains("is not the one that was decided on"), "{shown:?}");
    let list = place.run(&["decision", "list"]).stdout;
    assert!(list.contains("another action than was decided on") && !list.contains("wire_transfer"), "{list}");
    let checked = place.run(&["store", "check"]);
    assert!(
        checked.code == 1 && checked.stdout.contains("another action than the one that was decided on"),
        "{checked:?}"
    );
    // The request says what it was.
    let request = place.file("request.json", WIRE);
    assert_eq!(review(&place, "approve", &id, &["--yes", "--request", &request]).code, 0);
}

/// Nor is a row that says something else than what was signed: whatever somebody writes there, the list says that it was changed.
#[test]
fn a_list_says_what_was_signed() {
    let (place, id, _) = place();
    place.home.sql("CREATE TABLE kept AS SELECT * FROM decisions");
    for (column, value) in [
        ("outcome", "'allow'"),
        ("agent", "'ann'"),
        ("decided_at", "decided_at + 1"),
        ("class", "'memory_write'"),
        ("document", "replace(document, 'Nobody from finance', 'Everybody')"),
    ] {
        place.home.sql(&format!("UPDATE decisions SET {column} = {value}"));
        let list = place.run(&["decision", "list"]).stdout;
        assert!(list.contains(&id) && list.contains("changed") && !list.contains("wire_transfer"), "{column}: {list}");
        assert_eq!(place.run(&["store", "check"]).code, 1, "{column}");
        place.home.sql(&format!("UPDATE decisions SET {column} = (SELECT {column} FROM kept)"));
    }
    assert!(place.run(&["decision", "list"]).stdout.contains("wire_transfer"));
}

/// What `store check` says when a table is changed, and changed back after that.
fn damaged(place: &Place, table: &str, damage: &str) -> Done {
    place.home.sql(&format!("CREATE TABLE kept_{table} AS SELECT * FROM {table}"));
    place.home.sql(damage);
    let checked = place.run(&["store", "check"]);
    place.home.sql(&format!("DELETE FROM {table}"));
    place.home.sql(&format!("INSERT INTO {table} SELECT * FROM kept_{table}"));
    place.home.sql(&format!("DROP TABLE kept_{table}"));
    checked
}

/// What is kept beside signed documents is compared with them, column by column.
#[test]
fn a_check_finds_what_no_document_says() {
    let (place, id, _) = place();
    let is_found = |table: &str, column: &str, value: &str| {
        let checked = damaged(&place, table, &format!("UPDATE {table} SET {column} = {value}"));
        assert!(checked.code == 1 && checked.stdout.contains(table), "{table}.{column}: {checked:?}");
    };
    is_found("asked", "facts", "replace(facts, '90000,', '9,')");
    for (column, value) in [
        ("decided_at", "decided_at - 1"),
        ("outcome", "'allow'"),
        ("mode", "'none'"),
        ("fingerprint", "'x'"),
        ("subject", "'x'"),
        ("agent", "'x'"),
        ("class", "'x'"),
        ("tool", "'x'"),
        ("expires_at", "expires_at + 1"),
        ("action", "replace(action, '90000,', '9,')"),
        ("hash", place.home.spelled("zeroblob(32)", "decode(repeat('00', 32), 'hex')")),
    ] {
        is_found("decisions", column, value);
    }
    assert_eq!(review(&place, "approve", &id, &["--yes"]).code, 0);
    assert_eq!(decide(&place).code, 0);
    for (column, value) in [
        ("decision_id", "'x'"),
        ("subject", "'x'"),
        ("reviewer", "'x'"),
        ("role", "'x'"),
        ("note", "'x'"),
        ("receipt_id", "NULL"),
        ("reviewed_at", "reviewed_at + 1"),
        ("until", "until + 1"),
    ] {
        is_found("reviews", column, value);
    }
    is_found("spent", "spent_by", "'x'");
    let forgotten = damaged(&place, "spent", "DELETE FROM spent");
    assert!(forgotten.code == 1 && forgotten.stdout.contains("which is not noted"), "{forgotten:?}");
    assert_eq!(place.run(&["store", "check"]).code, 0);
}

/// A denial only blocks, so it is of what was signed, whatever the row beside it says.
#[test]
fn a_decision_whose_row_was_changed_is_denied_as_it_was_signed() {
    for (column, value) in [
        ("action", "replace(action, '90000,', '9,')"),
        ("action", "'{'"),
        ("subject", "'another'"),
        ("mode", "'none'"),
        ("allowed", "1 = 1"),
        ("document", "'{'"),
        ("document", "'{}'"),
        ("document", "replace(document, 'Nobody from finance', 'Everybody')"),
    ] {
        let (place, id, _) = place();
        place.home.sql(&format!("UPDATE decisions SET {column} = {value}"));
        assert_eq!(review(&place, "approve", &id, &["--yes"]).code, 2, "{column}");
        let blind = review(&place, "deny", &id, &[]);
        assert!(blind.code == 2 && blind.stderr.contains("--yes"), "{blind:?}");
        let denied = review(&place, "deny", &id, &["--yes"]);
        assert_eq!(denied.code, 0, "{column}: {denied:?}");
        assert_eq!(denied.stderr.contains("the denial is of the action that was decided on"), column == "action");
        assert_eq!(denied.stderr.contains("the denial is of what its row in the store says"), column == "document");
        // The next request for the action is answered with it.
        let next = decide(&place);
        assert!(next.code == 1 && next.stdout.contains("\"denial\""), "{column}: {next:?}");
    }
}

#[test]
fn a_decision_of_elsewhere_is_shown_by_its_request() {
    let (place, _, decision) = place();
    let file = place.file("decision.json", decision);
    let elsewhere = Place::new();
    let signer = place.run(&["key", "show", "--as", "signer-id"]).stdout.trim().to_owned();
    elsewhere.run(&["key", "new", "ann"]);
    let trust = ["--yes", "--trust", &signer];
    let unknown = review(&elsewhere, "approve", &file, &trust);
    assert!(unknown.code == 2 && unknown.stderr.contains("--request FILE"), "{unknown:?}");
    let other = elsewhere.file("other.json", WIRE.replace("90000,", "9,"));
    let refused = review(&elsewhere, "approve", &file, &[&trust[..], &["--request", &other]].concat());
    assert!(refused.code == 2 && refused.stderr.contains("is not the one that was decided on"), "{refused:?}");
    let request = elsewhere.file("request.json", WIRE);
    let approved = review(&elsewhere, "approve", &file, &[&trust[..], &["--request", &request]].concat());
    assert_eq!(approved.code, 0, "{approved:?}");
}

/// On a terminal, which `script` plays.
#[test]
fn a_terminal_is_asked() {
    if !proofmark_testing::has_program("script", "bsdutils") {
        return;
    }
    let (place, id, _) = place();
    let binary = env!("CARGO_BIN_EXE_proofmark");
    let command = format!("'{binary}' decision approve {id} --key ann --note seen");
    let answered = |answer: &str| {
        let mut child = std::process::Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .envs(place.home.variables())
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(child.stdin.as_mut().unwrap(), answer.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = answered("n\n");
    assert!(code == Some(1) && said.contains("Approve this? [y/N]") && said.contains("wire_transfer"), "{said}");
    assert_eq!(decide(&place).code, 1);
    let (code, said) = answered("y\n");
    assert!(code == Some(0) && said.contains("approved"), "{said}");
    assert_eq!(decide(&place).code, 0);
}
