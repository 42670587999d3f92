//! The transparency log: what it costs a store, and proofs beside signatures.

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use measure::{Contender, TURNS, Table, Turn, in_turns};
use proofmark_log::{LogHome, LogKeeper, StoredLog};
use proofmark_receipt::{Profile, Receipt, Sha256Digest, SignatureStatus, SigningKey, verify};
use proofmark_store::{LogEntry, NewReceipt, Store, Tenant};
use proofmark_tlog::{Hash, inclusion_proof, leaf, verify_inclusion};
use tempfile::TempDir;

use crate::receipt::sample_of;

/// How long one turn takes at least.
const LEAST: Duration = Duration::from_secs(1);
/// How many receipts are handed over before the first is waited for.
const AT_ONCE: u64 = 500;
/// The sizes of logs.
const SIZES: [u64; 3] = [1_000, 100_000, 1_000_000];
/// How many proofs are verified, spread over the log.
const PROOFS: u64 = 2_000;
/// How many are verified between two looks at the clock.
const REPEATED: u64 = 100;

pub(crate) fn run() -> anyhow::Result<()> {
    appending()?;
    for size in SIZES {
        growing(size)?;
    }
    Ok(())
}

/// Receipts that are stored durably by groups, with the log and with a trigger that leaves its entries out.
fn appending() -> anyhow::Result<()> {
    let key = SigningKey::from_seed([7; 32]);
    let with = Writing::new(&key, false)?;
    let without = Writing::new(&key, true)?;
    let rows = in_turns(TURNS, vec![without.contender("without entries"), with.contender("with the log")])?;
    println!("receipts stored, {AT_ONCE} at once, each durable\n");
    println!("{}", Table::beside("without entries", "receipts").show(&rows));
    Ok(())
}

struct Writing {
    folder: TempDir,
    store: Store,
    receipts: std::cell::RefCell<std::vec::IntoIter<Receipt>>,
}

impl Writing {
    fn new(key: &SigningKey, leaves_out: bool) -> anyhow::Result<Self> {
        let folder = TempDir::new()?;
        let store = Store::open(folder.path().join("store.db"))?;
        if leaves_out {
            let sql = "CREATE TRIGGER none BEFORE INSERT ON log_entries BEGIN SELECT RAISE(IGNORE); END";
            let database = folder.path().join("store.db");
            let made = std::process::Command::new("sqlite3").arg(database).arg(sql).status();
            if !made.is_ok_and(|made| made.success()) {
                bail!("the comparison needs the program `sqlite3`");
            }
        }
        // Signed before the clock runs.
        let receipts = (0..250_000).map(|number| sample_of(key, number)).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self { folder, store, receipts: std::cell::RefCell::new(receipts.into_iter()) })
    }

    fn contender(&self, name: &str) -> Contender<'_> {
        let _kept = self.folder.path();
        Contender::new(name, move || {
            Turn::of(LEAST, || {
                let next: Vec<Receipt> = self.receipts.borrow_mut().by_ref().take(AT_ONCE as usize).collect();
                let stored = next.len() as u64;
                if stored == 0 {
                    bail!("too few receipts were signed before");
                }
                let tenant = self.store.of(&Tenant::LOCAL);
                let pending: Vec<_> =
                    next.into_iter().map(|receipt| tenant.submit(NewReceipt::single(receipt))).collect();
                pending.into_iter().try_for_each(|one| one.wait().map(drop))?;
                Ok(stored)
            })
        })
    }
}

/// What a log of this size takes for an append, a checkpoint and a proof, and its proofs beside signatures.
fn growing(size: u64) -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let store = Store::open(folder.path().join("store.db"))?;
    let tenant = store.of(&Tenant::LOCAL);
    let digest = |number: u64| Sha256Digest::of(&number.to_be_bytes());
    let mut number = 0;
    while number < size {
        let until = size.min(number + AT_ONCE);
        let pending: Vec<_> = (number..until).map(|number| tenant.submit(LogEntry(digest(number)))).collect();
        pending.into_iter().try_for_each(|one| one.wait().map(drop))?;
        number = until;
    }
    let home = LogHome::of(folder.path());
    let signer = home.begin("log.example/bench", None)?;
    let keeper = LogKeeper::new(&store, home, signer);
    let begun = Instant::now();
    keeper.publish()?;
    let first = begun.elapsed();
    let appends = timed(200, |at| {
        tenant.submit(LogEntry(digest(size + at))).wait()?;
        Ok(())
    })?;
    let publishes = timed(50, |at| {
        tenant.submit(LogEntry(digest(2 * size + 1_000 + at))).wait()?;
        keeper.publish()?;
        Ok(())
    })?;
    let proofs = timed(PROOFS, |at| {
        inclusion_proof(at * (size / PROOFS.min(size)) % size, size, StoredLog(&store))?;
        Ok(())
    })?;
    println!(
        "{size} entries: the first checkpoint {:.2} s; one more entry {appends:.0} us, with a checkpoint {publishes:.0} us; a proof {proofs:.0} us",
        first.as_secs_f64()
    );
    if size == 100_000 {
        verifying(&store, size, digest)?;
    }
    Ok(())
}

fn repeated<'a>(name: &str, mut work: impl FnMut() -> anyhow::Result<()> + 'a) -> Contender<'a> {
    Contender::repeating(name, LEAST, move || (0..REPEATED).try_for_each(|_| work()).map(|()| REPEATED))
}

/// The microseconds that one takes, of so many.
fn timed(count: u64, mut one: impl FnMut(u64) -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let begun = Instant::now();
    (0..count).try_for_each(&mut one)?;
    Ok(begun.elapsed().as_secs_f64() * 1e6 / count as f64)
}

/// Inclusion proofs verified, beside the signatures of as many receipts.
fn verifying(store: &Store, size: u64, digest: impl Fn(u64) -> Sha256Digest) -> anyhow::Result<()> {
    let root = proofmark_tlog::root(size, StoredLog(store))?;
    let mut proofs: Vec<(Hash, u64, Vec<Hash>)> = Vec::new();
    for at in 0..PROOFS {
        let index = at * (size / PROOFS);
        proofs.push((leaf(&digest(index)), index, inclusion_proof(index, size, StoredLog(store))?));
    }
    let key = SigningKey::from_seed([7; 32]);
    let text = sample_of(&key, 1)?.to_text();
    let trusted = [key.signer()];
    let signature = move || match verify(text.as_bytes(), Profile::Vrf, &trusted).answer {
        SignatureStatus::Valid => Ok(()),
        other => bail!("the sample is {other}"),
    };
    let mut next = 0;
    let proof = move || {
        let (leaf, index, path) = proofs.get(next % proofs.len()).context("there is a proof")?;
        next += 1;
        Ok(verify_inclusion(leaf, *index, size, path, &root)?)
    };
    let rows = in_turns(
        TURNS,
        vec![repeated("a receipt and its signature", signature), repeated("an inclusion proof", proof)],
    )?;
    println!("\n{}", Table::beside("a receipt and its signature", "documents").show(&rows));
    Ok(())
}
