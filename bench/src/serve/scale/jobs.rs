//! Jobs of 50 ms, with more and more workers of one place each.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use measure::{Contender, in_turns};
use proofmark_testing::postgres::Cluster;

use super::{TURNS, show, turn};
use crate::client::Client;
use crate::server::Server;

const WORKERS: [usize; 6] = [1, 2, 3, 4, 8, 16];

pub(super) fn run(cluster: &Cluster, home: &Path) -> anyhow::Result<()> {
    const JOB: &str = r#"{"output": {"content": "import time\ndef f(n):\n    time.sleep(0.05)\n    return n\n"}, "verification": {"kind": "test_suite", "language": "python", "entrypoint": "f", "tests": [{"name": "waits", "input": [1], "expected_output": 1}]}}"#;
    let url = cluster.create_database();
    let server = Server::without_verifying(home, &url)?;
    let mut rows = Vec::new();
    let mut workers = Vec::new();
    for count in WORKERS {
        while workers.len() < count {
            workers.push(Worker::start(home, &url)?);
        }
        wait_for_workers(&server, count)?;
        let begin = || Client::connect(&server.address);
        let work = || turn(32, begin, |client, _| answered(client.post("/v1/verifications", JOB)?));
        rows.extend(in_turns(TURNS, vec![Contender::new(named(count), work)])?);
    }
    show("jobs of 50 ms, 32 clients, workers of one place", &named(1), "jobs", &rows);
    Ok(())
}

fn named(workers: usize) -> String {
    format!("{workers} {}", if workers == 1 { "worker" } else { "workers" })
}

fn answered((status, body): (u16, String)) -> anyhow::Result<()> {
    match status {
        200 | 201 => Ok(()),
        _ => bail!("answered {status}: {body}"),
    }
}

fn wait_for_workers(server: &Server, count: usize) -> anyhow::Result<()> {
    let wanted = format!("\"workers\":{count}");
    let mut client = Client::connect(&server.address)?;
    for _ in 0..600 {
        if client.get("/readyz")?.1.replace(' ', "").contains(&wanted) {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("the workers did not start")
}

/// A process that verifies; it ends with this value.
struct Worker(Child);

impl Worker {
    fn start(home: &Path, store: &str) -> anyhow::Result<Self> {
        let binary = std::env::var_os("PROOFMARK_BIN").context("name the program to measure in PROOFMARK_BIN")?;
        let mut command = Command::new(binary);
        command.args(["work", "--jobs", "1", "--store", store]).env("PROOFMARK_HOME", home);
        Ok(Self(command.stderr(Stdio::null()).spawn().context("failed to start a worker")?))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
