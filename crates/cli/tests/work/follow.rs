//! Jobs that one server accepted, another is asked about, and a worker runs.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use proofmark_receipt::Json;

use crate::client::{AS_JOB, Client, VERIFY, job, json, once, text, write_request};
use crate::fleet::{ENDLESS, Fleet, PATIENCE, quick};

/// Five cases, each of which takes a second and a half.
fn slow_steps() -> String {
    let case = |number: u32| format!(r#"{{"name": "{number}", "input": [{number}], "expected_output": {number}}}"#);
    let cases: Vec<String> = (0..5).map(case).collect();
    let source = Json::from("import time\ndef f(x):\n    time.sleep(1.5)\n    return x\n").to_text();
    format!(
        r#"{{"output": {{"content": {source}}}, "verification": {{"kind": "test_suite", "language": "python", "entrypoint": "f",
        "limits": {{"timeout_ms": 60000}}, "tests": [{}]}}}}"#,
        cases.join(", ")
    )
}

/// The events of a job until the stream ends, each with when it came.
fn events(server: &Client, id: &str) -> Vec<(Instant, Json)> {
    let mut stream = server.connect();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write_request(&mut stream, &format!("GET /v1/jobs/{id}/events HTTP/1.1"), b"").unwrap();
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    lines.filter_map(|line| Some((Instant::now(), json(line.strip_prefix("data: ")?)))).collect()
}

pub(crate) fn events_come_from_any_server_while_a_worker_runs_the_job(fleet: &Fleet) {
    let fronts = [(); 2].map(|()| fleet.front(&[]));
    let _worker = fleet.admitted(&["--jobs", "1"]);
    let done =
        |event: &Json| event.as_object().unwrap().get("checks").unwrap().as_object().unwrap().get("done").cloned();
    let followed = |_| {
        let (status, answer) = fronts[0].send(AS_JOB, &slow_steps());
        assert_eq!(status, 202, "{answer}");
        let id = text(&json(&answer), "job_id");
        let seen = events(&fronts[1], &id);
        let mut steps: Vec<String> = seen.iter().map(|(_, event)| done(event).unwrap().to_text()).collect();
        steps.dedup();
        (id, seen, steps.len())
    };
    // It says how far it is once a second, and each case takes longer. Where a commit takes seconds, the next job shows it.
    let (id, seen, steps) = (0..3).map(followed).find(|(_, _, steps)| *steps >= 4).unwrap();
    assert!(steps <= 6, "{seen:?}");
    let states: Vec<String> = seen.iter().map(|(_, event)| text(event, "state")).collect();
    assert!(states.contains(&"running".to_owned()), "{states:?}");
    let (_, last) = seen.last().unwrap();
    assert_eq!(text(last, "state"), "done");
    assert_eq!(text(last.as_object().unwrap().get("receipt").unwrap(), "receipt_id"), id);
    // Both servers say the same.
    assert_eq!(once(&fronts[0], &id, "done").to_text(), once(&fronts[1], &id, "done").to_text());
}

pub(crate) fn an_idle_worker_is_woken_by_a_job_and_the_server_by_its_end(fleet: &Fleet) {
    let front = fleet.front(&[]);
    let _worker = fleet.admitted(&["--jobs", "1"]);
    let ask = |text: &str| {
        let begun = Instant::now();
        let (status, receipt) = front.send(VERIFY, &quick(text));
        assert_eq!(status, 200, "{receipt}");
        begun.elapsed()
    };
    let median = |mut took: Vec<Duration>| {
        took.sort();
        took[took.len() / 2]
    };
    let later = |round: u32| {
        let pair = |number: u32| {
            // Until both look seldom. Right after a job they look often.
            std::thread::sleep(Duration::from_millis(1_500));
            (ask(&format!("{round} {number} a")), ask(&format!("{round} {number} b")))
        };
        let (idle, busy) = (0..5).map(pair).unzip();
        median(idle).saturating_sub(median(busy))
    };
    // Idle, each looks every 500 ms without a hint, so that a job would take about 400 ms longer than right after another one. What
    // the machine has to do besides slows down both.
    let mut rounds = (0..6).map(later).inspect(|later| println!("{later:?}"));
    assert!(rounds.any(|later| later < Duration::from_millis(200)));
}

pub(crate) fn cancelling_waits_for_the_lease_of_a_worker_that_does_not_answer(fleet: &Fleet) {
    let fronts = [(); 2].map(|()| fleet.front(&[]));
    let worker = fleet.admitted(&["--jobs", "1"]);
    let id = job(&fronts[0], ENDLESS);
    worker.said("claimed job=");
    worker.signal("-STOP");
    let begun = Instant::now();
    let (status, cancelled) = fronts[1].send(&format!("DELETE /v1/jobs/{id} HTTP/1.1"), "");
    assert_eq!((status, text(&json(&cancelled), "state").as_str()), (200, "cancelled"), "{cancelled}");
    // The lease lasts 10 s, and was renewed at most 3 s before.
    assert!(begun.elapsed() > Duration::from_secs(4) && begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    worker.signal("-CONT");
    worker.said("left to another process");
    once(&fronts[0], &id, "cancelled");
    assert_eq!(fleet.receipts(), 0);
}
