//! Receipts over HTTP: listed, brought, checked, redeemed, run again and counted; and the other paths work comes by.

use proofmark_quorum::supersedes;
use proofmark_receipt::{
    Detail, Draft, Hashes, Json, Object, Receipt, Results, Sha256Digest, SigningKey, Status, Task, Timestamp, Verdict,
};
use proofmark_testing::Home;

use crate::client::{GOOD, code, listed, suite, text, verified};
use crate::server::{Server, keys, new_key};

const STEP: &str = include_str!("../../../../examples/accept/workflow.yaml");
pub(crate) const RESPONSE: &str = include_str!("../../../../examples/accept/attempt2.md");
const TRACE: &str = include_str!("../../../../examples/accept/trace2.json");

fn number(json: &Json, name: &str) -> u64 {
    json.as_object().unwrap().get(name).unwrap().to_text().parse().unwrap()
}

/// A receipt of another issuer.
fn foreign() -> String {
    let home = Home::new();
    verified(&Server::start(&home), "").to_text()
}

#[test]
fn receipts_from_elsewhere_are_kept_when_they_verify() {
    let home = Home::new();
    let server = Server::start(&home);
    let good = foreign();
    let bad = good.replace("\"task_id\":\"t\"", "\"task_id\":\"u\"");
    let (status, kept) = server.post("/v1/receipts", "", &good);
    assert_eq!((status, text(&kept, "answer").as_str(), text(&kept, "trust").as_str()), (200, "valid", "untrusted"));
    assert_eq!(server.post("/v1/receipts", "", &good).0, 200);
    let (status, refused) = server.post("/v1/receipts", "", &bad);
    assert_eq!((status, code(&refused).as_str()), (422, "content_hash_mismatch"));
    let (_, many) = server.post("/v1/receipts", "", &format!(r#"{{"receipts": [{good}, {bad}, {{}}]}}"#));
    let kept: Vec<bool> = listed(&many, "results")
        .iter()
        .map(|one| one.as_object().unwrap().get("kept").unwrap().as_bool().unwrap())
        .collect();
    assert_eq!(kept, [true, false, false]);
    let id = text(&Json::parse(good.as_bytes()).unwrap(), "receipt_id");
    assert_eq!(server.send(&format!("GET /v1/receipts/{id} HTTP/1.1"), "").1, good);
    let (_, checked) = server.post("/v1/receipts/verify", "", &bad);
    assert_eq!(text(&checked, "answer"), "invalid");
    let (status, none) = server.post(&format!("/v1/receipts/{id}/recheck"), "", "");
    assert_eq!((status, code(&none).as_str()), (409, "issued_elsewhere"));
    let (_, counted) = server.get("/v1/stats", "");
    assert_eq!(number(&counted, "total"), 0);
    assert_eq!(number(counted.as_object().unwrap().get("left_out").unwrap(), "untrusted"), 1);
}

#[test]
fn a_receipt_that_postgresql_cannot_hold_is_refused_alone() {
    let Some(home) = Home::in_postgres() else { return };
    let server = Server::start(&home);
    let digest = Sha256Digest::of(b"nothing");
    let receipt = |number: u32, task_id: &str| {
        let draft = Draft {
            receipt_id: format!("6f1c1c62-7d1a-4d4e-9c1a-{number:012}").parse().unwrap(),
            verified_at: Timestamp::from_unix_millis(1_790_000_000_000),
            tier: 1,
            verdict: Verdict::Error,
            task: Some(Task { task_id: Some(task_id.to_owned()), ..Task::default() }),
            results: Results::default(),
            hashes: Hashes { specification: digest, output: digest, tests: None },
            metadata: Object::new(),
        };
        draft.sign(&SigningKey::from_seed([66; 32])).unwrap().to_text()
    };
    let (nul, long) = (receipt(1, "a\0b"), receipt(2, &"long".repeat(1_000)));
    let brought = format!(r#"{{"receipts": [{}, {nul}, {long}, {}]}}"#, receipt(3, "t"), receipt(4, "t"));
    let (status, many) = server.post("/v1/receipts", "", &brought);
    assert_eq!(status, 200, "{}", many.to_text());
    let kept: Vec<String> =
        listed(&many, "results").iter().map(|one| one.as_object().unwrap().get("kept").unwrap().to_text()).collect();
    assert_eq!(kept, ["true", "false", "false", "true"]);
    let (status, refused) = server.post("/v1/receipts", "", &nul);
    assert_eq!((status, code(&refused).as_str()), (422, "invalid_text"), "{}", refused.to_text());
}

#[test]
fn a_receipt_is_redeemed_once_however_many_try() {
    let home = Home::new();
    let server = Server::start(&home);
    let path = format!("/v1/receipts/{}/redeem", text(&verified(&server, ""), "receipt_id"));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| server.post(&path, "", "").0)).collect();
        tries.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 7, "{statuses:?}");
}

#[test]
fn only_a_pass_by_a_trusted_signer_is_redeemed_unless_more_is_accepted() {
    let home = Home::new();
    let server = Server::start(&home);
    let redeem = |id: &str, terms: &str| server.post(&format!("/v1/receipts/{id}/redeem"), "", terms);
    let refused = |id: &str, terms: &str| {
        let (status, problem) = redeem(id, terms);
        (status, code(&problem))
    };
    let brought = foreign();
    assert_eq!(server.post("/v1/receipts", "", &brought).0, 200);
    let brought = text(&Json::parse(brought.as_bytes()).unwrap(), "receipt_id");
    assert_eq!(refused(&brought, ""), (422, "untrusted".to_owned()));
    assert_eq!(refused(&brought, r#"{"accept": ["fail"]}"#), (422, "untrusted".to_owned()));
    assert_eq!(refused(&brought, r#"{"accept": ["any"]}"#), (400, "invalid_value".to_owned()));
    let (status, answer) = redeem(&brought, r#"{"accept": ["untrusted"]}"#);
    assert_eq!((status, text(&answer, "trust").as_str()), (200, "untrusted"), "{}", answer.to_text());
    assert_eq!(answer.as_object().unwrap().get("issued_here").unwrap().as_bool(), Some(false));

    let wrong = suite("def f(x):\n    return x\n");
    let failed = text(&server.post("/v1/verifications", "", &wrong).1, "receipt_id");
    assert_eq!(refused(&failed, "{}"), (422, "not_accepted".to_owned()));
    let (status, answer) = redeem(&failed, r#"{"accept": ["partial", "fail"]}"#);
    assert_eq!((status, text(&answer, "verdict").as_str()), (200, "fail"), "{}", answer.to_text());
    assert_eq!(text(&answer, "by"), "local");

    let receipt = verified(&server, "");
    let id = text(&receipt, "receipt_id");
    let hashes = receipt.as_object().unwrap().get("hashes").unwrap();
    for other in ["specification", "tests", "output"] {
        let terms = format!(r#"{{"{other}": "sha256:{}"}}"#, "0".repeat(64));
        assert_eq!(refused(&id, &terms), (422, "other_work".to_owned()));
    }
    assert_eq!(refused(&id, r#"{"task_id": "u"}"#), (422, "other_work".to_owned()));
    let (status, answer) = redeem(&id, &format!(r#"{{"task_id": "t", "tests": "{}"}}"#, text(hashes, "tests")));
    assert_eq!((status, text(&answer, "trust").as_str()), (200, "trusted"), "{}", answer.to_text());
    assert_eq!(answer.as_object().unwrap().get("hashes").unwrap(), hashes);
}

#[test]
fn work_that_is_run_again_is_not_redeemed_again() {
    let home = Home::new();
    let server = Server::start(&home);
    let ids: Vec<String> = (0..2).map(|_| text(&verified(&server, ""), "receipt_id")).collect();
    let redeem = |id: &str| server.post(&format!("/v1/receipts/{id}/redeem"), "", "");
    let recheck = |id: &str| {
        let (status, again) = server.post(&format!("/v1/receipts/{id}/recheck"), "", "");
        assert_eq!((status, text(&again, "supersedes").as_str()), (200, id), "{}", again.to_text());
        text(again.as_object().unwrap().get("receipt").unwrap(), "receipt_id")
    };
    assert_eq!(redeem(&ids[0]).0, 200);
    let newer = recheck(&ids[0]);
    let (status, problem) = redeem(&newer);
    assert_eq!((status, code(&problem).as_str()), (409, "already_redeemed"));
    let newer = recheck(&ids[1]);
    let (status, problem) = redeem(&ids[1]);
    assert_eq!((status, code(&problem).as_str()), (409, "already_superseded"));
    assert!(text(&problem, "detail").contains(&newer), "{}", problem.to_text());
    assert_eq!(redeem(&newer).0, 200);
}

#[test]
fn work_is_run_again_and_the_newer_receipt_supersedes_the_older() {
    let home = Home::new();
    let server = Server::start(&home);
    let old = text(&verified(&server, ""), "receipt_id");
    let (status, again) = server.post(&format!("/v1/receipts/{old}/recheck"), "", "");
    assert_eq!(status, 200, "{}", again.to_text());
    assert!(again.as_object().unwrap().get("same").unwrap().as_bool().unwrap(), "{}", again.to_text());
    let newer = again.as_object().unwrap().get("receipt").unwrap();
    let new = text(newer, "receipt_id");
    let read = |document: &Json| Receipt::parse(document.to_text().as_bytes()).unwrap();
    let older = read(&server.get(&format!("/v1/receipts/{old}"), "").1);
    assert_eq!(supersedes::check(&read(newer), &older), Ok(()));
    let listed = listed(&server.get("/v1/receipts", "").1, "receipts");
    let older = listed.iter().find(|kept| text(kept, "receipt_id") == old).unwrap();
    assert_eq!(text(older, "superseded_by"), new);
    assert_eq!(number(&server.get("/v1/stats", "").1, "total"), 1);
    assert_eq!(server.get(&format!("/v1/receipts/{old}"), "").0, 200);
    let (status, twice) = server.post(&format!("/v1/receipts/{old}/recheck"), "", "");
    assert_eq!((status, code(&twice).as_str()), (409, "already_superseded"));
}

#[test]
fn a_copy_of_anothers_receipt_uses_up_nothing_of_it() {
    let home = Home::new();
    let (one, first) = new_key("a", "agent", "one.x");
    let (two, second) = new_key("b", "agent", "two.x");
    let file = keys(&[&first, &second]);
    let server = Server::with_keys(&home, &file);
    let receipt = verified(&server, &one);
    let id = text(&receipt, "receipt_id");
    let attempt = step(RESPONSE).replacen('{', &format!(r#"{{"receipts": [{}], "#, receipt.to_text()), 1);
    // Presenting a copy of it uses up nothing of its owner's.
    assert_eq!(server.post("/v1/steps/r1/implement/attempts", &two, &attempt).0, 200);
    assert_eq!(server.post("/v1/steps/r1/implement/attempts", &one, &attempt).0, 200);
    assert_eq!(server.post(&format!("/v1/receipts/{id}/redeem"), &one, "").0, 200);
}

#[test]
fn names_of_runs_and_steps_do_not_reach_other_tenants() {
    let home = Home::new();
    let (outer, first) = new_key("a", "agent", "acme");
    let (inner, second) = new_key("b", "agent", "acme.support");
    let file = keys(&[&first, &second]);
    let server = Server::with_keys(&home, &file);
    assert_eq!(server.post("/v1/steps/x/implement/attempts", &inner, &step(RESPONSE)).0, 200);
    assert_eq!(server.get("/v1/steps/support%2Fx/implement", &outer).0, 422);
    assert_eq!(server.get("/v1/steps/support/x%2Fimplement", &outer).0, 400);
    assert_eq!(server.get("/v1/steps/x/implement", &inner).0, 200);
}

#[test]
fn tenants_do_not_see_each_others_receipts_and_steps() {
    let home = Home::new();
    let (one, first) = new_key("a", "agent", "one.x");
    let (two, second) = new_key("b", "agent", "two.x");
    let file = keys(&[&first, &second]);
    let server = Server::with_keys(&home, &file);
    let id = text(&verified(&server, &one), "receipt_id");
    for path in [format!("/v1/receipts/{id}"), format!("/v1/receipts/{id}/chain"), format!("/v1/acp/evaluations/{id}")]
    {
        assert_eq!((server.get(&path, &one).0, server.get(&path, &two).0), (200, 404), "{path}");
    }
    assert_eq!(server.post(&format!("/v1/receipts/{id}/redeem"), &two, "").0, 404);
    assert!(listed(&server.get("/v1/receipts", &two).1, "receipts").is_empty());
    assert_eq!(number(&server.get("/v1/stats?chain=verifications", &two).1, "total"), 0);
    let attempt = step(RESPONSE);
    for key in [&one, &two] {
        assert_eq!(server.post("/v1/steps/r1/implement/attempts", key, &attempt).0, 200);
    }
    assert_eq!(listed(&server.get("/v1/steps/r1/implement", &two).1, "receipts").len(), 1);
}

pub(crate) fn step(response: &str) -> String {
    let (workflow, response) = (Json::from(STEP).to_text(), Json::from(response).to_text());
    format!(r#"{{"workflow": {workflow}, "response": {response}, "trace": {TRACE}, "attempt": 1}}"#)
}

#[test]
fn of_two_attempts_that_race_one_is_accepted() {
    let home = Home::new();
    let server = Server::start(&home);
    let answers: Vec<(u16, Json)> = std::thread::scope(|scope| {
        let ask = || scope.spawn(|| server.post("/v1/steps/r1/implement/attempts", "", &step(RESPONSE)));
        let tries: Vec<_> = (0..6).map(|_| ask()).collect();
        tries.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let accepted: Vec<_> = answers.iter().filter(|(status, _)| *status == 200).collect();
    assert_eq!(accepted.len(), 1, "{answers:?}");
    assert_eq!(text(&accepted[0].1, "state"), "accepted");
    assert!(answers.iter().all(|(status, _)| [200, 409].contains(status)), "{answers:?}");
    let (_, run) = server.get("/v1/steps/r1/implement", "");
    assert_eq!(listed(&run, "receipts").len(), 1);
    assert_eq!(server.post("/v1/steps/r1/nowhere/attempts", "", &step(RESPONSE)).0, 422);
    assert_eq!(server.get("/v1/steps/r2/implement", "").0, 404);
}

#[test]
fn an_attempt_without_the_trace_that_its_step_needs_is_refused_and_costs_nothing() {
    let home = Home::new();
    let server = Server::start(&home);
    let without = step(RESPONSE).replace(&format!(r#""trace": {TRACE}, "#), "");
    for _ in 0..4 {
        let (status, problem) = server.post("/v1/steps/r1/implement/attempts", "", &without);
        assert_eq!(status, 422, "{}", problem.to_text());
        assert!(text(&problem, "help").contains("`trace`"), "{}", problem.to_text());
    }
    assert_eq!(server.get("/v1/steps/r1/implement", "").0, 404);
    assert_eq!(server.post("/v1/steps/r1/implement/attempts", "", &step(RESPONSE)).0, 200);
}

#[test]
fn clients_of_the_reference_server_are_understood() {
    let home = Home::new();
    let server = Server::start(&home);
    let request = r#"{"task_id": "test-001", "task_type": "code_generation", "tier": 0, "specification": {"description": "Sort"},
        "output": {"content": "def sort_list(lst): return sorted(lst)"}, "verification": {"kind": "test_suite",
        "test_suite": {"tests": [{"name": "basic", "input": "sort_list([3,1,2])", "expected_output": "[1,2,3]"}]}}}"#;
    let (status, receipt) = server.post("/verify", "", request);
    assert_eq!((status, text(&receipt, "verdict").as_str()), (200, "pass"), "{}", receipt.to_text());
    let id = text(&receipt, "receipt_id");
    assert_eq!(server.get(&format!("/receipt/{id}"), "").1, receipt);
    assert_eq!(server.get("/receipt/nonexistent", "").0, 404);
    let schema = r#"{"output": {"content": "{\"data\": [1, 2], \"count\": 5}"},
        "schema": {"type": "object", "required": ["data", "count"]},
        "constraints": [{"expr": "size(output.data) == output.count", "name": "count_matches"}]}"#;
    let (status, checked) = server.post("/verify/schema", "", schema);
    assert_eq!((status, number(&checked, "tier")), (200, 1), "{}", checked.to_text());
    assert_eq!(number(checked.as_object().unwrap().get("results").unwrap(), "failed"), 1);
    let valid = |body: &str| {
        let (_, answer) = server.post("/receipt/verify", "", body);
        answer.as_object().unwrap().get("valid").unwrap().as_bool().unwrap()
    };
    assert!(valid(&format!(r#"{{"receipt": {}}}"#, receipt.to_text())));
    assert!(!valid(&receipt.to_text().replace("\"pass\"", "\"fail\"")));
    assert_eq!(text(&server.get("/health", "").1, "vrf_version"), "1.0");
}

#[test]
fn a_job_of_agent_commerce_is_evaluated() {
    let home = Home::new();
    let server = Server::start(&home);
    let job = r#"{"job_id": 7, "requirements": {"name": "sorting", "clawbizarre_verification": {"tier": 0, "language": "python",
        "tests": [{"name": "a", "input": "f(1)", "expected": "2"}, {"name": "b", "input": "f(2)", "expected": "9"}]}},
        "deliverable": "def f(x): return x + 1"}"#;
    let (status, evaluation) = server.post("/v1/acp/evaluations", "", job);
    assert_eq!(status, 200, "{}", evaluation.to_text());
    let object = evaluation.as_object().unwrap();
    assert_eq!(object.get("approved").unwrap().as_bool(), Some(false));
    assert_eq!(object.get("score").unwrap().to_text(), "0.5");
    let id = text(object.get("metadata").unwrap(), "vrf_receipt_id");
    assert_eq!(server.get(&format!("/v1/acp/evaluations/{id}"), "").1, evaluation);
}

/// A `pass` over nothing anybody asked for, signed by a stranger, under an id of the forger's choice.
fn forged(id: &str) -> String {
    let digest = Sha256Digest::of(b"anything");
    let details = vec![Detail::new("a", Status::Pass)];
    let draft = Draft {
        receipt_id: id.parse().unwrap(),
        verified_at: "2026-02-19T00:46:00Z".parse().unwrap(),
        tier: 0,
        verdict: Verdict::Pass,
        task: None,
        results: Results::from_details(details),
        hashes: Hashes { specification: digest, output: digest, tests: Some(digest) },
        metadata: Object::new(),
    };
    draft.sign(&SigningKey::from_seed([9; 32])).unwrap().to_text()
}

/// A job whose tests want `f(1)` to be 2.
fn acp_job(deliverable: &str) -> String {
    let deliverable = Json::from(deliverable).to_text();
    format!(
        r#"{{"job_id": 7, "requirements": {{"verification": {{"kind": "test_suite", "language": "python", "mode": "expression",
        "limits": {{"timeout_ms": 60000}}, "tests": [{{"name": "a", "input": "f(1)", "expected_output": "2"}}]}}}},
        "deliverable": {deliverable}}}"#
    )
}

/// What is answered about a receipt: `approved`, and why not.
fn evaluated(server: &Server, path: &str) -> (Option<bool>, String, Json) {
    let (status, evaluation) = server.get(&format!("/v1/acp/evaluations/{path}"), "");
    assert_eq!(status, 200, "{}", evaluation.to_text());
    let object = evaluation.as_object().unwrap();
    let approved = object.get("approved").unwrap().as_bool();
    let why = object.get("why").and_then(Json::as_str).unwrap_or_default().to_owned();
    for name in ["score", "reason", "reason_bytes32"] {
        assert_eq!(object.get(name).unwrap().is_null(), approved.is_none(), "{}", evaluation.to_text());
    }
    (approved, why, evaluation)
}

#[test]
fn a_forged_pass_under_the_id_of_a_running_job_approves_nothing() {
    let home = Home::new();
    let server = Server::start(&home);
    let slow = acp_job("import time\ntime.sleep(5)\ndef f(x): return x + 2\n");
    let (status, job) = server.send("POST /v1/acp/evaluations HTTP/1.1\r\nprefer: respond-async", &slow);
    assert_eq!(status, 202, "{job}");
    let id = text(&Json::parse(job.as_bytes()).unwrap(), "job_id");
    let (status, kept) = server.post("/v1/receipts", "", &forged(&id));
    assert_eq!((status, text(&kept, "trust").as_str()), (200, "untrusted"), "{}", kept.to_text());
    let (approved, why, evaluation) = evaluated(&server, &id);
    assert_eq!(approved, None, "{}", evaluation.to_text());
    assert!(why.contains("issued elsewhere"), "{why}");
    assert_eq!(evaluation.as_object().unwrap().get("issued_here").unwrap().as_bool(), Some(false));
    while text(&server.get(&format!("/v1/jobs/{id}"), "").1, "state") != "done" {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let (approved, _, evaluation) = evaluated(&server, &id);
    assert_eq!(approved, Some(false), "{}", evaluation.to_text());
    assert_eq!(text(&evaluation, "trust"), "trusted");
}

#[test]
fn an_evaluation_is_of_the_jobs_own_request_and_stands_for_itself() {
    let home = Home::new();
    let server = Server::start(&home);
    // The buyer's requirements, and tests that somebody else chose.
    let trivial = r#"{"specification": {"verification": {"kind": "test_suite", "language": "python", "tests":
        [{"name": "a", "input": "f(1)", "expected_output": "2"}]}}, "output": {"content": "x = 1"}, "verification":
        {"kind": "test_suite", "language": "python", "mode": "expression", "tests": [{"name": "a", "input": "1", "expected_output": "1"}]}}"#;
    let (status, receipt) = server.post("/v1/verifications", "", trivial);
    assert_eq!((status, text(&receipt, "verdict").as_str()), (200, "pass"), "{}", receipt.to_text());
    let (approved, why, _) = evaluated(&server, &text(&receipt, "receipt_id"));
    assert!(approved.is_none() && why.contains("not those of its requirements"), "{why}");

    let (status, evaluation) = server.post("/v1/acp/evaluations", "", &acp_job("def f(x): return x + 1\n"));
    assert_eq!(status, 200, "{}", evaluation.to_text());
    let receipt = evaluation.as_object().unwrap().get("receipt").unwrap();
    let (id, hashes) = (text(receipt, "receipt_id"), receipt.as_object().unwrap().get("hashes").unwrap());
    let wanted =
        format!("{id}?job_id=7&specification={}&output={}", text(hashes, "specification"), text(hashes, "output"));
    assert_eq!(evaluated(&server, &wanted).0, Some(true));
    let zeros = format!("sha256:{}", "0".repeat(64));
    for other in ["job_id=8", &format!("specification={zeros}"), &format!("tests={zeros}"), &format!("output={zeros}")]
    {
        let (approved, why, _) = evaluated(&server, &format!("{id}?{other}"));
        assert!(approved.is_none() && why.contains("not the one asked for"), "{other}: {why}");
    }
    assert_eq!(server.get(&format!("/v1/acp/evaluations/{id}?tests=all"), "").0, 400);

    let (status, again) = server.post(&format!("/v1/receipts/{id}/recheck"), "", "");
    assert_eq!(status, 200, "{}", again.to_text());
    let newer = text(again.as_object().unwrap().get("receipt").unwrap(), "receipt_id");
    let (approved, why, evaluation) = evaluated(&server, &id);
    assert!(approved.is_none() && why.contains(&newer), "{why}");
    assert_eq!(text(&evaluation, "superseded_by"), newer);
    assert_eq!(evaluated(&server, &newer).0, Some(true));
}

#[test]
fn the_request_that_a_receipt_answers_is_shown_to_admins_of_its_tenant_as_it_was_sent() {
    let home = Home::new();
    let (one, first) = new_key("a", "admin", "one.x");
    let (two, second) = new_key("b", "admin", "two.x");
    let (agent, third) = new_key("c", "agent", "one.x");
    let server = Server::with_keys(&home, &keys(&[&first, &second, &third]));
    let id = text(&verified(&server, &agent), "receipt_id");
    let request = |key: &str, id: &str| {
        server.send(&format!("GET /v1/receipts/{id}/request HTTP/1.1\r\nauthorization: Bearer {key}"), "")
    };
    assert_eq!(request(&one, &id), (200, suite(GOOD)));
    assert_eq!(request(&two, &id).0, 404);
    assert_eq!(request("", &id).0, 401);
    assert_eq!(request(&agent, &id).0, 403, "it could read hidden tests");
    let brought = foreign();
    assert_eq!(server.post("/v1/receipts", &one, &brought).0, 200);
    let brought = text(&Json::parse(brought.as_bytes()).unwrap(), "receipt_id");
    assert_eq!(request(&one, &brought).0, 404, "it came without a request");
    assert_eq!(request(&one, "none").0, 404);
}
