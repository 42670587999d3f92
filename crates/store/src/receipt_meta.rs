//! What the store knows of a receipt beside its document: its tenant, its chain, and whether it still counts.

use proofmark_receipt::{Receipt, ReceiptId, Trust};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use crate::column;
use crate::page::MAX_LISTED;
use crate::spends::sql_is_spent;
use crate::tenant::Tenant;

/// A receipt and what the store knows of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReceipt {
    pub receipt: Receipt,
    pub tenant: Tenant,
    /// For a receipt issued elsewhere, whether its signer was trusted when it came; none when it was issued here.
    pub trust: Option<Trust>,
    /// The receipt that has taken its place.
    pub superseded_by: Option<ReceiptId>,
    /// The name of its chain.
    pub chain: Option<String>,
    pub spent: bool,
    /// How many more receipts have its id, by other issuers, where it was looked up by its id.
    pub others: usize,
}

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

/// Reads the columns of [`with_place`], of all receipts.
// A chain of an old store whose receipts are of several tenants is the command line's (`migrate`); the tenant in the
// join hides its name from the others.
pub(crate) const SELECT: &str = concat!(
    "SELECT receipts.hash, receipts.document, receipts.sequence, receipts.tenant, receipts.trust,
            (SELECT newer.receipt_id FROM receipts AS newer WHERE newer.sequence = receipts.superseded_by),
            chains.name, ",
    sql_is_spent!("receipts.tenant", "receipts.content", "receipts.receipt_id"),
    " FROM receipts LEFT JOIN chains ON chains.chain_id = receipts.chain_id AND chains.tenant = receipts.tenant"
);

/// Which of several receipts with one id comes first: one issued here, then one whose signer was trusted when it came.
const BEST_FIRST: &str = "ORDER BY tenant = 'local' DESC, trust IS NOT NULL, trust = 'trusted' DESC, sequence";

pub(crate) fn with_place(row: &Row<'_>) -> rusqlite::Result<StoredReceipt> {
    let trust: Option<String> = row.get(4)?;
    let superseded = row.get::<_, Option<[u8; 16]>>(5)?.is_some();
    Ok(StoredReceipt {
        receipt: column::receipt(row)?,
        tenant: Tenant::stored(row.get_ref(3)?.as_str()?),
        trust: trust.map(|word| read_trust(&word)).transpose()?,
        superseded_by: superseded.then(|| column::receipt_id(row, 5)).transpose()?,
        chain: row.get(6)?,
        spent: row.get(7)?,
        others: 0,
    })
}

/// The receipt with this id, of one tenant or of any; of several the best. `issuer` narrows it to one signer.
pub(crate) fn receipt(
    connection: &Connection,
    tenant: Option<&Tenant>,
    id: &ReceiptId,
    issuer: Option<&str>,
) -> rusqlite::Result<Option<StoredReceipt>> {
    // Only sequence numbers are sorted, not documents.
    let sequences = format!(
        "SELECT sequence FROM receipts WHERE receipt_id = ?1 AND (?2 IS NULL OR tenant = ?2)
         AND (?3 IS NULL OR issuer = ?3) {BEST_FIRST} LIMIT ?4"
    );
    let values = params![id.as_bytes(), tenant.map(Tenant::as_str), issuer, MAX_LISTED as i64];
    let mut statement = connection.prepare_cached(&sequences)?;
    let sequences: Vec<i64> = statement.query_map(values, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let Some((best, others)) = sequences.split_first() else { return Ok(None) };
    let sql = format!("{SELECT} WHERE receipts.sequence = ?1");
    let best = connection.prepare_cached(&sql)?.query_row([best], with_place)?;
    Ok(Some(StoredReceipt { others: others.len(), ..best }))
}

/// The receipt of the tenant's job with this id: issued here, for its request.
pub(crate) fn job_receipt(
    connection: &Connection,
    tenant: &Tenant,
    id: &ReceiptId,
) -> rusqlite::Result<Option<StoredReceipt>> {
    // `trust` is NULL exactly where a receipt was issued here.
    let sql = format!(
        "{SELECT} WHERE receipts.tenant = ?1 AND receipts.receipt_id = ?2 AND receipts.trust IS NULL
         AND EXISTS (SELECT 1 FROM requests WHERE requests.sequence = receipts.sequence)"
    );
    connection.prepare_cached(&sql)?.query_row(params![tenant.as_str(), id.as_bytes()], with_place).optional()
}

pub(crate) fn request(connection: &Connection, tenant: &Tenant, id: &ReceiptId) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT requests.document FROM requests JOIN receipts USING (sequence)
               WHERE receipts.tenant = ?1 AND receipts.receipt_id = ?2 AND receipts.trust IS NULL";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(params![tenant.as_str(), id.as_bytes()], |row| row.get(0)).optional()
}

pub(crate) fn verdict_counts(
    connection: &Connection,
    tenant: &Tenant,
    filter: &CountFilter<'_>,
) -> rusqlite::Result<VerdictCounts> {
    let mut sql = "SELECT verdict, count(*), superseded_by IS NOT NULL, trust IS NOT NULL,
                          trust IS NOT NULL AND trust <> 'trusted'
                   FROM receipts WHERE tenant = ?"
        .to_owned();
    let mut values = vec![Value::from(tenant.as_str().to_owned())];
    let conditions = [
        (filter.chain, " AND (chain_id, tenant) IN (SELECT chain_id, chains.tenant FROM chains WHERE name = ?)"),
        (filter.signer, " AND issuer = ?"),
        (filter.task_type, " AND task_type = ?"),
    ];
    for (value, condition) in conditions {
        if let Some(value) = value {
            sql += condition;
            values.push(value.to_owned().into());
        }
    }
    let mut statement = connection.prepare_cached(&(sql + " GROUP BY 1, 3, 4, 5"))?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut counts = VerdictCounts::default();
    while let Some(row) = rows.next()? {
        let count = column::count(row, 1)?;
        let (superseded, elsewhere, untrusted) = (row.get(2)?, row.get(3)?, row.get(4)?);
        // First, and never by verdict: anyone can issue receipts and bring them here.
        if untrusted {
            counts.untrusted += count;
            continue;
        }
        if superseded {
            counts.superseded += count;
            continue;
        }
        if elsewhere {
            counts.issued_elsewhere += count;
        }
        match row.get_ref(0)?.as_str()? {
            "pass" => counts.pass += count,
            "fail" => counts.fail += count,
            "partial" => counts.partial += count,
            "error" => counts.error += count,
            other => return Err(column::changed(0, Type::Text, format!("unknown verdict `{other}`"))),
        }
    }
    Ok(counts)
}

fn read_trust(word: &str) -> rusqlite::Result<Trust> {
    let known = [Trust::Trusted, Trust::Untrusted, Trust::Unknown].into_iter().find(|trust| trust.as_str() == word);
    known.ok_or_else(|| column::changed(4, Type::Text, format!("unknown trust `{word}`")))
}
