//! A worker that uses the database as a role of its own.

use proofmark_testing::postgres::{Cluster, psql};

use crate::client::{GOOD, job, once};
use crate::fleet::Fleet;

const WORKER: &str = "proofmark_worker";

#[test]
fn a_worker_with_a_role_of_its_own_runs_jobs_and_cannot_touch_decisions() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.create_database();
    let fleet = Fleet::at(url.clone());
    let front = fleet.front(&[]);
    let grant = |role: &str| fleet.run(&["store", "grant", "worker", role, "--store", &url]);
    let (code, said) = grant(WORKER);
    assert!(code == Some(2) && said.contains("there is no such role"), "{said}");
    let _made = cluster.psql(&format!("CREATE ROLE {WORKER} LOGIN PASSWORD 'worker'"));
    // What it had before is taken away.
    let _given = psql(&url, &format!("GRANT ALL ON decisions, reviews TO {WORKER}"));
    let (code, said) = grant(WORKER);
    assert_eq!(code, Some(0), "{said}");

    let as_worker = format!("postgres://{WORKER}:worker@{}", url.split_once('@').unwrap().1);
    let worker = Fleet { store: as_worker, home: fleet.home }.worker(&["--jobs", "1"]);
    worker.said("jobs are claimed");
    let id = job(&front, GOOD);
    once(&front, &id, "done");

    let can = |table: &str, right: &str| {
        psql(&url, &format!("SELECT has_table_privilege('{WORKER}', '{table}', '{right}')")) == "t"
    };
    let kept = [
        "decisions",
        "asked",
        "waiting",
        "executions",
        "findings",
        "reviews",
        "runs",
        "answers",
        "session_entries",
        "pins",
    ];
    for table in kept {
        for right in ["SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE"] {
            assert!(!can(table, right), "{right} of {table}");
        }
    }
    for right in ["UPDATE", "DELETE", "TRUNCATE"] {
        assert!(!can("receipts", right), "{right} of receipts");
    }
    assert!(!can("spent", "INSERT") && !can("spent", "DELETE"));
}

#[test]
fn rights_are_given_only_where_they_mean_something() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.create_database();
    let fleet = Fleet::at(url.clone());
    drop(fleet.front(&[]));
    let grant =
        |role: &str, more: &[&str]| fleet.run(&[&["store", "grant", "worker", role, "--store", &url], more].concat());
    // Which `psql` is not.
    let owner = url.split("//").nth(1).unwrap().split([':', '@']).next().unwrap().to_owned();
    for (role, why) in [(owner.as_str(), "it owns the tables"), ("", "no role can have this name")] {
        let (code, said) = grant(role, &[]);
        assert!(code == Some(2) && said.contains(why), "{role}: {said}");
    }
    let _made = cluster.psql("CREATE ROLE \"it's a \"\"role\"\"\" LOGIN; CREATE ROLE boss SUPERUSER");
    let (code, said) = grant("boss", &[]);
    assert!(code == Some(2) && said.contains("superuser"), "{said}");
    let (code, said) = grant("it's a \"role\"", &["--dry-run"]);
    assert!(code == Some(0) && said.contains("GRANT SELECT, INSERT ON receipts TO \"it's a \"\"role\"\"\";"), "{said}");
    let (code, said) = grant("it's a \"role\"", &["--json"]);
    assert!(code == Some(0) && said.contains("\"granted\":true"), "{said}");
    let file = fleet.home.path().join("proofmark.db");
    drop(proofmark_store::Store::open(&file).unwrap());
    let (code, said) = fleet.run(&["store", "grant", "worker", "boss", "--store", file.to_str().unwrap()]);
    assert!(code == Some(2) && said.contains("the store is a file"), "{said}");
}
