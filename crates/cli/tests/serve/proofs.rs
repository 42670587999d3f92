//! A rule that asks for a logged receipt, over HTTP: the proof comes from the server's own log, with the cosignatures of real witnesses.

use proofmark_receipt::{Json, Object, object};
use proofmark_testing::Home;

use crate::client::{DECISIONS, text};
use crate::log::{Witness, begin, file, until};
use crate::server::{Server, serve_by};
use crate::shares::{mcp, session};

const WORK: &str = r#"{"specification": "s", "output": {"content": "short"}, "verification":
    {"kind": "schema_check", "checks": [{"name": "short", "constraint": "length <= 10"}]}}"#;

fn read(text: &str) -> Object {
    match Json::parse(text.as_bytes()) {
        Ok(Json::Object(object)) => object,
        other => panic!("{other:?}: {text}"),
    }
}

/// A request to publish what was verified, with these proofs.
fn publish(proofs: &[&str]) -> String {
    let action = object! { "tool": "publish", "class": "upload", "args": object! { "text": "short" } };
    let proofs: Vec<Json> = proofs.iter().map(|proof| Json::from(*proof)).collect();
    Json::from(object! { "action": action, "proofs": proofs }).to_text()
}

#[test]
fn an_action_waits_until_its_receipt_is_logged_and_witnesses_have_seen_the_log() {
    let (home, watching) = (Home::new(), Home::new());
    let key = begin(&home);
    let logs = file(&home, "logs.txt", &format!("log {key}\nquorum none\n"));
    let witnesses = [1, 2].map(|number| Witness::start(watching.path(), number, &logs));
    let [one, two] = witnesses.each_ref().map(|witness| witness.key.as_str());
    let pinned = format!("  log {key}\n  witness one {one}\n  witness two {two}\n  quorum none\n");
    let rule = "receipt: {any_suite: true, output: 'sha256(action.args.text)', witnesses: 2}";
    let boundaries = format!("boundaries: [{{id: publish, match: {{tool: publish}}, require: [{{{rule}}}]}}]");
    let policy = file(&home, "witnessed.yaml", &format!("version: 1\nlog_policy: |\n{pinned}{boundaries}\n"));
    // The server asks one of the two for now.
    let asked = |witnesses: &[&Witness]| {
        let lines =
            witnesses.iter().enumerate().map(|(at, Witness { url, key, .. })| format!("witness w{at} {key} {url}\n"));
        format!("log {key}\n{}quorum none\n", lines.collect::<String>())
    };
    let [first, second] = &witnesses;
    let serve = |asks: &str| {
        let asks = file(&home, "asks.txt", asks);
        Server::begin(serve_by(&policy, &home, &["--log", "--log-policy", asks.to_str().unwrap()]))
    };
    let server = serve(&asked(&[first]));
    let (status, receipt) = server.send("POST /v1/verifications HTTP/1.1", WORK);
    assert_eq!(status, 200, "{receipt}");
    let id = text(&Json::parse(receipt.as_bytes()).unwrap(), "receipt_id").to_owned();
    let path = format!("/v1/receipts/{id}/proof");
    let cosigned =
        |count: usize| move |status: u16, proof: &str| status == 200 && proof.matches('\u{2014}').count() == 1 + count;
    let decide = |server: &Server, body: &str| {
        let (status, decision) = server.send(DECISIONS, body);
        let said =
            ["not_logged", "not_witnessed"].into_iter().find(|code| decision.contains(&format!(r#""cause":"{code}""#)));
        (status, text(&Json::parse(decision.as_bytes()).unwrap(), "outcome").to_owned(), said)
    };
    let blocked = |code| (200, "replan_required".to_owned(), Some(code));
    assert_eq!(decide(&server, &publish(&[])), blocked("not_logged"));
    let early = until(&server, &path, cosigned(1));
    assert_eq!(decide(&server, &publish(&[&early])), blocked("not_witnessed"));
    drop(server);
    let server = serve(&asked(&[first, second]));
    let proof = until(&server, &path, cosigned(2));
    assert_eq!(decide(&server, &publish(&[&proof])), (200, "allow".to_owned(), None));
    assert_eq!(decide(&server, &publish(&[&early, &proof])), (200, "allow".to_owned(), None));

    // The same by MCP.
    let begun = session(&server, "");
    let call = |arguments: Json| {
        let params = object! { "name": "decide_action", "arguments": arguments };
        let call = object! { "jsonrpc": "2.0", "id": 1_u64, "method": "tools/call", "params": params };
        mcp(&server, "", &format!("\r\n{begun}"), &Json::from(call).to_text()).1
    };
    let allowed = call(Json::from(read(&publish(&[&proof]))));
    assert!(allowed.contains("continue_downstream") && !allowed.contains(r#""isError":true"#), "{allowed}");
    let refused = call(Json::from(read(&publish(&["x"]))));
    assert!(refused.contains(r#""isError":true"#) && refused.contains("proofs[0]"), "{refused}");

    // A proof that cannot be used is an error, and never left out.
    let changed = proof.replacen("\nindex 0\n", "\nindex 1\n", 1);
    assert_eq!(decide(&server, &publish(&[&changed])), blocked("not_logged"));
    for (proofs, code) in [
        (publish(&["x"]), "invalid_proof"),
        (publish(&[&proof.replacen(proof.lines().nth(1).unwrap(), "extra e30=", 1)]), "proof_of_nothing"),
        (publish(&vec!["x"; 65]), "too_many_proofs"),
    ] {
        let (status, problem) = server.send(DECISIONS, &proofs);
        let error = read(&problem).get("error").and_then(Json::as_object).unwrap().clone();
        assert_eq!((status, error.get("code").and_then(Json::as_str)), (422, Some(code)), "{problem}");
    }
    let listed = publish(&[]).replace("[]", "true");
    assert_eq!(server.send(DECISIONS, &listed).0, 400);
}
