//! With a millisecond to the database and back.

use std::path::Path;
use std::time::Duration;

use measure::{Contender, in_turns};
use postgres::{Client, NoTls};
use proofmark_store::{Place, Store};
use proofmark_testing::postgres::{Cluster, Proxy};

use super::writes::{document, receipts};
use super::{MANY, TURNS, show, turn};

/// One way through the network that is put before the database.
const ONE_WAY: Duration = Duration::from_micros(500);

const BY_ROW: &str = "statement by statement";

pub(super) fn run(cluster: &Cluster, _home: &Path) -> anyhow::Result<()> {
    let proxy = Proxy::to(&cluster.create_database());
    proxy.delay(ONE_WAY);
    let away = [Store::open(Place::parse(&proxy.url()))?];
    let by_row = cluster.create_database();
    let by_row_proxy = Proxy::to(&by_row);
    Client::connect(&by_row, NoTls)?.batch_execute(
        "CREATE TABLE chains (tip bigint); INSERT INTO chains VALUES (0);
                          CREATE TABLE rows (position bigint PRIMARY KEY, document bytea NOT NULL)",
    )?;
    by_row_proxy.delay(ONE_WAY);
    let all = vec![
        Contender::new(BY_ROW, || {
            let begin = || anyhow::Ok(Client::connect(&by_row_proxy.url(), NoTls)?);
            turn(MANY, begin, |client, _| row_by_row(client))
        }),
        Contender::new("the store", || receipts(&away, MANY, 1)),
        Contender::new("the store, 1 client", || receipts(&away, 1, 1)),
    ];
    show("one chain, 64 clients, 1 ms to the database and back", BY_ROW, "receipts", &in_turns(TURNS, all)?);
    Ok(())
}

/// What a receipt takes where each question and each statement is a round trip under the lock of the chain.
fn row_by_row(client: &mut Client) -> anyhow::Result<()> {
    let mut transaction = client.transaction()?;
    let tip: i64 = transaction.query_one("SELECT tip FROM chains FOR UPDATE", &[])?.get(0);
    let _is_stored = transaction.query_opt("SELECT 1 FROM rows WHERE position = $1", &[&(tip + 1)])?;
    transaction.execute("INSERT INTO rows VALUES ($1, $2)", &[&(tip + 1), &document()?])?;
    transaction.execute("UPDATE chains SET tip = $1", &[&(tip + 1)])?;
    Ok(transaction.commit()?)
}
