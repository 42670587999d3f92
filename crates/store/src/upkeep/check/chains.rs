//! Receipts: their chains, their columns, and what is counted of them.

use std::collections::BTreeSet;

use proofmark_receipt::{ChainTip, Receipt, ReceiptId, Sha256Digest};

use super::counts::Counts;
use super::scan::{Scan, windows};
use super::{Check, StoredDocument};
use crate::engine::db::Db;
use crate::fault::Fault;
use crate::row::Row;
use crate::rows::activity::HOUR;
use crate::rows::counts::{ALL_CHAINS, type_key};
use crate::rows::receipts;
use crate::table::Fields;
use crate::tables::{RECEIPT_COUNTS, RECEIPTS, VERDICT_COUNTS};
use crate::value::{Value, values};

const TABLE: &str = "receipts";

/// What the columns of a row say.
struct Stored {
    sequence: i64,
    tenant: String,
    id: ReceiptId,
    issuer: String,
    hash: Sha256Digest,
    content: [u8; 32],
    verified_at: i64,
    verdict: String,
    tier: i64,
    task_id: Option<String>,
    task_type: Option<String>,
    output: String,
    trust: Option<String>,
    is_superseded: bool,
    /// Its chain, and its position there.
    place: Option<(i64, u64)>,
}

/// The chain that is being read.
struct ChainSoFar {
    chain_id: i64,
    /// One, unless somebody changed the rows.
    tenants: BTreeSet<String>,
    tip: ChainTip,
    sequence: i64,
    counts: Counts,
}

struct State<'c, 'a> {
    check: &'c mut Check<'a>,
    chain: Option<ChainSoFar>,
    /// Chains that were read to their end, and are to be compared with their counts.
    ended: Vec<ChainSoFar>,
    all: Counts,
    hours: Counts,
    /// How many receipts the counts of these chains have.
    counted: i64,
}

pub(super) fn check(db: &Db<'_>, check: &mut Check<'_>) -> Result<(), Fault> {
    let (all, hours) = (Counts::default(), Counts::default());
    let mut state = State { check, chain: None, ended: Vec::new(), all, hours, counted: 0 };
    let columns = RECEIPTS.list();
    let chained =
        Scan { table: TABLE, key: &["chain_id", "position"], columns: &columns, condition: "chain_id IS NOT NULL" };
    let mut before = 0;
    chained.each(
        db,
        &mut state,
        |state, row| state.receipt(row, 2),
        |state, done| {
            before = done;
            state.check.progress(TABLE, done);
            state.compare_ended(db)
        },
    )?;
    state.end_chain();
    state.compare_ended(db)?;
    // Receipts on chains came in the order of their chains, which verifies links without keeping them; the others follow.
    let single = Scan { table: TABLE, key: &["sequence"], columns: &columns, condition: "chain_id IS NULL" };
    single.each(
        db,
        &mut state,
        |state, row| state.receipt(row, 1),
        |state, done| {
            state.check.progress(TABLE, before + done);
            Ok(())
        },
    )?;
    state.compare(db)
}

impl State<'_, '_> {
    /// Verifies a row whose columns begin at `first`.
    fn receipt(&mut self, row: &Row<'_>, first: usize) -> Result<(), Fault> {
        let row = RECEIPTS.fields_after(first, row);
        let stored = Stored::read(&row)?;
        self.check.checked.receipts += 1;
        let name = stored.id.to_string();
        let receipt = Receipt::parse(row.text("document")?.as_bytes());
        match &receipt {
            Ok(receipt) => {
                if let Some(columns) = stored.differences(receipt) {
                    let (code, detail) = columns;
                    self.check.wrong(code, TABLE, name.clone(), detail);
                }
                let _spends_nothing = self.check.judge(TABLE, &name, StoredDocument::Receipt(receipt));
            }
            Err(error) => self.check.wrong("unreadable", TABLE, name, error),
        }
        self.count(&stored);
        self.link(&stored, receipt.as_ref().ok());
        Ok(())
    }

    fn count(&mut self, stored: &Stored) {
        let kind = stored.counted();
        self.all.add([&[Value::from(stored.tenant.as_str())], kind.as_slice()].concat());
        // Anyone can issue receipts, so those from elsewhere are not counted by the hour.
        if stored.trust.is_none() {
            let hour = stored.verified_at.div_euclid(HOUR);
            self.hours.add(values![stored.tenant.as_str(), hour, stored.verdict.as_str()]);
        }
    }

    /// Verifies the place of a receipt in its chain.
    fn link(&mut self, stored: &Stored, receipt: Option<&Receipt>) {
        let Some((chain_id, position)) = stored.place else { return };
        if self.chain.as_ref().is_some_and(|chain| chain.chain_id != chain_id) {
            self.end_chain();
        }
        let before = self.chain.as_ref().map(|chain| &chain.tip);
        let due = before.map_or(0, |tip| tip.position.saturating_add(1));
        let row = stored.id.to_string();
        if position != due {
            self.check.wrong(
                "gap",
                TABLE,
                row,
                format!("position {position} of chain {chain_id} follows where {due} is due"),
            );
        } else if receipt.is_some_and(|receipt| receipt.link().follows(before).is_none()) {
            self.check.wrong("link", TABLE, row, format!("it is not linked to position {due} - 1 of chain {chain_id}"));
        } else if self.chain.as_ref().is_some_and(|chain| chain.sequence >= stored.sequence) {
            self.check.wrong("order", TABLE, row, "it was stored before the receipt that it is linked to");
        }
        // Also behind a fault: the next receipt is compared with what is stored before it, so one fault is reported once.
        let tip = ChainTip { receipt_id: stored.id, hash: stored.hash, position };
        let (sequence, kind) = (stored.sequence, stored.counted());
        let chain = self.chain.get_or_insert_with(|| ChainSoFar {
            chain_id,
            tenants: BTreeSet::new(),
            tip: tip.clone(),
            sequence,
            counts: Counts::default(),
        });
        (chain.tip, chain.sequence) = (tip, sequence);
        chain.tenants.insert(stored.tenant.clone());
        chain.counts.add([&[Value::from(stored.tenant.as_str())], kind.as_slice()].concat());
    }

    fn end_chain(&mut self) {
        self.check.checked.chains += u64::from(self.chain.is_some());
        self.ended.extend(self.chain.take());
    }

    /// Compares chains with what is counted of each.
    fn compare_ended(&mut self, db: &Db<'_>) -> Result<(), Fault> {
        for mut chain in std::mem::take(&mut self.ended) {
            // PostgreSQL has no constraint for it (`Column::references`).
            let tenant: Option<String> =
                db.value("SELECT tenant FROM chains WHERE chain_id = $1", &values![chain.chain_id])?;
            let row = chain.chain_id.to_string();
            match tenant {
                None => self.check.wrong("orphan", "chains", row, "the chain of receipts has no row"),
                Some(tenant) if chain.tenants.iter().any(|of| *of != tenant) => {
                    self.check.wrong("column", "chains", row, "its receipts have another value than the column tenant");
                }
                Some(_) => {}
            }
            let sql = "SELECT tenant, issuer, task_type, verdict, standing, receipts FROM receipt_counts
                       WHERE tenant = $1 AND chain_id = $2";
            for tenant in &chain.tenants {
                for (key, counted) in db.all(sql, &values![tenant, chain.chain_id], counted)? {
                    chain.counts.take(key, counted);
                    self.counted = self.counted.saturating_add(counted);
                }
            }
            chain.counts.report(self.check, "receipt_counts");
        }
        Ok(())
    }

    fn compare(self, db: &Db<'_>) -> Result<(), Fault> {
        let Self { check, mut all, hours, counted, .. } = self;
        let counts =
            Scan { table: "receipt_counts", key: RECEIPT_COUNTS.key, columns: "receipts", condition: "receipts <> 0" };
        let mut of_chains = 0_i64;
        counts.each(
            db,
            &mut all,
            |all, row| {
                let chain: i64 = row.get(1)?;
                if chain == ALL_CHAINS {
                    let key = [0, 2, 3, 4, 5].into_iter().map(|column| row.get(column)).collect::<Result<_, _>>()?;
                    all.take(key, row.get(6)?);
                } else {
                    of_chains = of_chains.saturating_add(row.get(6)?)
                }
                Ok(())
            },
            |_, _| Ok(()),
        )?;
        all.report(check, "receipt_counts");
        // Chains that have receipts were compared one by one.
        if of_chains != counted {
            let detail =
                format!("{} receipts of chains without receipts are counted", of_chains.saturating_sub(counted));
            check.wrong("counts", "receipt_counts", "chains".to_owned(), detail);
        }
        let scan =
            Scan { table: "verdict_counts", key: VERDICT_COUNTS.key, columns: "receipts", condition: "receipts <> 0" };
        hours.compare(db, check, &scan, 3)?;
        times(db, check, TABLE, "receipt_times", "verified_at")
    }
}

fn counted(row: &Row<'_>) -> Result<(Vec<Value>, i64), Fault> {
    let key = (0..5).map(|column| row.get(column)).collect::<Result<_, _>>()?;
    Ok((key, row.get(5)?))
}

impl Stored {
    fn read(row: &Fields<'_>) -> Result<Self, Fault> {
        let chain_id: Option<i64> = row.get("chain_id")?;
        let position: Option<u64> = row.get("position")?;
        Ok(Self {
            sequence: row.get("sequence")?,
            tenant: row.get("tenant")?,
            id: row.get("receipt_id")?,
            issuer: row.get("issuer")?,
            hash: Sha256Digest::from_bytes(row.get("hash")?),
            content: row.get("content")?,
            verified_at: row.get("verified_at")?,
            verdict: row.get("verdict")?,
            tier: row.get("tier")?,
            task_id: row.get("task_id")?,
            task_type: row.get("task_type")?,
            output: row.get("output")?,
            trust: row.get("trust")?,
            is_superseded: row.get::<Option<i64>>("superseded_by")?.is_some(),
            place: chain_id.zip(position),
        })
    }

    /// What a receipt is counted by, but for its tenant.
    fn counted(&self) -> Vec<Value> {
        let standing = match (self.trust.as_deref(), self.is_superseded) {
            (Some(trust), _) if trust != "trusted" => "untrusted",
            (_, true) => "superseded",
            (Some(_), false) => "trusted",
            (None, false) => "own",
        };
        let task_type = type_key(self.task_type.as_deref());
        values![self.issuer.as_str(), task_type, self.verdict.as_str(), standing].into()
    }

    /// What of the columns is not as the document says.
    fn differences(&self, receipt: &Receipt) -> Option<(&'static str, String)> {
        if receipt.hash() != self.hash {
            return Some(("changed", "the document was changed after it was stored".to_owned()));
        }
        let task = receipt.task();
        let columns = [
            ("receipt_id", receipt.receipt_id() == self.id),
            ("issuer", receipts::issuer(receipt) == self.issuer),
            ("content", *receipt.content().as_bytes() == self.content),
            ("verified_at", receipt.verified_at().unix_millis() == self.verified_at),
            ("verdict", receipt.verdict().as_str() == self.verdict),
            ("tier", i64::from(receipt.tier()) == self.tier),
            ("task_id", task.and_then(|task| task.task_id.as_ref()) == self.task_id.as_ref()),
            ("task_type", task.and_then(|task| task.task_type.as_ref()) == self.task_type.as_ref()),
            ("output", receipt.hashes().output.to_string() == self.output),
        ];
        let wrong: Vec<&str> = columns.iter().filter(|(_, is_same)| !is_same).map(|(name, _)| *name).collect();
        (!wrong.is_empty())
            .then(|| ("column", format!("the document has another value than the columns {}", wrong.join(", "))))
    }
}

/// Compares the times of blocks with those of their rows.
pub(super) fn times(
    db: &Db<'_>,
    check: &mut Check<'_>,
    rows: &'static str,
    times: &'static str,
    time: &str,
) -> Result<(), Fault> {
    let of_block = |function: &str| {
        format!(
            "(SELECT {function}({time}) FROM {rows} WHERE {rows}.sequence >= block * 256
              AND {rows}.sequence < block * 256 + 256)"
        )
    };
    // Two statements: blocks whose times are wrong, and rows whose block is missing.
    let wrong = format!(
        "SELECT block FROM {times} WHERE block > $1 AND block <= $2
         AND (earliest IS DISTINCT FROM {} OR latest IS DISTINCT FROM {}) ORDER BY block",
        of_block("min"),
        of_block("max")
    );
    windows(db, &format!("SELECT max(block) FROM {times}"), |first, last| {
        for block in db.all(&wrong, &values![first, last], |row| row.get::<i64>(0))? {
            let detail = format!("it does not say when the rows of the block in `{rows}` were made");
            check.wrong("times", times, block.to_string(), detail);
        }
        Ok(())
    })?;
    let missing = format!(
        "SELECT sequence FROM {rows} WHERE sequence > $1 AND sequence <= $2
         AND NOT EXISTS (SELECT 1 FROM {times} WHERE block = {rows}.sequence >> 8) ORDER BY sequence LIMIT 100"
    );
    windows(db, &format!("SELECT max(sequence) FROM {rows}"), |first, last| {
        for sequence in db.all(&missing, &values![first, last], |row| row.get::<i64>(0))? {
            check.wrong("times", times, (sequence >> 8).to_string(), "the block of stored rows is missing");
        }
        Ok(())
    })
}
