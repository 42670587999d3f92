//! Claims of one job, with more and more that wait.

use std::path::Path;

use measure::{Contender, in_turns};
use postgres::{Client, NoTls};
use proofmark_store::{Claim, Place, Runnable, Store};
use proofmark_testing::postgres::Cluster;

use super::{TURNS, show, turn};

const WAITING: [u32; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// The columns of a job that waits for any process.
const COLUMNS: &str =
    "job_id, tenant, state, attempt, lost, cancelling, needs, turn, bytes, checks, chain, created_at, request";

pub(super) fn run(cluster: &Cluster, home: &Path) -> anyhow::Result<()> {
    let mut rows = Vec::new();
    for waiting in WAITING {
        let url = cluster.create_database();
        let of_database = Store::open(Place::parse(&url))?;
        Client::connect(&url, NoTls)?.batch_execute(&format!(
            "INSERT INTO jobs ({COLUMNS})
                 SELECT decode(lpad(to_hex(n), 12, '0') || '40008000' || lpad(to_hex(n), 12, '0'), 'hex'), 't' || n % 20,
                        'waiting', 0, 0, 0, 'python', n, 2, 1, 'c', n, '{{}}' FROM generate_series(1, {waiting}) AS n"
        ))?;
        let path = home.join(format!("{waiting}.db"));
        let of_file = Store::open(path.as_path())?;
        rusqlite::Connection::open(&path)?.execute_batch(&format!(
            "INSERT INTO jobs ({COLUMNS})
                 WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {waiting})
                 SELECT unhex(printf('%012x4000800000%010x', n, n)), 't' || n % 20,
                        'waiting', 0, 0, 0, 'python', n, 2, 1, 'c', n, '{{}}' FROM numbers"
        ))?;
        for (engine, store) in [("SQLite", &of_file), ("PostgreSQL", &of_database)] {
            let claim = || turn(1, || Ok(()), |(), _| claim(store));
            rows.extend(in_turns(TURNS, vec![Contender::new(format!("{engine}, {waiting} wait"), claim)])?);
        }
    }
    show("claims of one job, each given back", "PostgreSQL, 1000 wait", "claims", &rows);
    Ok(())
}

fn claim(store: &Store) -> anyhow::Result<()> {
    let runnable = Runnable::Only(vec!["python".to_owned()]);
    store.claim(&Claim { owner: "bench".to_owned(), running: 1, quick: 0, runnable })?;
    store.give_up_lease("bench")?;
    Ok(())
}
