//! What the store knows of a receipt beside its document: its tenant, its chain, and whether it still counts.

use proofmark_receipt::{Receipt, ReceiptId, Trust};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

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

/// Reads the columns of [`with_place`], of receipts.
// A chain of an old store whose receipts are of several tenants is the command line's (`migrate`); the tenant in the
// join hides its name from the others.
macro_rules! select {
    ($condition:literal) => {
        concat!(
            "SELECT receipts.hash, receipts.document, receipts.sequence, receipts.tenant, receipts.trust,
                    (SELECT newer.receipt_id FROM receipts AS newer WHERE newer.sequence = receipts.superseded_by),
                    chains.name, ",
            sql_is_spent!("receipts.tenant", "receipts.content", "receipts.receipt_id"),
            " FROM receipts
              LEFT JOIN chains ON chains.chain_id = receipts.chain_id AND chains.tenant = receipts.tenant
              WHERE ",
            $condition
        )
    };
}

/// The receipt with a sequence number.
pub(crate) const SELECT_ONE: &str = select!("receipts.sequence = ?1");

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

/// The receipt with this id, of any of these tenants; of several the best. `issuer` narrows it to one signer.
pub(crate) fn receipt(
    connection: &Connection,
    tenants: &[Tenant],
    id: &ReceiptId,
    issuer: Option<&str>,
) -> rusqlite::Result<Option<StoredReceipt>> {
    // One issued here comes first, then one whose signer was trusted when it came, then the one that came first.
    let sql = "SELECT tenant <> 'local', trust IS NOT NULL, trust IS NOT 'trusted', sequence FROM receipts
               WHERE tenant = ?1 AND receipt_id = ?2 AND (?3 IS NULL OR issuer = ?3) LIMIT ?4";
    let mut statement = connection.prepare_cached(sql)?;
    let mut found: Vec<(bool, bool, bool, i64)> = Vec::new();
    for tenant in tenants {
        let values = params![tenant.as_str(), id.as_bytes(), issuer, MAX_LISTED as i64];
        let rows = statement.query_map(values, |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
        found.extend(rows.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    let Some((_, _, _, best)) = found.iter().min() else { return Ok(None) };
    let others = found.len().saturating_sub(1);
    Ok(Some(StoredReceipt { others, ..connection.prepare_cached(SELECT_ONE)?.query_row([best], with_place)? }))
}

/// The receipt of the tenant's job with this id: issued here, for its request.
pub(crate) fn job_receipt(
    connection: &Connection,
    tenant: &Tenant,
    id: &ReceiptId,
) -> rusqlite::Result<Option<StoredReceipt>> {
    // `trust` is NULL exactly where a receipt was issued here.
    let sql = select!(
        "receipts.tenant = ?1 AND receipts.receipt_id = ?2 AND receipts.trust IS NULL
         AND EXISTS (SELECT 1 FROM requests WHERE requests.sequence = receipts.sequence)"
    );
    connection.prepare_cached(sql)?.query_row(params![tenant.as_str(), id.as_bytes()], with_place).optional()
}

pub(crate) fn request(connection: &Connection, tenant: &Tenant, id: &ReceiptId) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT requests.document FROM requests JOIN receipts USING (sequence)
               WHERE receipts.tenant = ?1 AND receipts.receipt_id = ?2 AND receipts.trust IS NULL";
    let mut statement = connection.prepare_cached(sql)?;
    statement.query_row(params![tenant.as_str(), id.as_bytes()], |row| row.get(0)).optional()
}

fn read_trust(word: &str) -> rusqlite::Result<Trust> {
    let known = [Trust::Trusted, Trust::Untrusted, Trust::Unknown].into_iter().find(|trust| trust.as_str() == word);
    known.ok_or_else(|| column::changed(4, Type::Text, format!("unknown trust `{word}`")))
}
