//! Verification over HTTP beside the same cases on the command line, and receipts kept beside SQLite alone.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use proofmark_receipt::{
    Draft, Hashes, Object, ReceiptId, Results, Sha256Digest, SigningKey, Timestamp, Verdict,
};

use crate::bare::Bare;
use crate::client::{Client, Figures, load};
use crate::decisions::show;
use crate::server::Server;

/// How long each figure is measured.
const LEAST: Duration = Duration::from_secs(5);
/// How many requests the command line is given at once.
const REQUESTS: usize = 2_000;
/// How many clients wait at a time.
const CLIENTS: usize = 8;
/// How many receipts a batch has.
const BATCH: u64 = 100;

const SUITE: &str = r#"{"output": {"content": "def f(xs):\n    return sorted(xs)\n"}, "verification": {"kind": "test_suite", "language": "python", "entrypoint": "f", "tests": [{"name": "basic", "input": [[3, 1, 2]], "expected_output": [1, 2, 3]}, {"name": "empty", "input": [[]], "expected_output": []}]}}"#;
const TIER_1: &str = r#"{"output": {"content": "{\"name\": \"Ada\", \"age\": 36}"}, "verification": {"kind": "schema_check", "checks": [{"name": "shape", "constraint": "json_schema", "schema": {"type": "object", "required": ["name"]}}, {"name": "short", "constraint": "length <= 1000"}]}}"#;

pub(crate) fn run() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get).to_string();
    println!("{:>7}  {:<34} {:>9} {:>9} {:>9}", "clients", "", "each s", "p50 ms", "p99 ms");
    for (what, request) in [("suite of 2 cases", SUITE), ("constraints (tier 1)", TIER_1)] {
        let alone = command_line(home.path(), request, &cores)?;
        let over_http = verified(home.path(), request)?;
        println!("{:>7}  {:<34} {alone:>9.0}", cores, format!("{what}, verify --jobs {cores}"));
        show(CLIENTS, &format!("{what}, over HTTP"), &over_http, None);
        println!("{:>7}  HTTP costs {:.0} %\n", "", (1.0 - over_http.each_second / alone) * 100.0);
    }
    receipts(home.path())
}

/// Requests a second of the command line, started once for all of them.
fn command_line(home: &Path, request: &str, jobs: &str) -> anyhow::Result<f64> {
    let file = home.join("requests.jsonl");
    std::fs::write(&file, format!("{request}\n").repeat(REQUESTS))?;
    let binary = std::env::var_os("PROOFMARK_BIN").context("name the program to measure in PROOFMARK_BIN")?;
    let started = Instant::now();
    let done = Command::new(binary)
        .args(["verify", "--json", "--chain", "bench", "--jobs", jobs])
        .arg(&file)
        .env("PROOFMARK_HOME", home.join("alone"))
        .stdout(Stdio::null())
        .status()?;
    if !done.success() {
        bail!("the command line ended with {done}");
    }
    Ok(REQUESTS as f64 / started.elapsed().as_secs_f64())
}

fn verified(home: &Path, request: &str) -> anyhow::Result<Figures> {
    let server = Server::start(&home.join("served"), None)?;
    let ask = |client: &mut Client, _| match client.post("/v1/verifications", request)? {
        (200, _) => Ok(()),
        (status, body) => bail!("{status}: {body}"),
    };
    load(CLIENTS, LEAST, || Client::connect(&server.address), ask)
}

fn receipts(home: &Path) -> anyhow::Result<()> {
    let server = Server::start(&home.join("receipts"), None)?;
    let numbers = AtomicU64::new(1);
    let begin = || Client::connect(&server.address);
    let single = load(CLIENTS, LEAST, begin, |client, _| {
        kept(client.post("/v1/receipts", &receipt(numbers.fetch_add(1, Ordering::Relaxed))?)?)
    })?;
    show(CLIENTS, "receipts brought one by one", &single, None);
    let batches = load(CLIENTS, LEAST, begin, |client, _| {
        let first = numbers.fetch_add(BATCH, Ordering::Relaxed);
        let batch = (first..first + BATCH).map(receipt).collect::<anyhow::Result<Vec<_>>>()?;
        kept(client.post("/v1/receipts", &format!("{{\"receipts\":[{}]}}", batch.join(",")))?)
    })?;
    show(CLIENTS, "batches of 100", &batches, None);
    println!("{:>7}  {:.0} receipts a second, made by the client as well", "", batches.each_second * BATCH as f64);
    let bare = Bare::open(&home.join("bare.db"))?;
    let row = receipt(0)?.into_bytes();
    let alone = load(CLIENTS, LEAST, || Ok(bare.writer()), |keep, _| keep(&row))?;
    show(CLIENTS, "SQLite alone, rows of as many bytes", &alone, None);
    println!("{:>7}  {:.2} of SQLite alone, one by one", "", single.each_second / alone.each_second);
    Ok(())
}

fn kept((status, body): (u16, String)) -> anyhow::Result<()> {
    if status == 200 && !body.contains("\"kept\":false") { Ok(()) } else { bail!("{status}: {body}") }
}

/// A receipt of another issuer.
fn receipt(number: u64) -> anyhow::Result<String> {
    let digest = Sha256Digest::of(&number.to_be_bytes());
    let mut id = [0; 16];
    id.iter_mut().zip(digest.as_bytes()).for_each(|(to, from)| *to = *from);
    let draft = Draft {
        receipt_id: ReceiptId::from_random_bytes(id),
        verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
        tier: 0,
        verdict: Verdict::Error,
        task: None,
        results: Results::default(),
        hashes: Hashes { specification: digest, output: digest, tests: None },
        metadata: Object::new(),
    };
    Ok(draft.sign(&SigningKey::from_seed([7; 32]))?.to_text())
}
