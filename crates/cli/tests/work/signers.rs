//! Whose receipts a server takes, and what servers and workers say of each other.

use std::process::Command;

use proofmark_receipt::Json;
use tempfile::TempDir;

use crate::client::{Client, GOOD, NOTE, job, json, listed, once, text};
use crate::fleet::Fleet;
use crate::server::{PROOFMARK, Server, serve_by};

/// The file of the servers' public key, which a worker with a key of its own has to know.
fn servers_key(fleet: &Fleet) -> String {
    let (code, key) = fleet.run(&["key", "show", "--as", "pem"]);
    assert_eq!(code, Some(0), "{key}");
    fleet.file("server.pem", &key)
}

/// What a command prints that succeeds at this home.
fn printed(home: &TempDir, arguments: &[&str]) -> String {
    let done = Command::new(PROOFMARK).args(arguments).env("PROOFMARK_HOME", home.path()).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

fn public_key(fleet: &Fleet, home: &TempDir) -> String {
    printed(home, &["key", "new", "default"]);
    fleet.file("worker.pem", &printed(home, &["key", "show", "--as", "pem"]))
}

pub(crate) fn a_worker_with_a_key_of_its_own_works_once_the_server_names_it(fleet: &Fleet) {
    let home = TempDir::new().unwrap();
    let key = public_key(fleet, &home);
    let front = fleet.front(&[]);
    let id = job(&front, GOOD);
    let worker = fleet.worker_of(home.path(), &["--jobs", "1", "--server-key", &servers_key(fleet)]);
    worker.said("no jobs are claimed");
    front.said("a worker gets no jobs");
    front.until(|status| status.contains("no_workers"));
    assert_eq!(text(&once(&front, &id, "waiting"), "state"), "waiting");
    front.signal("-TERM");
    assert_eq!(front.ended().0, Some(0));

    let front = fleet.front(&["--trust-worker", &key]);
    once(&front, &id, "done");
    worker.said(": jobs are claimed");
    front.until(|status| !status.contains("no_workers") && status.contains("\"workers\":1"));
    let (_, keys) = front.send("GET /.well-known/jwks.json HTTP/1.1", "");
    assert_eq!(listed(&json(&keys), "keys").len(), 2);
    let keys = fleet.file("jwks.json", &keys);
    let (_, receipt) = front.send(&format!("GET /v1/receipts/{id} HTTP/1.1"), "");
    let file = fleet.file("receipt.json", &receipt);
    let (code, said) = fleet.run(&["receipt", "verify", &file, "--trust", &keys]);
    assert_eq!(code, Some(0), "{said}");
    // It is the worker's signature, not the server's.
    let (code, said) = fleet.run(&["receipt", "verify", &file, "--trust", &key]);
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = fleet.run(&["receipt", "verify", &file, "--trust", "default"]);
    assert_eq!(code, Some(1), "{said}");
    // It counts as evidence, as one of the server's own does.
    let (status, redeemed) = front.post(&format!("/v1/receipts/{id}/redeem"), "", "{}");
    assert_eq!(status, 200, "{}", redeemed.to_text());
}

pub(crate) fn a_server_says_that_no_worker_lives_and_a_worker_shows_its_figures(fleet: &Fleet) {
    let front = fleet.front(&[]);
    front.said("no worker lives");
    let id = job(&front, GOOD);
    let figures = |server: &Client| server.send("GET /metrics HTTP/1.1", "").1;
    let has = |figures: &str, line: &str| assert!(figures.lines().any(|one| one == line), "{line}: {figures}");
    let before = figures(&front);
    has(&before, "proofmark_jobs_waiting 1");
    has(&before, "proofmark_workers 0");
    assert!(before.contains("proofmark_oldest_waiting_job_seconds"), "{before}");
    let worker = fleet.admitted(&["--listen", "127.0.0.1:0", "--languages", "py,bash"]);
    once(&front, &id, "done");
    front.said("workers run the verifications");
    for server in [&*front, &Client { address: worker.address() }] {
        let after = figures(server);
        has(&after, "proofmark_jobs_waiting 0");
        has(&after, "proofmark_workers 1");
    }
    let at_worker = Client { address: worker.address() };
    assert_eq!(at_worker.send("GET /healthz HTTP/1.1", "").0, 200);
    assert_eq!(at_worker.send("GET /v1/receipts HTTP/1.1", "").0, 404);
    assert_eq!(at_worker.send("GET /metrics HTTP/1.1\r\norigin: https://evil.example", "").0, 403);
    let (_, health) = front.send("GET /health HTTP/1.1", "");
    assert_eq!(listed(&json(&health), "languages"), [Json::from("python"), Json::from("bash")]);

    let (code, said) = fleet.run(&["doctor", "--store", &fleet.store, "--json"]);
    assert_eq!(code, Some(0), "{said}");
    // Beside a warning of the password in the name of the store.
    let printed = said.lines().find(|line| line.starts_with('{')).unwrap();
    let seen = listed(&json(printed), "workers");
    assert_eq!(seen.len(), 2, "{said}");
    let runs = |worker: &Json| worker.as_object().unwrap().contains("runs");
    assert_eq!(seen.iter().filter(|worker| runs(worker)).count(), 1);
    let (_, said) = fleet.run(&["doctor", "--store", &fleet.store]);
    assert!(said.contains("processes that share the store") && said.contains("runs bash"), "{said}");
    // It runs no JavaScript, so that waits for another worker.
    let node = r#"{"output": {"content": "f = x => x"}, "verification": {"kind": "test_suite", "language": "javascript",
        "entrypoint": "f", "tests": [{"name": "one", "input": [1], "expected_output": 1}]}}"#;
    let (status, node) = front.send(crate::client::AS_JOB, node);
    assert_eq!(status, 202, "{node}");
    once(&front, &job(&front, GOOD), "done");
    let lacking = "no worker lives that runs javascript";
    front.said(lacking);
    let waits = once(&front, &text(&json(&node), "job_id"), "waiting");
    assert_eq!(text(&waits, "lacking"), lacking);
    front.until(|status| status.contains("\"unrunnable\":1"));
    has(&figures(&front), "proofmark_jobs_unrunnable 1");
    let of_store = figures(&Client { address: worker.address() });
    for figure in
        ["proofmark_store_groups_total{outcome=\"stored\"} ", "proofmark_store_group_size_bucket{le=\"500\"} "]
    {
        assert!(of_store.contains(figure), "{figure}: {of_store}");
    }
    let of_engine =
        if fleet.is_database() { "proofmark_store_oldest_snapshot_seconds" } else { "proofmark_store_log_bytes" };
    assert!(of_store.contains(of_engine), "{of_store}");
}

#[test]
fn a_worker_that_cannot_work_says_so() {
    let fleet = Fleet::in_file();
    for (arguments, wanted) in [
        (vec!["work", "--languages", "cobol"], "invalid value"),
        (vec!["work", "--store", "/proc/none/store.db"], "failed to"),
        (vec!["serve", "--no-verify", "--jobs", "2"], "cannot be used with"),
        (vec!["serve", "--trust-worker", "default"], "--no-verify"),
        (vec!["serve", "--no-verify", "--trust-worker", "nobody", "--check"], "nobody"),
    ] {
        let (code, said) = fleet.run(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{arguments:?}: {said}");
    }
}

#[test]
fn the_key_of_a_worker_is_taken_while_the_server_runs_and_a_bad_file_changes_nothing() {
    let fleet = Fleet::in_file();
    let (home, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let key = std::fs::read_to_string(public_key(&fleet, &home)).unwrap();
    let stranger = std::fs::read_to_string(public_key(&fleet, &other)).unwrap();
    let file = fleet.file("taken.pem", &stranger);
    let front = fleet.front(&["--trust-worker", &file]);
    let id = job(&front, GOOD);
    let worker = fleet.worker_of(home.path(), &["--jobs", "1", "--server-key", &servers_key(&fleet)]);
    worker.said("no jobs are claimed");
    fleet.file("taken.pem", "no key");
    front.until(|status| status.contains(r#""stale":["signers"]"#));
    let keys = |front: &Client| front.send("GET /.well-known/jwks.json HTTP/1.1", "").1;
    assert_eq!(listed(&json(&keys(&front)), "keys").len(), 2);
    fleet.file("taken.pem", &key);
    worker.said(": jobs are claimed");
    once(&front, &id, "done");
    // The other one is not taken any more.
    let (_, receipt) = front.send(&format!("GET /v1/receipts/{id} HTTP/1.1"), "");
    let (code, said) = fleet.run(&[
        "receipt",
        "verify",
        &fleet.file("r.json", &receipt),
        "--trust",
        &fleet.file("jwks.json", &keys(&front)),
    ]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(listed(&json(&keys(&front)), "keys").len(), 2);
}

#[test]
fn a_worker_runs_only_what_a_server_that_it_knows_has_signed() {
    let fleet = Fleet::in_file();
    let home = TempDir::new().unwrap();
    let key = public_key(&fleet, &home);
    let front = fleet.front(&["--trust-worker", &key]);
    let worker = fleet.worker_of(home.path(), &["--jobs", "1"]);
    worker.said("name it with `--server-key`");
    let (id, kept) = (job(&front, GOOD), job(&front, GOOD));
    assert_eq!(text(&once(&front, &id, "waiting"), "state"), "waiting");
    worker.kill();
    // Who can write to the store has other work judged for the job.
    let hex = id.replace('-', "");
    fleet.sql(&format!("UPDATE jobs SET request = replace(request, 'x + 1', 'x - 1') WHERE job_id = x'{hex}'"));
    let (code, said) = fleet.run(&["store", "check", "--store", &fleet.store]);
    assert!(code == Some(1) && said.contains("its request in the store is not what the server accepted"), "{said}");
    let worker = fleet.worker_of(home.path(), &["--jobs", "1", "--server-key", &servers_key(&fleet)]);
    let failed = once(&front, &id, "failed");
    assert!(text(&failed, "error").contains("its request in the store is not what the server accepted"), "{failed:?}");
    once(&front, &kept, "done");
    drop(worker);
}

#[test]
fn a_worker_is_no_reviewer_whatever_the_policy_lists() {
    let fleet = Fleet::in_file();
    let [home, ann] = [(); 2].map(|()| TempDir::new().unwrap());
    fleet.run(&["key", "new"]);
    let (key, server) = (public_key(&fleet, &home), servers_key(&fleet));
    printed(&ann, &["key", "new", "default"]);
    let listed = [&home, &ann].map(|home| printed(home, &["key", "show", "--as", "signer-id"]).trim().to_owned());
    let policy = fleet.file(
        "four-eyes.yaml",
        &format!(
            "version: 1\nboundaries:\n  - id: b\n    match: {{}}\n    require: [{{approval: {{role: lead, count: 2}}}}]\nroles: {{lead: ['{}', '{}']}}\n",
            listed[0], listed[1]
        ),
    );
    let front = |more: &[&str]| {
        let options = [&["--no-verify", "--store", &fleet.store], more].concat();
        Server::begin(serve_by(policy.as_ref(), &fleet.home, &options))
    };
    let ask = |front: &Server| front.post("/v1/decisions", "", NOTE).1;
    let server_of_worker = front(&["--trust-worker", &key]);
    let asked = text(&ask(&server_of_worker), "decision_id");
    let trust = format!("decision={server}");
    let approve = [
        "decision",
        "approve",
        "--yes",
        &asked,
        "--store",
        &fleet.store,
        "--trust",
        &trust,
        "--key",
        "default",
        "--note",
        "fine",
    ];
    for home in [&home, &ann] {
        printed(home, &approve);
    }
    let refused = ask(&server_of_worker).to_text();
    assert!(!refused.contains(r#""outcome":"allow""#) && refused.contains("signer_not_trusted"), "{refused}");
    drop(server_of_worker);
    // To a server that knows the key as nobody's, it is what the policy says.
    let allowed = ask(&front(&[])).to_text();
    assert!(allowed.contains(r#""outcome":"allow""#), "{allowed}");
}
