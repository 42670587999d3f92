//! What a server and the command do with one store, and with each other's receipts.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::Command;

use proofmark_receipt::Json;
use proofmark_testing::Home;

use crate::client::{GOOD, MAIL, NOTE, POLICY, VERIFY, WRONG, code, job, json, listed, once, suite, text, verified};
use crate::server::{PROOFMARK, Server, keys_file, new_key, serve, serve_by};
use crate::stated::policy_of_own_key;

#[test]
fn keys_name_tenants_that_are_nobody_elses() {
    let home = Home::new();
    let (_, entry) = new_key("bot", "agent", "acme");
    for tenant in ["", "local", "Local", "run/acme", "..", "a b"] {
        let keys = home.path().join("new.json");
        let mut add = Command::new(PROOFMARK);
        let added =
            add.args(["api-key", "add", "bot", "agent", "--tenant", tenant, "--api-keys"]).arg(&keys).output().unwrap();
        assert_eq!((added.status.code(), added.stdout.len(), keys.exists()), (Some(2), 0, false), "{tenant:?}");
        let file = keys_file(home.path(), &[&entry.replace("\"acme\"", &Json::from(tenant).to_text())]);
        let refused = serve(&home, &["--api-keys", &file]).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains("tenant"), "{tenant:?}: {said}");
    }
}

#[test]
fn chains_of_steps_are_not_to_be_named() {
    let home = Home::new();
    let request = home.path().join("request.json");
    std::fs::write(&request, suite("def f(x): return x")).unwrap();
    let done = Command::new(PROOFMARK)
        .args(["verify", "--chain", "run/acme/deploy"])
        .arg(&request)
        .envs(home.variables())
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("are of workflow steps"));
    let (agent, entry) = new_key("a", "agent", "one");
    let server = Server::start(&home, &["--api-keys", &keys_file(home.path(), &[&entry])]);
    let (status, refused) = server.post("/v1/verifications?chain=run%2Fr1%2Fbuild", &agent, &suite("x"));
    assert_eq!((status, code(&refused).as_str()), (400, "invalid_chain"));
}

#[test]
fn a_decision_no_reader_would_read_is_not_made() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    // The signed receipt itself says where the workflow continues.
    let upstream = format!("{{\"upstream\": {{\"workflow_id\": \"{}\"}}, ", "x".repeat(1_100_000));
    let long = NOTE.replacen('{', &upstream, 1);
    let (status, refused) = server.post("/v1/decisions", "", &long);
    assert_eq!((status, code(&refused).as_str()), (422, "too_large"), "{}", refused.to_text());
    assert_eq!(server.post("/v1/decisions", "", NOTE).0, 200);
    drop(server);
    // One that an older version has kept stops nothing but itself.
    let long = home.spelled("printf('%.*c', 1100000, 'x')", "repeat('x', 1100000)");
    home.sql(&format!("UPDATE decisions SET document = '{{\"a\": \"' || {long} || '\"}}'"));
    let server = Server::start(&home, &[]);
    assert_eq!(server.post("/v1/decisions", "", NOTE).0, 200);
    let page = server.get("/v1/decisions", "").1;
    assert_eq!((listed(&page, "decisions").len(), listed(&page, "changed").len()), (1, 1));
    let note = home.path().join("note.json");
    std::fs::write(&note, NOTE).unwrap();
    let done = Command::new(PROOFMARK)
        .args(["decide", "--policy", POLICY])
        .arg(&note)
        .envs(home.variables())
        .output()
        .unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
fn what_had_expired_stays_expired_when_the_clock_is_set_back() {
    let home = Home::new();
    let server = Server::begin(serve_by(&policy_of_own_key(&home), &home, &[]));
    let decided = text(&server.post("/v1/decisions", "", MAIL).1, "decision_id");
    let word = r#"{"verdict": "approve", "note": "read it", "expires_in": 1800}"#;
    assert_eq!(server.post(&format!("/v1/reviews/{decided}"), "", word).0, 200);
    assert_eq!(server.get("/readyz", "").1.to_text(), r#"{"status":"ready"}"#);
    // An hour passes, and the clock is set back by it.
    home.sql("UPDATE clock SET latest = latest + 3600000");
    let (_, late) = server.post("/v1/decisions", "", MAIL);
    assert_eq!(text(&late, "outcome"), "replan_required", "{}", late.to_text());
    server.said("behind what the store has recorded");
    assert!(server.get("/readyz", "").1.as_object().unwrap().contains("clock_behind_ms"));
    let doctor = Command::new(PROOFMARK).args(["doctor", "--json"]).envs(home.variables()).output().unwrap();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("clock_behind_ms"));
}

#[test]
fn receipts_are_listed_and_their_chain_verifies_offline() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let receipts: Vec<Json> = (0..3).map(|_| verified(&server, "")).collect();
    let (_, page) = server.get("/v1/receipts?verdict=pass&tier=0&task=t&limit=2", "");
    assert_eq!(listed(&page, "receipts").len(), 2);
    let (_, rest) = server.get(&format!("/v1/receipts?limit=2&after={}", text(&page, "next")), "");
    assert_eq!(listed(&rest, "receipts").len(), 1);
    assert!(listed(&server.get("/v1/receipts?verdict=fail", "").1, "receipts").is_empty());
    assert_eq!(
        server.get("/v1/stats?chain=verifications", "").1.as_object().unwrap().get("pass"),
        Some(&Json::from(3_u64))
    );

    let id = text(&receipts[0], "receipt_id");
    let (_, chain) = server.get(&format!("/v1/receipts/{id}/chain"), "");
    let links: Vec<String> = listed(&chain, "receipts").iter().map(Json::to_text).collect();
    let (file, head) = (home.path().join("chain.jsonl"), home.path().join("head.json"));
    std::fs::write(&file, links.join("\n")).unwrap();
    std::fs::write(&head, chain.as_object().unwrap().get("head").unwrap().to_text()).unwrap();
    drop(server);
    let checked = Command::new(PROOFMARK)
        .args(["receipt", "verify", "--as-chain", "--head"])
        .args([&head, &file])
        .output()
        .unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn work_is_answered_with_its_receipt_which_verifies_after_the_server_is_gone() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let (status, wrong) = server.send(VERIFY, &suite(WRONG));
    assert_eq!((status, text(&json(&wrong), "verdict").as_str()), (200, "fail"));
    let mut stream = server.connect();
    let body = suite(GOOD);
    write!(stream, "{VERIFY}\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    let mut whole = String::new();
    std::io::Read::read_to_string(&mut stream, &mut whole).unwrap();
    let (head, receipt) = whole.split_once("\r\n\r\n").unwrap();
    let header = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next().unwrap()
    };
    assert!(header("access-control-expose-headers").contains("X-VRF-Receipt"));
    let carried = header("x-vrf-receipt");
    drop(server);
    let decoded = Command::new(PROOFMARK).args(["x402", "decode", &carried]).output().unwrap();
    assert_eq!(String::from_utf8(decoded.stdout).unwrap().trim_end(), receipt);
    let file = home.path().join("receipt.json");
    std::fs::write(&file, receipt).unwrap();
    let checked = Command::new(PROOFMARK).args(["receipt", "verify"]).arg(&file).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn jobs_survive_a_kill_and_have_one_receipt_each() {
    let home = Home::new();
    let server = Server::start(&home, &["--jobs", "2"]);
    let slow = "import time\ndef f(x):\n    time.sleep(0.2)\n    return x + 1\n";
    let jobs: BTreeSet<String> = (0..12).map(|_| job(&server, slow)).collect();
    once(&server, jobs.first().unwrap(), "done");
    server.signal("-9");
    drop(server.ended());
    let server = Server::start(&home, &["--jobs", "2"]);
    for id in &jobs {
        once(&server, id, "done");
    }
    let receipts = listed(&server.get("/v1/receipts?limit=1000", "").1, "receipts");
    let ids: BTreeSet<String> = receipts.iter().map(|receipt| text(receipt, "receipt_id")).collect();
    assert_eq!((receipts.len(), ids), (jobs.len(), jobs));
}

#[test]
fn an_approval_is_judged_by_the_policy_that_asked() {
    let home = Home::new();
    let asked = policy_of_own_key(&home);
    let mail = home.path().join("mail.json");
    std::fs::write(&mail, MAIL).unwrap();
    let mut decide = Command::new(PROOFMARK);
    let decided = decide.args(["decide", "--json", "--policy"]).arg(&asked).arg(&mail).envs(home.variables()).output();
    let decided = json(&String::from_utf8(decided.unwrap().stdout).unwrap());
    let path = format!("/v1/reviews/{}", text(&decided, "decision_id"));
    let word = r#"{"verdict": "approve", "note": "read it"}"#;
    // The server has another policy, which asks for something else.
    let server = Server::start(&home, &[]);
    let (status, refused) = server.post(&path, "", word);
    assert_eq!((status, code(&refused).as_str()), (409, "other_policy"), "{}", refused.to_text());
    let page = format!("GET /ui/decisions/{} HTTP/1.1", text(&decided, "decision_id"));
    let (_, shown) = server.send(&page, "");
    assert!(shown.contains("is not in force on this server"), "{shown}");
    drop(server);
    let both = format!("local:mail={}", asked.display());
    let server = Server::start(&home, &["--policy", &both]);
    let (status, approved) = server.post(&path, "", word);
    assert_eq!(status, 200, "{}", approved.to_text());
    assert!(!server.send(&page, "").1.contains("is not in force"));
    // Policies have pages by their names.
    for (address, status) in [("/ui/policy", 200), ("/ui/policy?name=mail", 200), ("/ui/policy?name=none", 404)] {
        assert_eq!(server.send(&format!("GET {address} HTTP/1.1"), "").0, status, "{address}");
    }
}
