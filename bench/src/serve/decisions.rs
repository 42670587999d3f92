//! Decisions over HTTP on the loopback, signed and on disk before they are answered.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use measure::{Contender, TURNS, Table, Turn, Waits, in_turns};

use crate::bare::{Bare, Single};
use crate::client::{Client, Figures, load};
use crate::server::Server;

/// How long each turn takes.
const LEAST: Duration = Duration::from_secs(1);
const PATH: &str = "/v1/decisions";

/// The name of the server that the others are compared with.
const OURS: &str = "decisions, on disk";

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
    let memory = tempfile::tempdir_in("/dev/shm")?;
    let policy = write_policy(disk.path())?;
    println!(
        "Decisions over HTTP: allowed actions, all different; the store is SQLite with synchronous=FULL. Processor time is \
         that of the server alone, and with SQLite alone that of the whole program."
    );
    let row = &*row(&policy, disk.path())?;
    for clients in [1, 8, 64] {
        let home = |folder: &Path, name: &str| folder.join(format!("{name}-{clients}"));
        let served = |binary: OsString, home: PathBuf| {
            let server = Server::of(Path::new(&binary), &home, Some(&policy))?;
            anyhow::Ok(move || over_http(&server, clients))
        };
        let ours = std::env::var_os("PROOFMARK_BIN").context("name the program to measure in PROOFMARK_BIN")?;
        let mut contenders = vec![
            Contender::new(OURS, served(ours.clone(), home(disk.path(), "ours"))?),
            Contender::new("the same, its store in memory", served(ours, home(memory.path(), "ours"))?),
        ];
        if let Some(base) = std::env::var_os("PROOFMARK_BASE") {
            contenders.push(Contender::new("as PROOFMARK_BASE does", served(base, home(disk.path(), "base"))?));
        }
        let single = Single::open(&disk.path().join(format!("single-{clients}.db")))?;
        let insert_singly = move || alone(clients, || Ok(()), |()| single.insert(row));
        contenders.push(Contender::new("SQLite alone, a commit each", insert_singly));
        let bare = Bare::open(&disk.path().join(format!("bare-{clients}.db")))?;
        let insert_grouped = move || alone(clients, || Ok(bare.writer()), |insert| insert(row));
        contenders.push(Contender::new("SQLite alone, shared commits", insert_grouped));
        println!("\n{clients} {}:\n", if clients == 1 { "client" } else { "clients" });
        print!("{}", Table::beside(OURS, "decisions").show(&in_turns(TURNS, contenders)?));
    }
    Ok(())
}

/// The file of the policy, in this folder.
pub(crate) fn write_policy(folder: &Path) -> anyhow::Result<PathBuf> {
    let path = folder.join("policy.yaml");
    std::fs::write(&path, POLICY)?;
    Ok(path)
}

/// What is decided in a turn of this many clients.
pub(crate) fn over_http(server: &Server, clients: usize) -> anyhow::Result<Turn> {
    let before = server.processor_time()?;
    let figures = load(clients, LEAST, || Client::connect(&server.address), |client, _| decide(client))?;
    Ok(turn(&figures, server.processor_time()?.saturating_sub(before)))
}

/// A turn of this many threads without a server: what they insert are rows as long as a receipt.
fn alone<S>(
    clients: usize,
    begin: impl Fn() -> anyhow::Result<S> + Sync,
    insert: impl Fn(&mut S) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<Turn> {
    let before = measure::of_this_process()?;
    let figures = load(clients, LEAST, begin, |state, _| insert(state))?;
    Ok(turn(&figures, measure::of_this_process()?.saturating_sub(before)))
}

fn turn(figures: &Figures, processor: Duration) -> Turn {
    let waits = Some(Waits { median: figures.median, p99: figures.p99 });
    let wall = Duration::from_secs_f64(figures.count as f64 / figures.each_second);
    Turn { done: figures.count as u64, wall, processor, waits }
}

/// A row as long as what is kept of a decision: the receipt.
fn row(policy: &Path, home: &Path) -> anyhow::Result<Vec<u8>> {
    let server = Server::start(&home.join("row"), Some(policy))?;
    let (_, receipt) = Client::connect(&server.address)?.post(PATH, &request())?;
    Ok(vec![b'x'; receipt.len()])
}

fn decide(client: &mut Client) -> anyhow::Result<()> {
    match client.post(PATH, &request())? {
        (200, _) => Ok(()),
        (status, body) => bail!("{status}: {body}"),
    }
}

/// A request that no other turn sends: a server may serve several.
fn request() -> String {
    static NUMBER: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!(
        r#"{{"action": {{"tool": "add_note", "class": "record_mutation", "args": {{"ticket": "t-{number}", "text": "done"}}}}}}"#
    )
}
