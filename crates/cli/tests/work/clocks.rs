//! Servers and workers whose clocks are wrong by an hour: the clock of the database counts.

use std::process::Command;
use std::time::{Duration, Instant};

use proofmark_receipt::{Json, Timestamp};
use proofmark_testing::postgres::{self, Database};
use proofmark_testing::wrong_clock;

use crate::client::{AS_JOB, GOOD, MAIL, json, listed, suite, text};
use crate::fleet::{Fleet, PATIENCE, Worker, slow};
use crate::server::{PROOFMARK, Server, keys_file, new_key, serve_by};

/// Deployments need a receipt that is not old, and mail a reviewer.
const POLICY: &str = "version: 1
boundaries:
  - id: deploy
    match: {action_class: system_change, tool: deploy}
    require:
      - receipt: {any_suite: true, output: 'sha256(action.args.source)', max_age: 5m}
  - id: mail
    match: {action_class: external_message_send, tool: send_email}
    require:
      - approval: {role: reviewer, count: 1}
        otherwise: human_review
unmatched: replan_required
mode: enforce
";
/// How far a time may be from that of the database, on a machine under load.
const NEAR: i64 = 60_000;
/// How long a lease lasts unless it is renewed; one that was given up ended then.
const LEASE: i64 = 10_000;
const NOW: &str = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint)";

/// Servers and workers with clocks of their own.
struct Office {
    fleet: Fleet,
    database: Database,
    agent: String,
    reviewer: String,
    keys: String,
    policy: String,
}

/// What a process needs for its clock to be wrong.
type Clock = Vec<(String, String)>;

impl Office {
    fn of(database: Database) -> Self {
        let fleet = Fleet::at(database.url());
        let (agent, first) = new_key("bot", "agent", "acme");
        let (reviewer, second) = new_key("ann", "reviewer", "acme");
        let keys = keys_file(fleet.home.path(), &[&first, &second]);
        let policy = fleet.file("policy.yaml", POLICY);
        Self { fleet, database, agent, reviewer, keys, policy }
    }

    fn front(&self, clock: &Clock) -> Server {
        let more = ["--no-verify", "--store", &self.fleet.store, "--api-keys", &self.keys];
        let mut serve = serve_by(self.policy.as_ref(), &self.fleet.home, &more);
        serve.envs(clock.iter().cloned());
        Server::begin(serve)
    }

    fn worker(&self, clock: &Clock) -> Worker {
        let mut work = Command::new(PROOFMARK);
        work.args(["work", "--jobs", "1", "--store", &self.fleet.store]);
        work.env("PROOFMARK_HOME", self.fleet.home.path()).envs(clock.iter().cloned());
        let worker = Worker::begin(work);
        worker.said("jobs are claimed");
        worker
    }

    fn submit(&self, front: &Server, source: &str) -> String {
        let head = format!("{AS_JOB}\r\nauthorization: Bearer {}", self.agent);
        let (status, answer) = front.send(&head, &suite(source));
        assert_eq!(status, 202, "{answer}");
        text(&json(&answer), "job_id")
    }

    /// The job, once it is done.
    fn done(&self, front: &Server, id: &str) -> Json {
        let begun = Instant::now();
        loop {
            let (status, job) = front.get(&format!("/v1/jobs/{id}"), &self.agent);
            assert_eq!(status, 200, "{}", job.to_text());
            self.is_near(&text(&job, "created_at"));
            if text(&job, "state") == "done" {
                self.is_near(&text(job.as_object().unwrap().get("receipt").unwrap(), "verified_at"));
                return job;
            }
            assert!(begun.elapsed() < PATIENCE, "{}", job.to_text());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The outcome of a decision, and its id.
    fn decide(&self, front: &Server, request: &str) -> (String, String) {
        let (status, decision) = front.post("/v1/decisions", &self.agent, request);
        assert_eq!(status, 200, "{decision:?}");
        self.is_near(&text(decision.as_object().unwrap().get("binding").unwrap(), "decided_at"));
        (text(&decision, "outcome"), text(&decision, "decision_id"))
    }

    fn is_near(&self, time: &str) {
        let time: Timestamp = time.parse().unwrap();
        let now: i64 = self.database.psql(NOW).parse().unwrap();
        assert!((time.unix_millis() - now).abs() < NEAR, "{time} is not {now}");
    }

    /// What was verified counts as evidence at every server, and an approval counts where it was not given.
    fn evidence_counts(&self, fronts: &[Server; 2], source: &str) {
        let source = Json::from(source).to_text();
        let deploy =
            format!(r#"{{"action": {{"tool": "deploy", "class": "system_change", "args": {{"source": {source}}}}}}}"#);
        fronts.iter().for_each(|front| assert_eq!(self.decide(front, &deploy).0, "allow"));
    }

    fn approval_counts(&self, [asks, reviews]: &[Server; 2]) {
        let (asked, id) = self.decide(asks, MAIL);
        assert_ne!(asked, "allow");
        let review = r#"{"verdict": "approve", "note": "read it"}"#;
        let (status, approved) = reviews.post(&format!("/v1/reviews/{id}"), &self.reviewer, review);
        assert_eq!(status, 200, "{approved:?}");
        assert_eq!(self.decide(asks, MAIL).0, "allow");
    }

    /// The times of all receipts, the last stored first.
    fn times(&self, front: &Server) -> Vec<String> {
        let (_, listing) = front.get("/v1/receipts", &self.agent);
        let document = |entry: &Json| entry.as_object().unwrap().get("receipt").unwrap().clone();
        listed(&listing, "receipts").iter().map(|entry| text(&document(entry), "verified_at")).collect()
    }
}

#[test]
fn clocks_that_are_wrong_by_an_hour_change_nothing() {
    let (Some(ahead), Some(behind)) = (wrong_clock("+1h"), wrong_clock("-1h")) else { return };
    let Some(database) = postgres::database() else { return };
    let office = Office::of(database);
    let fronts = [office.front(&ahead), office.front(&behind)];
    for (clock, source) in [(&behind, GOOD.to_owned()), (&ahead, slow(0))] {
        let worker = office.worker(clock);
        office.done(&fronts[0], &office.submit(&fronts[1], &source));
        office.evidence_counts(&fronts, &source);
        worker.signal("-TERM");
        worker.ended();
    }
    office.approval_counts(&fronts);

    let [killed, other] = [office.worker(&behind), office.worker(&ahead)];
    let wrong = format!(
        "SELECT count(*) FROM workers WHERE alive_until NOT BETWEEN ({NOW}) - {NEAR} AND ({NOW}) + {LEASE} \
         OR alive_until NOT IN (seen_at, seen_at + {LEASE})"
    );
    assert_eq!(office.database.psql(&wrong), "0");
    let running = [(); 2].map(|()| office.submit(&fronts[0], &slow(5)));
    [&killed, &other].iter().for_each(|worker| worker.said("claimed job="));
    let lost = running.iter().find(|id| killed.log().contains(*id)).unwrap();
    killed.kill();
    other.said(lost);
    other.said("attempt=2");
    running.iter().for_each(|id| drop(office.done(&fronts[1], id)));

    // An approval is a receipt, too.
    let times = office.times(&fronts[0]);
    assert!(times.len() == 5 && times.is_sorted_by(|later, earlier| later >= earlier), "{times:?}");
}
