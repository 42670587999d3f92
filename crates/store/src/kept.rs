//! What is kept of a receipt beside its document: whose it is, and what became of it.

use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest, Trust};
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params, params_from_iter};

use crate::bundle::{Bundle, MAX_LISTED};
use crate::error::StoreError;
use crate::read;
use crate::tenant::Tenant;

/// A receipt and what is known of it.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredReceipt {
    /// The receipt.
    pub receipt: Receipt,
    /// Whose it is.
    pub tenant: Tenant,
    /// For a receipt issued elsewhere, whether its signer was trusted when it came; none when it was issued here.
    pub trust: Option<Trust>,
    /// The receipt that stands in its place now.
    pub superseded_by: Option<ReceiptId>,
    /// The chain it is in.
    pub chain: Option<String>,
    /// Whether it was used up.
    pub spent: bool,
    /// How many more receipts have its id, by other issuers, where it was looked up by its id.
    pub others: usize,
}

/// How a receipt that counts once was used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// What used it up: a run, a decision or whoever redeemed it.
    pub by: String,
    /// When, in milliseconds after 1970-01-01T00:00:00Z.
    pub at: i64,
}

/// Which receipts to count. What is `None` does not narrow the count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountFilter<'a> {
    /// Only those of this chain.
    pub chain: Option<&'a str>,
    /// Only those this signer signed, in the spelling of [`proofmark_receipt::SignerId`].
    pub signer: Option<&'a str>,
    /// Only those of tasks of this type.
    pub task_type: Option<&'a str>,
}

/// How many receipts there are of each verdict, and of those that do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    /// Verdict `pass`.
    pub pass: u64,
    /// Verdict `fail`.
    pub fail: u64,
    /// Verdict `partial`.
    pub partial: u64,
    /// Verdict `error`.
    pub error: u64,
    /// How many of these were issued elsewhere, by signers who were trusted when they came.
    pub issued_elsewhere: u64,
    /// How many more another has superseded.
    pub superseded: u64,
    /// How many more were issued elsewhere by signers who were not trusted when they came.
    pub untrusted: u64,
}

/// How a receipt is spent: by its content, so that no other document under its id and no other spelling of it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spend {
    /// The receipt's id, which messages name.
    pub receipt_id: ReceiptId,
    /// SHA-256 of the receipt without its signature ([`Receipt::content`]).
    pub content: Sha256Digest,
}

impl Spend {
    /// How this receipt is spent.
    #[must_use]
    pub fn of(receipt: &Receipt) -> Self {
        Self { receipt_id: receipt.receipt_id(), content: receipt.content() }
    }
}

/// Whether a document is spent: `{tenant}`, `{content}` and `{id}` are columns or parameters. What the command line keeps
/// is spent for all when it is spent for it. Of documents that an older version spent, and that are not here, only the
/// id is known.
macro_rules! spent {
    ($tenant:literal, $content:literal, $id:literal) => {
        concat!(
            "(EXISTS (SELECT 1 FROM spent WHERE spent.tenant = ",
            $tenant,
            " AND spent.content = ",
            $content,
            ")
              OR EXISTS (SELECT 1 FROM spent WHERE spent.tenant = 'local' AND spent.content = ",
            $content,
            "
                         AND EXISTS (SELECT 1 FROM receipts AS ours
                                     WHERE ours.content = ",
            $content,
            " AND ours.tenant = 'local'))
              OR EXISTS (SELECT 1 FROM spent_ids WHERE spent_ids.receipt_id = ",
            $id,
            "))"
        )
    };
}

/// Reads what [`with_place`] takes, of all receipts.
pub(crate) const SELECT: &str = concat!(
    "SELECT receipts.hash, receipts.document, receipts.sequence, receipts.tenant, receipts.trust,
            (SELECT newer.receipt_id FROM receipts AS newer WHERE newer.sequence = receipts.superseded_by),
            chains.name, ",
    spent!("receipts.tenant", "receipts.content", "receipts.receipt_id"),
    " FROM receipts LEFT JOIN chains ON chains.chain_id = receipts.chain_id AND chains.tenant = receipts.tenant"
);

/// What is preferred where several receipts have one id: what was issued here, then what was trusted when it came.
const BEST_FIRST: &str = "ORDER BY tenant = 'local' DESC, trust IS NOT NULL, trust = 'trusted' DESC, sequence";

pub(crate) fn with_place(row: &Row<'_>) -> rusqlite::Result<StoredReceipt> {
    let trust: Option<String> = row.get(4)?;
    let superseded = row.get::<_, Option<[u8; 16]>>(5)?.is_some();
    Ok(StoredReceipt {
        receipt: read::kept(row)?,
        tenant: Tenant::kept(row.get_ref(3)?.as_str()?),
        trust: trust.map(|word| read_trust(&word)).transpose()?,
        superseded_by: superseded.then(|| read::receipt_id(row, 5)).transpose()?,
        chain: row.get(6)?,
        spent: row.get(7)?,
        others: 0,
    })
}

/// The receipt with this id, of the tenant or of anybody: the best of them, of those this issuer signed if one is named.
pub(crate) fn receipt(
    connection: &Connection,
    tenant: Option<&Tenant>,
    id: &ReceiptId,
    issuer: Option<&str>,
) -> rusqlite::Result<Option<StoredReceipt>> {
    // Only places are sorted, not documents.
    let places = format!(
        "SELECT sequence FROM receipts WHERE receipt_id = ?1 AND (?2 IS NULL OR tenant = ?2)
         AND (?3 IS NULL OR issuer = ?3) {BEST_FIRST} LIMIT ?4"
    );
    let values = params![id.as_bytes(), tenant.map(Tenant::as_str), issuer, MAX_LISTED as i64];
    let mut statement = connection.prepare_cached(&places)?;
    let places: Vec<i64> = statement.query_map(values, |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let Some((best, others)) = places.split_first() else { return Ok(None) };
    let sql = format!("{SELECT} WHERE receipts.sequence = ?1");
    let kept = connection.prepare_cached(&sql)?.query_row([best], with_place)?;
    Ok(Some(StoredReceipt { others: others.len(), ..kept }))
}

/// The receipt that came of the tenant's job with this id: issued here, for its request.
pub(crate) fn job_receipt(
    connection: &Connection,
    tenant: &Tenant,
    id: &ReceiptId,
) -> rusqlite::Result<Option<StoredReceipt>> {
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

pub(crate) fn is_spent(connection: &Connection, tenant: &Tenant, spend: &Spend) -> rusqlite::Result<bool> {
    let sql = concat!("SELECT ", spent!("?1", "?2", "?3"));
    let values = params![tenant.as_str(), spend.content.as_bytes(), spend.receipt_id.as_bytes()];
    connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))
}

/// What of the tenant spent a document.
pub(crate) fn spent_by(connection: &Connection, tenant: &Tenant, spend: &Spend) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT spent_by FROM spent WHERE tenant = ?1 AND content = ?2";
    let values = params![tenant.as_str(), spend.content.as_bytes()];
    connection.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()
}

/// Whether another receipt stands in the place of this one: then that one alone can be spent.
pub(crate) fn is_superseded(connection: &Connection, tenant: &Tenant, spend: &Spend) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM receipts WHERE content = ?1 AND tenant IN (?2, 'local') AND superseded_by IS NOT NULL";
    connection.prepare_cached(sql)?.exists(params![spend.content.as_bytes(), tenant.as_str()])
}

/// Spends a document for the tenant, and for the command line where that keeps it.
pub(crate) fn spend(
    transaction: &Transaction<'_>,
    tenant: &Tenant,
    spend: &Spend,
    by: &str,
    at: i64,
) -> rusqlite::Result<()> {
    let content = spend.content.as_bytes();
    let sql = "INSERT INTO spent (tenant, content, spent_by, spent_at)
               SELECT ?1, ?2, ?3, ?4
               UNION SELECT 'local', ?2, ?3, ?4 FROM receipts WHERE content = ?2 AND tenant = 'local'";
    transaction.prepare_cached(sql)?.execute(params![tenant.as_str(), content, by, at]).map(drop)
}

/// Why this part of a bundle cannot be kept, if so.
pub(crate) fn refusal(
    connection: &Connection,
    tenant: &Tenant,
    bundle: &Bundle,
) -> rusqlite::Result<Option<StoreError>> {
    let Some(older) = &bundle.supersedes else { return Ok(None) };
    let sql = "SELECT superseded_by IS NOT NULL FROM receipts WHERE tenant = ?1 AND receipt_id = ?2 AND trust IS NULL";
    let mut statement = connection.prepare_cached(sql)?;
    let superseded = statement.query_row(params![tenant.as_str(), older.as_bytes()], |row| row.get(0)).optional()?;
    Ok(match superseded {
        None => Some(StoreError::NoReceipt(*older)),
        Some(true) => Some(StoreError::Superseded(*older)),
        Some(false) => None,
    })
}

/// Writes this part of a bundle, beside the receipt at this place.
pub(crate) fn put(
    transaction: &Transaction<'_>,
    tenant: &Tenant,
    bundle: &Bundle,
    sequence: i64,
) -> rusqlite::Result<()> {
    if let Some(document) = &bundle.request {
        let sql = "INSERT INTO requests (sequence, document) VALUES (?1, ?2)";
        transaction.prepare_cached(sql)?.execute((sequence, document))?;
    }
    if let Some(older) = &bundle.supersedes {
        let sql = "UPDATE receipts SET superseded_by = ?3 WHERE tenant = ?1 AND receipt_id = ?2 AND trust IS NULL";
        transaction.prepare_cached(sql)?.execute(params![tenant.as_str(), older.as_bytes(), sequence])?;
        // What takes the place of a receipt that was spent is spent: running work again does not pay for it twice.
        let sql = "INSERT INTO spent (tenant, content, spent_by, spent_at)
                   SELECT spent.tenant, newer.content, spent.spent_by, spent.spent_at
                   FROM receipts AS older JOIN spent ON spent.tenant = older.tenant AND spent.content = older.content
                        JOIN receipts AS newer ON newer.sequence = ?3
                   WHERE older.tenant = ?1 AND older.receipt_id = ?2 AND older.trust IS NULL
                   ON CONFLICT DO NOTHING";
        transaction.prepare_cached(sql)?.execute(params![tenant.as_str(), older.as_bytes(), sequence])?;
    }
    Ok(())
}

pub(crate) fn tally(connection: &Connection, tenant: &Tenant, of: &CountFilter<'_>) -> rusqlite::Result<VerdictCounts> {
    let mut sql = "SELECT verdict, count(*), superseded_by IS NOT NULL, trust IS NOT NULL,
                          trust IS NOT NULL AND trust <> 'trusted'
                   FROM receipts WHERE tenant = ?"
        .to_owned();
    let mut values = vec![Value::from(tenant.as_str().to_owned())];
    let conditions = [
        (of.chain, " AND (chain_id, tenant) IN (SELECT chain_id, chains.tenant FROM chains WHERE name = ?)"),
        (of.signer, " AND issuer = ?"),
        (of.task_type, " AND task_type = ?"),
    ];
    for (value, condition) in conditions {
        if let Some(value) = value {
            sql += condition;
            values.push(value.to_owned().into());
        }
    }
    let mut statement = connection.prepare_cached(&(sql + " GROUP BY 1, 3, 4, 5"))?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut tally = VerdictCounts::default();
    while let Some(row) = rows.next()? {
        let count = read::count(row, 1)?;
        let (superseded, elsewhere, untrusted) = (row.get(2)?, row.get(3)?, row.get(4)?);
        if untrusted {
            tally.untrusted += count;
            continue;
        }
        if superseded {
            tally.superseded += count;
            continue;
        }
        if elsewhere {
            tally.issued_elsewhere += count;
        }
        match row.get_ref(0)?.as_str()? {
            "pass" => tally.pass += count,
            "fail" => tally.fail += count,
            "partial" => tally.partial += count,
            "error" => tally.error += count,
            other => return Err(read::changed(0, Type::Text, format!("`{other}` is no verdict"))),
        }
    }
    Ok(tally)
}

fn read_trust(word: &str) -> rusqlite::Result<Trust> {
    let known = [Trust::Trusted, Trust::Untrusted, Trust::Unknown].into_iter().find(|trust| trust.as_str() == word);
    known.ok_or_else(|| read::changed(4, Type::Text, format!("`{word}` is no trust")))
}
