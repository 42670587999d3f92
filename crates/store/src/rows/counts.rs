//! How many receipts have which verdict: counted as they are stored, so that an answer does not look through them.

use std::ops::ControlFlow;

use proofmark_receipt::{Trust, Verdict};

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::group::settle::Draft;
use crate::insert::{Insert, Set};
use crate::rows::chains::chain_id;
use crate::rows::page::MAX_LISTED;
use crate::statement::row;
use crate::tables::RECEIPT_COUNTS;
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// Which receipts to count. What is `None` does not narrow the count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountFilter<'a> {
    pub chain: Option<&'a str>,
    /// Only those this signer signed, in the spelling of [`proofmark_receipt::SignerId`].
    pub signer: Option<&'a str>,
    pub task_type: Option<&'a str>,
}

/// How many receipts there are of each verdict, and of those that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    pub pass: u64,
    pub fail: u64,
    pub partial: u64,
    pub error: u64,
    /// How many of these were issued elsewhere, by signers who were trusted when they came.
    pub issued_elsewhere: u64,
    /// How many more another has superseded.
    pub superseded: u64,
    /// How many more were issued elsewhere by signers who were not trusted when they came.
    pub untrusted: u64,
}

/// How many receipts are about one type of task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskTypeCount {
    /// None where the receipts name none.
    pub task_type: Option<String>,
    pub passed: u64,
    pub others: u64,
}

/// What a receipt is counted by.
pub(crate) struct Counted<'a> {
    /// The chain it is on.
    pub(crate) chain_id: Option<i64>,
    pub(crate) issuer: &'a str,
    pub(crate) task_type: Option<&'a str>,
    pub(crate) verdict: &'a str,
    pub(crate) standing: Standing,
}

/// How a receipt counts.
#[derive(Clone, Copy)]
pub(crate) enum Standing {
    Own,
    /// Issued elsewhere, by a signer who was trusted when it came.
    Trusted,
    /// Issued elsewhere, by a signer who was not trusted when it came.
    Untrusted,
    /// Another has taken its place.
    Superseded,
}

/// The number that stands for all chains together: SQLite numbers them from 1.
pub(crate) const ALL_CHAINS: i64 = 0;

impl Standing {
    /// Of a receipt that is being stored.
    pub(crate) fn of(trust: Option<Trust>) -> Self {
        match trust {
            None => Self::Own,
            Some(Trust::Trusted) => Self::Trusted,
            Some(Trust::Untrusted | Trust::Unknown) => Self::Untrusted,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Superseded => "superseded",
        }
    }
}

static COUNT: Insert = Insert::or_change(&RECEIPT_COUNTS, &[Set::Add("receipts")]);

impl Counted<'_> {
    /// Counts so many more of these receipts, in their chain and in all.
    pub(crate) fn add(&self, draft: &mut Draft<'_>, more: i64) {
        let task_type = type_key(self.task_type);
        // Twice, so that neither the count of a chain nor that of all chains adds up the other rows.
        for chain_id in [Some(ALL_CHAINS), self.chain_id].into_iter().flatten() {
            let row = row!(RECEIPT_COUNTS {
                tenant: draft.tenant.as_str(),
                chain_id: chain_id,
                issuer: self.issuer,
                task_type: &task_type,
                verdict: self.verdict,
                standing: self.standing.as_str(),
                receipts: more,
            });
            draft.note(&COUNT, row);
        }
    }
}

/// How the type of a task is stored: a text without one is of no type, and not of the empty one.
pub(crate) fn type_key(task_type: Option<&str>) -> String {
    task_type.map_or_else(String::new, |name| format!("={name}"))
}

/// How many receipts of an issuer the tenant has in this chain and in all, and how many of all issuers the chain has.
pub(crate) fn sizes(db: &Db<'_>, tenant: &Tenant, chain_id: i64, issuer: &str) -> Result<(i64, i64, i64), Fault> {
    let sql =
        "SELECT CAST(coalesce(sum(CASE WHEN chain_id = $2 AND issuer = $3 THEN receipts ELSE 0 END), 0) AS BIGINT),
                      CAST(coalesce(sum(CASE WHEN chain_id = $4 THEN receipts ELSE 0 END), 0) AS BIGINT),
                      CAST(coalesce(sum(CASE WHEN chain_id = $2 THEN receipts ELSE 0 END), 0) AS BIGINT)
               FROM receipt_counts
               WHERE (tenant = $1 AND chain_id = $2) OR (tenant = $1 AND chain_id = $4 AND issuer = $3)";
    let values = values![tenant.as_str(), chain_id, issuer, ALL_CHAINS];
    db.only(sql, &values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

pub(crate) fn verdict_counts(db: &Db<'_>, tenant: &Tenant, filter: &CountFilter<'_>) -> Result<VerdictCounts, Fault> {
    let chain = match filter.chain {
        None => Some(ALL_CHAINS),
        Some(name) => chain_id(db, tenant, name)?,
    };
    // Without a chain of this name the answer is that it has no receipts, which is no error.
    let Some(chain) = chain else { return Ok(VerdictCounts::default()) };
    let mut sql =
        "SELECT verdict, standing, receipts FROM receipt_counts WHERE tenant = $1 AND chain_id = $2".to_owned();
    let mut values: Vec<Value> = values![tenant.as_str(), chain].into();
    let task_type = filter.task_type.map(|name| type_key(Some(name)));
    for (column, value) in [("issuer", filter.signer.map(str::to_owned)), ("task_type", task_type)] {
        if let Some(value) = value {
            values.push(value.into());
            sql += &format!(" AND {column} = ${}", values.len());
        }
    }
    let mut counts = VerdictCounts::default();
    db.each(&sql, &values, |row| {
        counts.add(row.text(0)?, row.text(1)?, row.get(2)?)?;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(counts)
}

/// How many receipts there are of each type of task, those that have most first; at most `limit`. What another has superseded,
/// and what was issued elsewhere by signers who were not trusted, is not counted.
pub(crate) fn by_task_type(db: &Db<'_>, tenant: &Tenant, limit: usize) -> Result<Vec<TaskTypeCount>, Fault> {
    let sql = "SELECT task_type, CAST(sum(CASE WHEN verdict = 'pass' THEN receipts ELSE 0 END) AS BIGINT),
                      CAST(sum(receipts) AS BIGINT) AS whole
               FROM receipt_counts WHERE tenant = $1 AND chain_id = $2 AND standing IN ('own', 'trusted')
               GROUP BY task_type ORDER BY whole DESC, task_type LIMIT $3";
    db.all(sql, &values![tenant.as_str(), ALL_CHAINS, limit.min(MAX_LISTED)], |row| {
        let (passed, whole): (u64, u64) = (row.get(1)?, row.get(2)?);
        let task_type = row.text(0)?.strip_prefix('=').map(str::to_owned);
        Ok(TaskTypeCount { task_type, passed, others: whole.saturating_sub(passed) })
    })
}

impl VerdictCounts {
    fn add(&mut self, verdict: &str, standing: &str, receipts: u64) -> Result<(), Fault> {
        match standing {
            // Never by verdict: anyone can issue receipts and bring them here.
            "untrusted" => self.untrusted += receipts,
            "superseded" => self.superseded += receipts,
            "own" | "trusted" => {
                if standing == "trusted" {
                    self.issued_elsewhere += receipts;
                }
                match verdict.parse() {
                    Ok(Verdict::Pass) => self.pass += receipts,
                    Ok(Verdict::Fail) => self.fail += receipts,
                    Ok(Verdict::Partial) => self.partial += receipts,
                    Ok(Verdict::Error) => self.error += receipts,
                    Err(_) => return Err(Fault::changed(0, format!("unknown verdict `{verdict}`"))),
                }
            }
            other => return Err(Fault::changed(1, format!("receipts counted as `{other}`"))),
        }
        Ok(())
    }
}
