//! Who can write to the store can change any row. What is answered is what was signed.

use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{DECISIONS, MAIL, NOTE, code, json, listed, text};
use crate::receipts::{RESPONSE, step};
use crate::server::Server;

fn is_refused(status: u16, answer: &Json, id: &str) {
    assert_eq!((status, code(answer).as_str()), (500, "changed_row"), "{answer:?}");
    let said = answer.to_text();
    assert!(said.contains(id) && said.contains("store check"), "{said}");
}

#[test]
fn a_decision_whose_row_was_changed_is_not_served() {
    let home = Home::new();
    let server = Server::start(&home);
    let id = text(&server.post("/v1/decisions", "", MAIL).1, "decision_id");
    let whole = text(&server.post("/v1/decisions", "", NOTE).1, "decision_id");
    let path = format!("/v1/decisions/{id}");
    home.sql("CREATE TABLE kept AS SELECT * FROM decisions");
    let changes = [
        ("outcome", "'allow'"),
        ("allowed", home.spelled("1", "true")),
        ("mode", "'none'"),
        ("agent", "'mallory'"),
        ("class", "'memory_write'"),
        ("decided_at", "decided_at - 1"),
        ("expires_at", "expires_at + 600000"),
        ("subject", "'another'"),
        ("fingerprint", "'another'"),
        ("action", "replace(action, 'send_email', 'harmless')"),
        ("document", "replace(document, '\"outcome\":\"replan_required\"', '\"outcome\":\"allow\"')"),
    ];
    for (column, value) in changes {
        home.sql(&format!("UPDATE decisions SET {column} = {value} WHERE decision_id = '{id}'"));
        let (status, answer) = server.get(&path, "");
        is_refused(status, &answer, &id);
        // Another row is listed all the same.
        let page = server.get("/v1/decisions", "").1;
        assert_eq!(listed(&page, "changed"), [Json::from(id.as_str())], "{column}");
        let shown: Vec<_> = listed(&page, "decisions").iter().map(|one| text(one, "decision_id")).collect();
        assert_eq!(shown, [whole.as_str()], "{column}");
        home.sql(&format!(
            "UPDATE decisions SET {column} = (SELECT kept.{column} FROM kept WHERE kept.decision_id = decisions.decision_id)"
        ));
    }
    assert_eq!(server.get(&path, "").0, 200);
    // The facts are those that the decision binds.
    home.sql("UPDATE asked SET facts = replace(facts, 'send_email', 'harmless')");
    let (status, answer) = server.get(&path, "");
    is_refused(status, &answer, &id);
}

/// A decision that somebody else has signed is not one of this server, however well its row agrees.
#[test]
fn a_decision_that_nobody_trusted_has_signed_is_not_served() {
    let home = Home::new();
    let (first, id) = {
        let server = Server::start(&home);
        let id = text(&server.post("/v1/decisions", "", NOTE).1, "decision_id");
        (server.get(&format!("/v1/decisions/{id}"), "").0, id)
    };
    assert_eq!(first, 200);
    std::fs::remove_dir_all(proofmark_keys::Keyring::new(home.path()).folder()).unwrap();
    let stranger = Server::start(&home);
    let (status, answer) = stranger.get(&format!("/v1/decisions/{id}"), "");
    is_refused(status, &answer, &id);
}

/// The same of the state of a workflow step.
#[test]
fn a_state_that_nobody_trusted_has_signed_is_not_served() {
    let home = Home::new();
    let path = "/v1/steps/r1/implement";
    {
        let server = Server::start(&home);
        assert_eq!(server.post(&format!("{path}/attempts"), "", &step(RESPONSE)).0, 200);
        assert_eq!(server.get(path, "").0, 200);
    }
    std::fs::remove_dir_all(proofmark_keys::Keyring::new(home.path()).folder()).unwrap();
    let stranger = Server::start(&home);
    let (status, answer) = stranger.get(path, "");
    assert_eq!((status, code(&answer).as_str()), (500, "changed_row"), "{answer:?}");
    assert!(answer.to_text().contains("may not accept or reopen it here"), "{answer:?}");
}

/// A genuine decision that allows one action does not answer a request for another one.
#[test]
fn a_stored_answer_is_one_only_to_the_same_request() {
    let home = Home::new();
    let server = Server::start(&home);
    let ask = |key: &str, body: &str| {
        let (status, answer) = server.send(&format!("{DECISIONS}\r\nidempotency-key: {key}"), body);
        (status, json(&answer))
    };
    let (_, blocked) = ask("blocked", MAIL);
    let (_, allowed) = ask("allowed", NOTE);
    let (id, before) = (text(&allowed, "decision_id"), text(&blocked, "decision_id"));
    assert_eq!((text(&blocked, "outcome").as_str(), text(&allowed, "outcome").as_str()), ("replan_required", "allow"));
    assert_eq!(text(&ask("blocked", MAIL).1, "decision_id"), before);
    home.sql(&format!("UPDATE answers SET document = '{id}' WHERE document = '{before}'"));
    let (status, answer) = ask("blocked", MAIL);
    is_refused(status, &answer, &id);
}
