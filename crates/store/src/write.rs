//! Everything the writer writes.

use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Json, Receipt, ReceiptId, Sha256Digest, SignerId, Trust};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::bundle::BundleRow;
use crate::error::StoreError;
use crate::jobs::Change;
use crate::read;
use crate::store::NewReceipt;

/// The longest name of a chain, in bytes.
pub const MAX_CHAIN_NAME: usize = 200;

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
            Self::Receipt(row) => insert_receipt(transaction, row),
            Self::Bundle(row) => row.apply(transaction),
            Self::Jobs(change) => change.apply(transaction).map(Ok),
            Self::Probe => probe(transaction).map(Ok),
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
    pub(crate) tenant: String,
    hash: Sha256Digest,
    verified_at: i64,
    verdict: &'static str,
    tier: u8,
    task_id: Option<String>,
    task_type: Option<String>,
    output: String,
    signer: Option<String>,
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
    pub(crate) fn new(new: NewReceipt) -> Result<Self, StoreError> {
        let NewReceipt { receipt, chain, tenant, trust } = new;
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
            verified_at: receipt.verified_at().unix_millis(),
            verdict: receipt.verdict().as_str(),
            tier: receipt.tier(),
            task_id: receipt.task().and_then(|task| task.task_id.clone()),
            task_type: receipt.task().and_then(|task| task.task_type.clone()),
            output: receipt.hashes().output.to_string(),
            signer: signer(&receipt),
            trust: trust.map(Trust::as_str),
            document,
            chain: chain.map(|chain| Link::new(chain, &receipt)).transpose()?,
            tenant,
        })
    }
}

/// The signer named, in its one spelling; one that can not be read stays as it is written.
fn signer(receipt: &Receipt) -> Option<String> {
    let written = &receipt.signature()?.signer_id;
    Some(written.parse().map_or_else(|_| written.clone(), |signer: SignerId| signer.to_string()))
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

    /// The place after the chain's tip.
    fn next(connection: &Connection, chain: &str) -> rusqlite::Result<Self> {
        Ok(match read::tip(connection, chain)? {
            None => Self { position: 0, previous: None },
            Some(tip) => Self { position: tip.position.saturating_add(1), previous: Some((tip.receipt_id, tip.hash)) },
        })
    }
}

pub(crate) fn insert_receipt(
    transaction: &Transaction<'_>,
    row: &ReceiptRow,
) -> rusqlite::Result<Result<(), StoreError>> {
    if let Some(refused) = refusal(transaction, row)? {
        return Ok(Err(refused));
    }
    let Some(link) = &row.chain else {
        return insert_row(transaction, row, None).map(Ok);
    };
    let position = Place::next(transaction, &link.chain)?.position;
    let chain_id = chain_id(transaction, &link.chain)?;
    insert_row(transaction, row, Some((chain_id, position.cast_signed()))).map(Ok)
}

/// Why the receipt can not be kept, if so.
pub(crate) fn refusal(connection: &Connection, row: &ReceiptRow) -> rusqlite::Result<Option<StoreError>> {
    if is_kept(connection, row.receipt_id)? {
        return Ok(Some(StoreError::Duplicate(row.receipt_id)));
    }
    let Some(link) = &row.chain else { return Ok(None) };
    let next = Place::next(connection, &link.chain)?;
    let moved = link.place.as_ref() != Some(&next);
    Ok(moved.then(|| StoreError::ChainMoved { chain: link.chain.clone(), next: next.position }))
}

fn is_kept(connection: &Connection, id: ReceiptId) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM receipts WHERE receipt_id = ?1")?;
    statement.exists([id.as_bytes()])
}

/// The chain of this name; it is made if there is none.
fn chain_id(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<i64> {
    let mut statement = transaction.prepare_cached("SELECT chain_id FROM chains WHERE name = ?1")?;
    if let Some(id) = statement.query_row([name], |row| row.get(0)).optional()? {
        return Ok(id);
    }
    transaction.prepare_cached("INSERT INTO chains (name) VALUES (?1)")?.insert([name])
}

fn insert_row(transaction: &Transaction<'_>, row: &ReceiptRow, place: Option<(i64, i64)>) -> rusqlite::Result<()> {
    let sql = "INSERT INTO receipts
                   (receipt_id, hash, verified_at, verdict, tier, task_id, chain_id, position, document, tenant,
                    signer, task_type, trust, output)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
    transaction.prepare_cached(sql)?.execute(params![
        row.receipt_id.as_bytes(),
        row.hash.as_bytes(),
        row.verified_at,
        row.verdict,
        row.tier,
        row.task_id,
        place.map(|(chain_id, _)| chain_id),
        place.map(|(_, position)| position),
        row.document,
        row.tenant,
        row.signer,
        row.task_type,
        row.trust,
        row.output,
    ])?;
    Ok(())
}
