//! Everything the writer writes.

use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Json, Receipt, ReceiptId, Sha256Digest, SignerId, Trust};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::bundle::BundleRow;
use crate::error::StoreError;
use crate::jobs::Change;
use crate::read;
use crate::store::NewReceipt;
use crate::tenant::Tenant;

/// The longest name of a chain, in bytes.
pub const MAX_CHAIN_NAME: usize = 400;

/// The issuer of a receipt without a signature.
const UNSIGNED: &str = "unsigned";

/// How many bytes a probe writes.
const PROBE_BYTES: i64 = 64 << 10;

/// One thing to write. A further kind is one arm here and one function that [`Write::apply`] calls.
pub(crate) enum Write {
    Receipt(Box<ReceiptRow>),
    Bundle(Box<BundleRow>),
    Jobs(Change),
    Probe,
}

impl Write {
    /// Writes it, or answers why it is refused. Whether to refuse is decided before the first change, so that a refusal
    /// leaves nothing behind and the group it is part of goes on.
    ///
    /// # Errors
    /// What fails here fails the whole group.
    pub(crate) fn apply(&self, transaction: &Transaction<'_>) -> rusqlite::Result<Result<(), StoreError>> {
        match self {
            Self::Receipt(row) => insert_receipt(transaction, row).map(|inserted| inserted.map(drop)),
            Self::Bundle(row) => row.apply(transaction),
            Self::Jobs(change) => change.apply(transaction).map(Ok),
            Self::Probe => probe(transaction).map(Ok),
        }
    }

    /// When it was asked for, in milliseconds after 1970-01-01T00:00:00Z; 0 where that was not said.
    pub(crate) fn at(&self) -> i64 {
        match self {
            Self::Receipt(_) | Self::Probe => 0,
            Self::Bundle(row) => row.at(),
            Self::Jobs(change) => change.at(),
        }
    }
}

/// Writes as much as a receipt of ordinary size needs, and something new each time.
fn probe(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    let sql = "INSERT INTO probe (probe, probed, filler) VALUES (1, 1, randomblob(?1))
               ON CONFLICT (probe) DO UPDATE SET probed = probed + 1, filler = excluded.filler";
    transaction.prepare_cached(sql)?.execute([PROBE_BYTES]).map(drop)
}

/// A receipt taken apart by the thread that submits it, to keep the writer's own work short.
pub(crate) struct ReceiptRow {
    pub(crate) receipt_id: ReceiptId,
    pub(crate) tenant: Tenant,
    hash: Sha256Digest,
    content: Sha256Digest,
    verified_at: i64,
    verdict: &'static str,
    tier: u8,
    task_id: Option<String>,
    task_type: Option<String>,
    output: String,
    issuer: String,
    trust: Option<&'static str>,
    document: String,
    chain: Option<Link>,
}

/// Where a receipt stands in a chain.
struct Link {
    chain: String,
    place: Option<Place>,
}

/// A receipt's `chain_position`, and `previous_receipt` and `previous_receipt_hash`, which the first one has not.
#[derive(PartialEq)]
struct Place {
    position: u64,
    previous: Option<(ReceiptId, Sha256Digest)>,
}

impl ReceiptRow {
    /// The row of a receipt.
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] and [`StoreError::ChainName`].
    pub(crate) fn new(tenant: Tenant, new: NewReceipt) -> Result<Self, StoreError> {
        let NewReceipt { receipt, chain, trust } = new;
        let document = receipt.to_text();
        if document.len() > MAX_BYTES {
            return Err(StoreError::TooLarge {
                receipt_id: receipt.receipt_id(),
                bytes: document.len(),
                max: MAX_BYTES,
            });
        }
        Ok(Self {
            receipt_id: receipt.receipt_id(),
            hash: receipt.hash(),
            content: receipt.content(),
            verified_at: receipt.verified_at().unix_millis(),
            verdict: receipt.verdict().as_str(),
            tier: receipt.tier(),
            task_id: receipt.task().and_then(|task| task.task_id.clone()),
            task_type: receipt.task().and_then(|task| task.task_type.clone()),
            output: receipt.hashes().output.to_string(),
            issuer: issuer(&receipt),
            trust: trust.map(Trust::as_str),
            document,
            chain: chain.map(|chain| Link::new(chain, &receipt)).transpose()?,
            tenant,
        })
    }
}

/// The signer named, in its one spelling; one that cannot be read stays as it is written.
fn issuer(receipt: &Receipt) -> String {
    let Some(signature) = receipt.signature() else { return UNSIGNED.to_owned() };
    let written = &signature.signer_id;
    written.parse().map_or_else(|_| written.clone(), |signer: SignerId| signer.to_string())
}

impl Link {
    fn new(chain: String, receipt: &Receipt) -> Result<Self, StoreError> {
        if chain.is_empty() || chain.len() > MAX_CHAIN_NAME || chain.chars().any(char::is_control) {
            return Err(StoreError::ChainName(chain.chars().take(MAX_CHAIN_NAME).collect()));
        }
        let place = Place::of(receipt);
        Ok(Self { chain, place })
    }
}

impl Place {
    /// None when the metadata does not say it in full.
    fn of(receipt: &Receipt) -> Option<Self> {
        let position = receipt.tip()?.position;
        let text = |name| receipt.metadata().get(name).map(Json::as_str);
        let previous = match (text("previous_receipt"), text("previous_receipt_hash")) {
            (None, None) => None,
            (Some(Some(id)), Some(Some(hash))) => Some((id.parse().ok()?, hash.parse().ok()?)),
            (_, _) => return None,
        };
        Some(Self { position, previous })
    }

    /// The place after the tip of the tenant's chain.
    fn next(connection: &Connection, tenant: &Tenant, chain: &str) -> rusqlite::Result<Self> {
        Ok(match read::tip(connection, tenant, chain)? {
            None => Self { position: 0, previous: None },
            Some(tip) => Self { position: tip.position.saturating_add(1), previous: Some((tip.receipt_id, tip.hash)) },
        })
    }
}

/// Writes the row and answers its place in the table, or why it is refused.
pub(crate) fn insert_receipt(
    transaction: &Transaction<'_>,
    row: &ReceiptRow,
) -> rusqlite::Result<Result<i64, StoreError>> {
    if let Some(refused) = refusal(transaction, row)? {
        return Ok(Err(refused));
    }
    let Some(link) = &row.chain else {
        return insert_row(transaction, row, None).map(Ok);
    };
    let position = Place::next(transaction, &row.tenant, &link.chain)?.position;
    let chain_id = chain_id(transaction, &row.tenant, &link.chain)?;
    insert_row(transaction, row, Some((chain_id, position.cast_signed()))).map(Ok)
}

/// Why the receipt cannot be kept, if so.
pub(crate) fn refusal(connection: &Connection, row: &ReceiptRow) -> rusqlite::Result<Option<StoreError>> {
    if is_kept(connection, row)? {
        return Ok(Some(StoreError::Duplicate(row.receipt_id)));
    }
    let Some(link) = &row.chain else { return Ok(None) };
    let next = Place::next(connection, &row.tenant, &link.chain)?;
    let moved = link.place.as_ref() != Some(&next);
    Ok(moved.then(|| StoreError::ChainMoved { chain: link.chain.clone(), next: next.position }))
}

/// An id is unique for a tenant and an issuer, and of what was issued here for a tenant: nobody takes an id from another.
fn is_kept(connection: &Connection, row: &ReceiptRow) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM receipts WHERE tenant = ?1 AND receipt_id = ?2
               AND (issuer = ?3 OR (?4 AND trust IS NULL))";
    let id = row.receipt_id.as_bytes();
    connection.prepare_cached(sql)?.exists(params![row.tenant.as_str(), id, row.issuer, row.trust.is_none()])
}

/// The tenant's chain of this name; it is made if there is none.
fn chain_id(transaction: &Transaction<'_>, tenant: &Tenant, name: &str) -> rusqlite::Result<i64> {
    let mut statement = transaction.prepare_cached("SELECT chain_id FROM chains WHERE tenant = ?1 AND name = ?2")?;
    if let Some(id) = statement.query_row([tenant.as_str(), name], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    transaction.prepare_cached("INSERT INTO chains (tenant, name) VALUES (?1, ?2)")?.insert([tenant.as_str(), name])
}

fn insert_row(transaction: &Transaction<'_>, row: &ReceiptRow, place: Option<(i64, i64)>) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO receipts
                   (receipt_id, hash, verified_at, verdict, tier, task_id, chain_id, position, document, tenant,
                    issuer, task_type, trust, output, content)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
    transaction.prepare_cached(sql)?.insert(params![
        row.receipt_id.as_bytes(),
        row.hash.as_bytes(),
        row.verified_at,
        row.verdict,
        row.tier,
        row.task_id,
        place.map(|(chain_id, _)| chain_id),
        place.map(|(_, position)| position),
        row.document,
        row.tenant.as_str(),
        row.issuer,
        row.task_type,
        row.trust,
        row.output,
        row.content.as_bytes(),
    ])
}
