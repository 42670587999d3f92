//! What a receipt takes on disk, with its indexes, and in the log of PostgreSQL.

use std::path::Path;

use postgres::{Client, NoTls};
use proofmark_store::{Place, Store};
use proofmark_testing::postgres::Cluster;

use super::MANY;
use super::bare::{Rows, bare_turn};
use super::writes::{document, receipts};

/// How often the clients get a turn.
const ROUNDS: usize = 4;

/// The pages of all tables, and how far the log is.
const SIZES: &str = "SELECT (SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class
        WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace), (pg_current_wal_lsn() - '0/0')::bigint";

struct Taken {
    name: &'static str,
    receipts: u64,
    disk: i64,
    log: Option<i64>,
}

pub(super) fn run(cluster: &Cluster, home: &Path) -> anyhow::Result<()> {
    let url = cluster.create_database();
    let store = [Store::open(Place::parse(&url))?];
    let file = home.join("store.db");
    let of_file = [Store::open(file.as_path())?];
    let bare = cluster.create_database();
    let rows = Rows::open(&bare)?;
    let all = [
        in_database("PostgreSQL", &url, || Ok(receipts(&store, MANY, 1)?.done))?,
        in_database("PostgreSQL, bare inserts", &bare, || Ok(bare_turn(MANY, || Ok(rows.writer()))?.done))?,
        in_file(&file, || Ok(receipts(&of_file, MANY, 1)?.done))?,
    ];
    println!("**what a receipt takes whose document has {} bytes**\n", document()?.len());
    println!("| | receipts | disk, bytes | log, bytes |\n|---|---:|---:|---:|");
    for Taken { name, receipts, disk, log } in all {
        let each = |bytes: i64| (bytes / receipts.max(1).cast_signed()).to_string();
        println!("| {name} | {receipts} | {} | {} |", each(disk), log.map(each).unwrap_or_default());
    }
    println!();
    Ok(())
}

fn in_database(name: &'static str, url: &str, mut work: impl FnMut() -> anyhow::Result<u64>) -> anyhow::Result<Taken> {
    let mut client = Client::connect(url, NoTls)?;
    let mut look = || anyhow::Ok(client.query_one(SIZES, &[]).map(|row| (row.get::<_, i64>(0), row.get::<_, i64>(1)))?);
    let before = look()?;
    let receipts = (0..ROUNDS).map(|_| work()).sum::<anyhow::Result<u64>>()?;
    let after = look()?;
    Ok(Taken { name, receipts, disk: after.0 - before.0, log: Some(after.1 - before.1) })
}

fn in_file(file: &Path, mut work: impl FnMut() -> anyhow::Result<u64>) -> anyhow::Result<Taken> {
    let size = || anyhow::Ok(std::fs::metadata(file)?.len().cast_signed());
    let settle = || anyhow::Ok(rusqlite::Connection::open(file)?.pragma_update(None, "wal_checkpoint", "TRUNCATE")?);
    let before = size()?;
    let receipts = (0..ROUNDS).map(|_| work()).sum::<anyhow::Result<u64>>()?;
    settle()?;
    Ok(Taken { name: "SQLite", receipts, disk: size()? - before, log: None })
}
