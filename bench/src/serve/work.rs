//! Verifications over HTTP beside the same verifications on the command line. Both store every receipt in a chain, and share
//! commits: the command line among the requests of its file, the server among its clients.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use measure::{Contender, TURNS, Table, Turn, Waits, in_turns, of_process, of_this_process};

use crate::client::{Client, Figures, load};
use crate::server::Server;

/// How long a server's turn lasts.
const LEAST: Duration = Duration::from_secs(2);

struct Work {
    name: &'static str,
    request: &'static str,
    /// How many requests the command line is given at once: a second or two of work.
    requests: usize,
    clients: &'static [usize],
}

const WORK: [Work; 2] = [
    Work {
        name: "constraints (tier 1)",
        request: r#"{"output": {"content": "{\"name\": \"Ada\", \"age\": 36}"}, "verification": {"kind": "schema_check", "checks": [{"name": "shape", "constraint": "json_schema", "schema": {"type": "object", "required": ["name"]}}, {"name": "short", "constraint": "length <= 1000"}]}}"#,
        requests: 10_000,
        clients: &[8, 64],
    },
    Work {
        name: "suite of 2 Python cases (tier 0)",
        request: r#"{"output": {"content": "def f(xs):\n    return sorted(xs)\n"}, "verification": {"kind": "test_suite", "language": "python", "entrypoint": "f", "tests": [{"name": "basic", "input": [[3, 1, 2]], "expected_output": [1, 2, 3]}, {"name": "empty", "input": [[]], "expected_output": []}]}}"#,
        requests: 500,
        clients: &[8],
    },
];

pub(crate) fn run() -> anyhow::Result<()> {
    for work in &WORK {
        let home = tempfile::tempdir()?;
        println!("**{}**\n\n{}", work.name, measure(work, home.path())?);
    }
    println!("Processor time is that of the command line, or of the server alone without its clients.");
    Ok(())
}

fn measure(work: &Work, home: &Path) -> anyhow::Result<String> {
    let jobs = std::thread::available_parallelism()?.to_string();
    let file = home.join("requests.jsonl");
    std::fs::write(&file, format!("{}\n", work.request).repeat(work.requests))?;
    let server = Server::start(&home.join("served"), None)?;
    let alone = format!("verify --jobs {jobs}");
    let command_line = Contender::new(&alone, || command_line(home, &file, &jobs, work.requests));
    let over_http = work.clients.iter().map(|clients| {
        Contender::new(format!("HTTP, {clients} clients"), || verified(&server, work.request, *clients))
    });
    let rows = in_turns(TURNS, std::iter::once(command_line).chain(over_http).collect())?;
    Ok(Table::beside(alone, "verifications").show(&rows))
}

/// One start of the command line for all requests of the file.
fn command_line(home: &Path, file: &Path, jobs: &str, requests: usize) -> anyhow::Result<Turn> {
    let binary = std::env::var_os("PROOFMARK_BIN").context("name the program to measure in PROOFMARK_BIN")?;
    let (before, started) = (of_this_process()?, Instant::now());
    let done = Command::new(binary)
        .args(["verify", "--json", "--chain", "bench", "--jobs", jobs])
        .arg(file)
        .env("PROOFMARK_HOME", home.join("alone"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    let wall = started.elapsed();
    if !done.success() {
        bail!("the command line ended with {done}");
    }
    Ok(Turn { done: requests as u64, wall, processor: of_this_process()?.saturating_sub(before), waits: None })
}

fn verified(server: &Server, request: &str, clients: usize) -> anyhow::Result<Turn> {
    let ask = |client: &mut Client, _| match client.post("/v1/verifications", request)? {
        (200, _) => Ok(()),
        (status, body) => bail!("{status}: {body}"),
    };
    turn(server, || load(clients, LEAST, || Client::connect(&server.address), ask))
}

/// The turn that `load` makes, with the server's processor time.
pub(crate) fn turn(server: &Server, load: impl FnOnce() -> anyhow::Result<Figures>) -> anyhow::Result<Turn> {
    let (before, started) = (of_process(server.id())?, Instant::now());
    let Figures { count, median, p99, .. } = load()?;
    let wall = started.elapsed();
    let processor = of_process(server.id())?.saturating_sub(before);
    Ok(Turn { done: count as u64, wall, processor, waits: Some(Waits { median, p99 }) })
}
