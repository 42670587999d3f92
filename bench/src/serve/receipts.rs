//! Receipts brought to a server, beside SQLite alone with rows of as many bytes, and beside their signatures alone.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::bail;
use measure::{Contender, TURNS, Table, Turn, Waits, in_turns, of_this_process};
use proofmark_receipt::{
    Draft, Hashes, Object, Profile, Receipt, ReceiptId, Results, Sha256Digest, SigningKey, Task, Timestamp, Verdict,
    verify_receipt,
};

use crate::bare::Bare;
use crate::client::{Client, load};
use crate::server::Server;
use crate::work::turn;

/// How long a turn of receipts one by one lasts.
const LEAST: Duration = Duration::from_secs(2);
/// How many receipts a batch has.
const BATCH: usize = 100;
/// How many batches a turn brings, made beforehand.
const BATCHES: usize = 200;
/// How many clients bring batches.
const BATCH_CLIENTS: usize = 8;

/// Receipts of another issuer, each with an id of its own.
#[derive(Default)]
struct Issuer {
    issued: AtomicU64,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let server = Server::start(&home.path().join("home"), None)?;
    let (bare, issuer) = (Bare::open(&home.path().join("bare.db"))?, Issuer::default());
    for clients in [8, 64] {
        let rows = in_turns(
            TURNS,
            vec![
                Contender::new("SQLite alone", || alone(&bare, &issuer, clients)),
                Contender::new("brought", || brought(&server, &issuer, clients)),
            ],
        )?;
        println!("**one by one, {clients} clients**\n\n{}", Table::beside("SQLite alone", "receipts").show(&rows));
    }
    let batches = in_turns(
        TURNS,
        vec![
            Contender::new("signatures alone", || signatures(&issuer)),
            Contender::new("SQLite alone", || rows_in_batches(&bare, &issuer)),
            Contender::new("brought", || brought_in_batches(&server, &issuer)),
        ],
    )?;
    let shown = Table::beside("SQLite alone", "receipts").show(&batches);
    println!("**batches of {BATCH}, {BATCH_CLIENTS} clients**\n\n{shown}");
    println!(
        "Clients make the receipts before their turn where they come in batches, and one by one as they send them."
    );
    println!(
        "SQLite alone: the same bytes in one table, in commits shared in the same way; the processor time is with that"
    );
    println!(
        "of its clients, the server's without. Signatures alone: `verify_strict` and what it hashes, on all cores."
    );
    Ok(())
}

fn alone(bare: &Bare, issuer: &Issuer, clients: usize) -> anyhow::Result<Turn> {
    let (before, started) = (of_this_process()?, Instant::now());
    let row = issuer.receipt()?.into_bytes();
    let figures = load(clients, LEAST, || Ok(bare.writer()), |keep, _| keep(&row))?;
    let waits = Some(Waits { median: figures.median, p99: figures.p99 });
    let processor = of_this_process()?.saturating_sub(before);
    Ok(Turn { done: figures.count as u64, wall: started.elapsed(), processor, waits })
}

fn brought(server: &Server, issuer: &Issuer, clients: usize) -> anyhow::Result<Turn> {
    let begin = || Client::connect(&server.address);
    turn(server, || load(clients, LEAST, begin, |client, _| kept(client.post("/v1/receipts", &issuer.receipt()?)?)))
}

fn signatures(issuer: &Issuer) -> anyhow::Result<Turn> {
    let receipts = (0..BATCH * 20).map(|_| anyhow::Ok(Receipt::parse(issuer.receipt()?.as_bytes())?));
    let receipts: Vec<Receipt> = receipts.collect::<anyhow::Result<_>>()?;
    let threads = std::thread::available_parallelism()?.get();
    let (before, started) = (of_this_process()?, Instant::now());
    std::thread::scope(|scope| {
        for part in receipts.chunks(receipts.len().div_ceil(threads)) {
            scope.spawn(|| part.iter().all(|receipt| verify_receipt(receipt, Profile::Vrf, &[]).signer.is_some()));
        }
    });
    let wall = started.elapsed();
    Ok(Turn { done: receipts.len() as u64, wall, processor: of_this_process()?.saturating_sub(before), waits: None })
}

fn rows_in_batches(bare: &Bare, issuer: &Issuer) -> anyhow::Result<Turn> {
    let row = issuer.receipt()?;
    let rows = [row.as_bytes(); BATCH];
    in_batches(of_this_process, || Ok(bare.writer_of_many()), |keep, _| keep(&rows))
}

fn brought_in_batches(server: &Server, issuer: &Issuer) -> anyhow::Result<Turn> {
    let batch = || anyhow::Ok((0..BATCH).map(|_| issuer.receipt()).collect::<anyhow::Result<Vec<_>>>()?.join(","));
    let batches = (0..BATCHES).map(|_| anyhow::Ok(format!("{{\"receipts\":[{}]}}", batch()?)));
    let batches: Vec<String> = batches.collect::<anyhow::Result<_>>()?;
    let begin = || Client::connect(&server.address);
    let processor = || measure::of_process(server.id());
    in_batches(processor, begin, |client, number| match batches.get(number) {
        Some(batch) => kept(client.post("/v1/receipts", batch)?),
        None => bail!("batch {number} does not exist"),
    })
}

/// The turn in which clients bring all batches.
fn in_batches<S>(
    processor: impl Fn() -> anyhow::Result<Duration>,
    begin: impl Fn() -> anyhow::Result<S> + Sync,
    bring: impl Fn(&mut S, usize) -> anyhow::Result<()> + Sync,
) -> anyhow::Result<Turn> {
    let (next, waits) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let (before, started) = (processor()?, Instant::now());
    std::thread::scope(|scope| {
        let client = || {
            let mut state = begin()?;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= BATCHES {
                    return anyhow::Ok(());
                }
                let begun = Instant::now();
                bring(&mut state, number)?;
                waits.lock().map_err(|_| anyhow::anyhow!("a client panicked"))?.push(begun.elapsed());
            }
        };
        let clients: Vec<_> = (0..BATCH_CLIENTS).map(|_| scope.spawn(client)).collect();
        clients.into_iter().try_for_each(|client| match client.join() {
            Ok(done) => done,
            Err(_) => bail!("a client panicked"),
        })
    })?;
    let wall = started.elapsed();
    let mut waits = waits.into_inner()?;
    waits.sort();
    let at = |share: usize| waits.get(waits.len() * share / 100).copied().unwrap_or_default();
    let waits = Some(Waits { median: at(50), p99: at(99) });
    Ok(Turn { done: (BATCHES * BATCH) as u64, wall, processor: processor()?.saturating_sub(before), waits })
}

fn kept((status, body): (u16, String)) -> anyhow::Result<()> {
    if status == 200 && !body.contains("\"kept\":false") { Ok(()) } else { bail!("{status}: {body}") }
}

impl Issuer {
    fn receipt(&self) -> anyhow::Result<String> {
        let digest = Sha256Digest::of(&self.issued.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        let mut id = [0; 16];
        id.iter_mut().zip(digest.as_bytes()).for_each(|(to, from)| *to = *from);
        let draft = Draft {
            receipt_id: ReceiptId::from_random_bytes(id),
            verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
            tier: 0,
            verdict: Verdict::Error,
            task: None::<Task>,
            results: Results::default(),
            hashes: Hashes { specification: digest, output: digest, tests: None },
            metadata: Object::new(),
        };
        Ok(draft.sign(&SigningKey::from_seed([7; 32]))?.to_text())
    }
}
