//! Many jobs, servers, workers and tenants.

use std::collections::BTreeSet;

use proofmark_receipt::Json;
use proofmark_store::Filter;

use crate::client::{AS_JOB, Client, GOOD, VERIFY, job, json, listed, once, suite, text};
use crate::fleet::{ENDLESS, Fleet, quick, slow};
use crate::server::{keys_file, new_key};

fn submit(server: &Client, request: &str) -> String {
    let (status, answer) = server.send(AS_JOB, request);
    assert_eq!(status, 202, "{answer}");
    text(&json(&answer), "job_id")
}

pub(crate) fn two_workers_end_every_job_once(fleet: &Fleet) {
    let front = fleet.front(&[]);
    let workers = [(); 2].map(|()| fleet.admitted(&["--jobs", "2"]));
    let ids: Vec<String> = (0..24)
        .map(|number| submit(&front, &if number % 3 == 0 { quick(&number.to_string()) } else { suite(&slow(1)) }))
        .collect();
    for id in &ids {
        let done = once(&front, id, "done");
        assert_eq!(text(done.as_object().unwrap().get("receipt").unwrap(), "receipt_id"), *id);
    }
    assert_eq!(fleet.receipts(), ids.len());
    let ended: Vec<String> = workers
        .into_iter()
        .map(|worker| {
            worker.signal("-TERM");
            let (status, log) = worker.ended();
            assert_eq!(status.code(), Some(0), "{log}");
            log
        })
        .collect();
    for id in &ids {
        let claims: usize = ended
            .iter()
            .map(|log| log.lines().filter(|line| line.contains(id) && line.contains("claimed job=")).count())
            .sum();
        assert_eq!(claims, 1, "{id}: {ended:?}");
    }
    assert!(ended.iter().all(|log| log.contains("claimed job=")), "one worker had nothing to do: {ended:?}");
    // What two processes signed is one chain, which anyone can check with the server's key.
    let (_, keys) = front.send("GET /.well-known/jwks.json HTTP/1.1", "");
    let keys = fleet.file("jwks.json", &keys);
    let (_, chain) = front.send(&format!("GET /v1/receipts/{}/chain HTTP/1.1", ids[0]), "");
    let receipts: Vec<String> = listed(&json(&chain), "receipts").iter().map(Json::to_text).collect();
    assert_eq!(receipts.len(), ids.len());
    let head = json(&chain).as_object().unwrap().get("head").unwrap().to_text();
    let (chain, head) = (fleet.file("chain.jsonl", &receipts.join("\n")), fleet.file("head.json", &head));
    let (code, said) = fleet.run(&["receipt", "verify", &chain, "--as-chain", "--head", &head, "--trust", &keys]);
    assert_eq!(code, Some(0), "{said}");
}

pub(crate) fn a_client_that_waits_gets_its_receipt_and_a_long_one_becomes_a_job(fleet: &Fleet) {
    let front = fleet.front(&[]);
    let _worker = fleet.admitted(&["--jobs", "1"]);
    for request in [suite(GOOD), quick("x")] {
        let (status, receipt) = front.send(VERIFY, &request);
        assert_eq!((status, text(&json(&receipt), "verdict").as_str()), (200, "pass"), "{receipt}");
    }
    let patient = "POST /v1/verifications HTTP/1.1\r\nprefer: wait=3";
    let (status, late) = front.send(patient, &suite(&slow(8)));
    assert_eq!(status, 202, "{late}");
    let id = text(&json(&late), "job_id");
    assert_eq!(text(&json(&late), "state"), "running");
    once(&front, &id, "done");
    assert_eq!(fleet.receipts(), 3);
}

pub(crate) fn servers_share_idempotency_keys_and_cancel_for_each_other(fleet: &Fleet) {
    let fronts = [(); 2].map(|()| fleet.front(&[]));
    let worker = fleet.admitted(&["--jobs", "1"]);
    let keyed = "POST /v1/verifications HTTP/1.1\r\nprefer: respond-async\r\nidempotency-key: k";
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let send = |front| scope.spawn(move || Client::send(front, keyed, &suite(ENDLESS)));
        let threads: Vec<_> = fronts.iter().chain(&fronts).map(|front| send(front)).collect();
        let answers = threads.into_iter().map(|thread| thread.join().unwrap());
        answers
            .map(|(status, job)| {
                assert_eq!(status, 202, "{job}");
                text(&json(&job), "job_id")
            })
            .collect()
    });
    let [id] = ids.iter().collect::<Vec<_>>()[..] else { panic!("{ids:?}") };
    let (status, other) = fronts[1].send(keyed, &suite(GOOD));
    assert_eq!(status, 422, "{other}");

    once(&fronts[1], id, "running");
    let (status, cancelled) = fronts[1].send(&format!("DELETE /v1/jobs/{id} HTTP/1.1"), "");
    assert_eq!((status, text(&json(&cancelled), "state").as_str()), (200, "cancelled"), "{cancelled}");
    // The worker ended it, and not the end of its lease.
    worker.said("state=\"cancelled\"");
    let (status, again) = fronts[0].send(&format!("DELETE /v1/jobs/{id} HTTP/1.1"), "");
    assert_eq!(status, 409, "{again}");
    // The worker is free again.
    once(&fronts[0], &job(&fronts[0], GOOD), "done");
    assert_eq!(fleet.receipts(), 1);
}

pub(crate) fn tenants_take_turns_on_all_servers(fleet: &Fleet) {
    let made: Vec<(String, String)> = ["a", "b"].iter().map(|tenant| new_key("k", "agent", tenant)).collect();
    let entries: Vec<&str> = made.iter().map(|(_, entry)| entry.as_str()).collect();
    let keys = keys_file(fleet.home.path(), &entries);
    let fronts = [(); 2].map(|()| fleet.front(&["--api-keys", &keys]));
    let as_job = |server: &Client, key: &str, request: &str| {
        let (status, job) = server.send(&format!("{AS_JOB}\r\nauthorization: Bearer {key}"), request);
        assert_eq!(status, 202, "{job}");
        text(&json(&job), "job_id")
    };
    let of_a: Vec<String> = (0..6).map(|_| as_job(&fronts[0], &made[0].0, &suite(GOOD))).collect();
    let of_b = as_job(&fronts[1], &made[1].0, &suite(GOOD));
    let (status, _) = fronts[0].get(&format!("/v1/jobs/{of_b}"), &made[0].0);
    assert_eq!(status, 404, "another tenant's job");
    let _worker = fleet.admitted(&["--jobs", "1"]);
    let store = fleet.opened();
    let mut order: Vec<String> = Vec::new();
    for _ in 0..600 {
        let page = store.all_tenants_receipts(&Filter::default()).unwrap();
        order = page.receipts.iter().rev().map(|stored| stored.receipt.receipt_id().to_string()).collect();
        if order.len() == 7 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(order.len(), 7);
    assert!(order.iter().position(|id| *id == of_b).unwrap() <= 1, "{of_a:?} {of_b} {order:?}");
}
