//! What the store knows of a receipt beside its document: its tenant, its chain, and whether it still counts.

use proofmark_receipt::{Receipt, ReceiptId, Trust};
use std::ops::ControlFlow;

use crate::engine::db::Db;
use crate::fault::Fault;
use crate::row::Row;
use crate::rows::column;
use crate::rows::listing;
use crate::rows::page::MAX_LISTED;
use crate::rows::spends::is_spent_sql;
use crate::tenant::Tenant;
use crate::value::{Value, values};

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

/// Selects what [`with_place`] reads, of receipts.
fn select() -> String {
    format!(
        "SELECT receipts.hash, receipts.document, receipts.sequence, receipts.tenant, receipts.trust,
                (SELECT newer.receipt_id FROM receipts AS newer WHERE newer.sequence = receipts.superseded_by),
                chains.name, {}
         FROM receipts LEFT JOIN chains ON chains.chain_id = receipts.chain_id",
        is_spent_sql("receipts.tenant", "receipts.content", "receipts.receipt_id")
    )
}

/// Hands over the receipts in these rows, newest first; a fault for each that was changed since it was stored.
pub(crate) fn at(
    db: &Db<'_>,
    sequences: &[i64],
    mut take: impl FnMut(Result<StoredReceipt, Fault>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let sql = format!("{} WHERE {} ORDER BY receipts.sequence DESC", select(), db.among("receipts.sequence", "$1"));
    db.each(&sql, &[Value::numbers(sequences)], |row| take(with_place(row)).map(ControlFlow::Continue))
}

fn with_place(row: &Row<'_>) -> Result<StoredReceipt, Fault> {
    let trust: Option<String> = row.get(4)?;
    let superseded = row.get::<Option<[u8; 16]>>(5)?.is_some();
    Ok(StoredReceipt {
        receipt: column::receipt(row)?,
        tenant: Tenant::stored(row.text(3)?),
        trust: trust.map(|word| read_trust(&word)).transpose()?,
        superseded_by: superseded.then(|| column::receipt_id(row, 5)).transpose()?,
        chain: row.get(6)?,
        spent: row.get(7)?,
        others: 0,
    })
}

/// The receipt with this id, of the tenant or of any; of several the best. `issuer` narrows it to one signer.
pub(crate) fn receipt(
    db: &Db<'_>,
    tenant: Option<&Tenant>,
    id: &ReceiptId,
    issuer: Option<&str>,
) -> Result<Option<StoredReceipt>, Fault> {
    let (tenants, owner) = match tenant {
        Some(_) => (String::new(), "receipts.tenant = $4"),
        None => (listing::each_once("receipts", &[], 0, &["tenant"]), "receipts.tenant = value_0"),
    };
    // Without a condition of its own the join is a cross join, which keeps SQLite to this order.
    let from = if tenant.is_some() { "receipts" } else { "once_0 CROSS JOIN receipts" };
    let sql = format!(
        "{tenants} SELECT receipts.tenant <> 'local', trust IS NOT NULL, trust IS DISTINCT FROM 'trusted', sequence
         FROM {from} WHERE {owner} AND receipt_id = $1 AND (CAST($2 AS TEXT) IS NULL OR issuer = $2) LIMIT $3"
    );
    let mut values: Vec<Value> = values![id.as_bytes(), issuer, MAX_LISTED].into();
    values.extend(tenant.map(|tenant| tenant.as_str().into()));
    // One issued here comes first, then one whose signer was trusted when it came, then the one that came first.
    let order = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let found: Vec<(bool, bool, bool, i64)> = db.all(&sql, &values, order)?;
    let Some((_, _, _, best)) = found.iter().min() else { return Ok(None) };
    let others = found.len().saturating_sub(1);
    let best = db.only(&format!("{} WHERE receipts.sequence = $1", select()), &values![*best], with_place)?;
    Ok(Some(StoredReceipt { others, ..best }))
}

/// The receipt of the tenant's job with this id: issued here, for its request.
pub(crate) fn job_receipt(db: &Db<'_>, tenant: &Tenant, id: &ReceiptId) -> Result<Option<StoredReceipt>, Fault> {
    // `trust` is NULL exactly where a receipt was issued here.
    let sql = format!(
        "{} WHERE receipts.tenant = $1 AND receipts.receipt_id = $2 AND receipts.trust IS NULL
         AND EXISTS (SELECT 1 FROM requests WHERE requests.sequence = receipts.sequence)",
        select()
    );
    db.one(&sql, &values![tenant.as_str(), id.as_bytes()], with_place)
}

pub(crate) fn request(db: &Db<'_>, tenant: &Tenant, id: &ReceiptId) -> Result<Option<String>, Fault> {
    let sql = "SELECT requests.document FROM requests JOIN receipts USING (sequence)
               WHERE receipts.tenant = $1 AND receipts.receipt_id = $2 AND receipts.trust IS NULL";
    db.value(sql, &values![tenant.as_str(), id.as_bytes()])
}

fn read_trust(word: &str) -> Result<Trust, Fault> {
    let known = [Trust::Trusted, Trust::Untrusted, Trust::Unknown].into_iter().find(|trust| trust.as_str() == word);
    known.ok_or_else(|| Fault::changed(4, format!("unknown trust `{word}`")))
}
