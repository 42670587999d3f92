//! Decisions over HTTP on the loopback, signed and on disk before they are answered.

use std::path::Path;
use std::time::Duration;

use anyhow::bail;

use crate::bare::Bare;
use crate::client::{Client, Figures, load};
use crate::server::Server;

/// How long each figure is measured.
const LEAST: Duration = Duration::from_secs(5);
const PATH: &str = "/v1/decisions";

/// A policy with a condition on the arguments.
const POLICY: &str = "\
version: 1
boundaries:
  - id: notes
    match: {action_class: record_mutation, tool: add_note}
    require:
      - fact: 'size(action.args.text) < 1000'
";

pub(crate) fn run() -> anyhow::Result<()> {
    let disk = tempfile::tempdir()?;
    let policy = disk.path().join("policy.yaml");
    std::fs::write(&policy, POLICY)?;
    let memory = tempfile::tempdir_in("/dev/shm")?;
    println!("decisions over HTTP: allowed actions, all different; the store is SQLite with synchronous=FULL\n");
    println!("{:>7}  {:<34} {:>9} {:>9} {:>9} {:>9}", "clients", "", "each s", "p50 ms", "p99 ms", "cpu µs");
    for clients in [1, 8, 64] {
        let (kept, processor) = over_http(&policy, disk.path(), clients)?;
        show(clients, "decisions, signed and on disk", &kept, Some(processor));
        let (in_memory, processor) = over_http(&policy, memory.path(), clients)?;
        show(clients, "the same with its store in memory", &in_memory, Some(processor));
        let bare = bare(&disk.path().join(format!("bare-{clients}.db")), clients, row_bytes(&policy, disk.path())?)?;
        show(clients, "SQLite alone, rows of as many bytes", &bare, None);
        println!("{:>7}  {:.2} of SQLite alone\n", "", kept.each_second / bare.each_second);
    }
    Ok(())
}

/// The figures, and the server's processor time for each decision.
fn over_http(policy: &Path, home: &Path, clients: usize) -> anyhow::Result<(Figures, Duration)> {
    let server = Server::start(home, Some(policy))?;
    let begin = || Client::connect(&server.address);
    let before = server.processor_time()?;
    let figures = load(clients, LEAST, begin, |client, number| match client.post(PATH, &request(number))? {
        (200, _) => Ok(()),
        (status, body) => bail!("{status}: {body}"),
    })?;
    let processor = (server.processor_time()? - before) / u32::try_from(figures.count.max(1))?;
    Ok((figures, processor))
}

/// How long what is kept of a decision is: the receipt.
fn row_bytes(policy: &Path, home: &Path) -> anyhow::Result<usize> {
    let server = Server::start(home, Some(policy))?;
    Ok(Client::connect(&server.address)?.post(PATH, &request(0))?.1.len())
}

fn bare(path: &Path, clients: usize, bytes: usize) -> anyhow::Result<Figures> {
    let bare = Bare::open(path)?;
    let row = vec![b'x'; bytes];
    load(clients, LEAST, || Ok(bare.writer()), |keep, _| keep(&row))
}

fn request(number: u64) -> String {
    format!(
        r#"{{"action": {{"tool": "add_note", "class": "record_mutation", "args": {{"ticket": "t-{number}", "text": "done"}}}}}}"#
    )
}

pub(crate) fn show(clients: usize, what: &str, figures: &Figures, processor: Option<Duration>) {
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let (median, p99) = (millis(figures.median), millis(figures.p99));
    let processor = processor.map_or_else(String::new, |time| format!("{:>9}", time.as_micros()));
    println!("{clients:>7}  {what:<34} {:>9.0} {median:>9.2} {p99:>9.2} {processor}", figures.each_second);
}
