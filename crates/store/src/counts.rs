//! How many receipts have which verdict: counted as they are stored, so that an answer does not look through them.

use proofmark_receipt::{Trust, Verdict};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, params, params_from_iter};

use crate::column;
use crate::read;
use crate::scope::Scope;
use crate::tenant::Tenant;

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
const ALL_CHAINS: i64 = 0;

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

impl Counted<'_> {
    /// Counts so many more of these receipts, in their chain and in all.
    pub(crate) fn add(&self, scope: &Scope<'_>, more: i64) -> rusqlite::Result<()> {
        let sql = "INSERT INTO receipt_counts (tenant, chain_id, issuer, task_type, verdict, standing, receipts)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                   ON CONFLICT DO UPDATE SET receipts = receipts + ?7";
        let mut statement = scope.connection.prepare_cached(sql)?;
        let task_type = type_key(self.task_type);
        for chain_id in [Some(ALL_CHAINS), self.chain_id].into_iter().flatten() {
            let tenant = scope.tenant.as_str();
            let standing = self.standing.as_str();
            statement.execute(params![tenant, chain_id, self.issuer, task_type, self.verdict, standing, more])?;
        }
        Ok(())
    }
}

/// How the type of a task is stored: a text without one is of no type, and not of the empty one.
fn type_key(task_type: Option<&str>) -> String {
    task_type.map_or_else(String::new, |name| format!("={name}"))
}

pub(crate) fn verdict_counts(
    connection: &Connection,
    tenant: &Tenant,
    filter: &CountFilter<'_>,
) -> rusqlite::Result<VerdictCounts> {
    let chain = match filter.chain {
        None => Some(ALL_CHAINS),
        Some(name) => read::chain_id(connection, tenant, name)?,
    };
    let Some(chain) = chain else { return Ok(VerdictCounts::default()) };
    let mut sql = "SELECT verdict, standing, receipts FROM receipt_counts WHERE tenant = ? AND chain_id = ?".to_owned();
    let mut values = vec![Value::from(tenant.as_str().to_owned()), chain.into()];
    let task_type = filter.task_type.map(|name| type_key(Some(name)));
    for (value, condition) in [(filter.signer.map(str::to_owned), " AND issuer = ?"), (task_type, " AND task_type = ?")]
    {
        if let Some(value) = value {
            sql += condition;
            values.push(value.into());
        }
    }
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut counts = VerdictCounts::default();
    while let Some(row) = rows.next()? {
        let receipts = column::count(row, 2)?;
        counts.add(row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?, receipts)?;
    }
    Ok(counts)
}

impl VerdictCounts {
    fn add(&mut self, verdict: &str, standing: &str, receipts: u64) -> rusqlite::Result<()> {
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
                    Err(_) => return Err(column::changed(0, Type::Text, format!("unknown verdict `{verdict}`"))),
                }
            }
            other => return Err(column::changed(1, Type::Text, format!("receipts counted as `{other}`"))),
        }
        Ok(())
    }
}
