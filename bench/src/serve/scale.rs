//! Stores of both engines, with one process and several, beside bare inserts of the same bytes.

mod bare;
mod claims;
mod jobs;
mod network;
mod sizes;
mod writes;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use measure::{Contender, Measured, Table, Turn, Waits, in_turns, of_this_process};
use proofmark_store::{Place, Store};
use proofmark_testing::postgres::Cluster;

use crate::bare::Bare;
use crate::client::load;
use bare::{Rows, bare_turn};
use writes::{decisions, over_http, receipts};

/// How many turns each contender gets: there are many.
const TURNS: usize = 3;
/// How long a turn lasts.
const LEAST: Duration = Duration::from_secs(1);
/// How many clients ask at once.
const CLIENTS: [usize; 3] = [1, 8, 64];
/// How many clients ask where only one number is measured.
const MANY: usize = 64;
/// How many processes write to one database: three are measured where they are asked for, beside one.
const SERVERS: [usize; 3] = [1, 2, 4];
const THREE: usize = 3;
/// How many chains, where it is not one.
const CHAINS: u64 = 64;

/// The parts, by the words that ask for them.
const PARTS: [(&str, fn(&Cluster, &Path) -> anyhow::Result<()>); 6] = [
    ("receipts", measure_receipts),
    ("decisions", measure_decisions),
    ("sizes", sizes::run),
    ("network", network::run),
    ("jobs", jobs::run),
    ("claims", claims::run),
];

/// Measures these parts, or all where none is named.
pub(crate) fn run(wanted: &[String]) -> anyhow::Result<()> {
    if let Some(unknown) = wanted.iter().find(|name| !PARTS.iter().any(|(part, _)| part == name)) {
        bail!("unknown part `{unknown}`: name some of {}", PARTS.map(|(part, _)| part).join(", "));
    }
    let home = tempfile::tempdir()?;
    // On the disk, as SQLite's files are.
    let cluster =
        Cluster::start_below(home.path()).context("PostgreSQL is not installed: `apt-get install postgresql`")?;
    // As a fresh server has them: tests have less.
    for setting in ["shared_buffers = '128MB'", "max_wal_size = '1GB'"] {
        cluster.try_psql(&format!("ALTER SYSTEM SET {setting}"))?;
    }
    cluster.stop();
    cluster.restart();
    for (name, part) in PARTS {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            let folder = home.path().join(name);
            std::fs::create_dir(&folder)?;
            part(&cluster, &folder)?;
        }
    }
    Ok(())
}

fn measure_receipts(cluster: &Cluster, home: &Path) -> anyhow::Result<()> {
    let file = home.join("store.db");
    let sqlite = [Store::open(file.as_path())?];
    let three: Vec<Store> = (0..THREE).map(|_| Store::open(file.as_path())).collect::<Result<_, _>>()?;
    let bare = Bare::open(&home.join("bare.db"))?;
    let servers = servers(cluster)?;
    let rows = Rows::open(&cluster.create_database())?;
    for clients in CLIENTS {
        let mut all = vec![
            Contender::new("SQLite, bare inserts", || bare_turn(clients, || Ok(bare.writer()))),
            Contender::new("SQLite", || receipts(&sqlite, clients, 1)),
            Contender::new("SQLite, 3 processes", || receipts(&three, clients, 1)),
            Contender::new(BARE, || bare_turn(clients, || Ok(rows.writer()))),
            Contender::new("PostgreSQL, bare inserts, a connection and a commit each", || {
                bare_turn(clients, || rows.single_writer())
            }),
        ];
        for count in 1..=servers.len() {
            let some = servers.get(..count).unwrap_or_default();
            if SERVERS.contains(&count) || clients == MANY {
                all.push(Contender::new(format!("PostgreSQL, {}", named(count)), || receipts(some, clients, 1)));
            }
            if SERVERS.contains(&count) {
                let name = format!("PostgreSQL, {}, {CHAINS} chains", named(count));
                all.push(Contender::new(name, || receipts(some, clients, CHAINS)));
            }
        }
        show(&format!("receipts, {}", asked_by(clients)), BARE, "receipts", &in_turns(TURNS, all)?);
    }
    over_http(home)
}

/// What the others are compared with.
const BARE: &str = "PostgreSQL, bare inserts";

fn measure_decisions(cluster: &Cluster, home: &Path) -> anyhow::Result<()> {
    let sqlite = [Store::open(home.join("store.db").as_path())?];
    let servers = servers(cluster)?;
    for clients in CLIENTS {
        let mut all = vec![Contender::new("SQLite", || decisions(&sqlite, clients))];
        for count in SERVERS {
            let some = servers.get(..count).unwrap_or_default();
            all.push(Contender::new(format!("PostgreSQL, {}", named(count)), || decisions(some, clients)));
        }
        show(&format!("decisions, {}", asked_by(clients)), "SQLite", "decisions", &in_turns(TURNS, all)?);
    }
    Ok(())
}

/// Servers of one database, as many as are measured.
fn servers(cluster: &Cluster) -> anyhow::Result<Vec<Store>> {
    let url = cluster.create_database();
    let most = SERVERS.into_iter().max().unwrap_or_default();
    Ok((0..most).map(|_| Store::open(Place::parse(&url))).collect::<Result<_, _>>()?)
}

fn named(servers: usize) -> String {
    format!("{servers} {}", if servers == 1 { "server" } else { "servers" })
}

fn asked_by(clients: usize) -> String {
    format!("{clients} {}", if clients == 1 { "client" } else { "clients" })
}

fn show(title: &str, reference: &str, unit: &str, rows: &[Measured]) {
    println!("**{title}**\n\n{}", Table::beside(reference, unit).show(rows));
}

fn turn<S>(
    clients: usize,
    begin: impl Fn() -> anyhow::Result<S> + Sync,
    work: impl Fn(&mut S, u64) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<Turn> {
    let (before, started) = (of_this_process()?, Instant::now());
    let figures = load(clients, LEAST, begin, work)?;
    let waits = Some(Waits { median: figures.median, p99: figures.p99 });
    let processor = of_this_process()?.saturating_sub(before);
    Ok(Turn { done: figures.count as u64, wall: started.elapsed(), processor, waits })
}
