//! Receipts to store: linked and signed behind the tip of their chain, and written with the request they answer.

use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{ChainTip, Receipt, ReceiptId, Sha256Digest, SignError, SignerId, Trust};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::counts::{Counted, Standing};
use crate::error::{MAX_CHAIN_NAME, StoreError};
use crate::read::{self, RECEIPTS};
use crate::scope::Scope;
use crate::signing;
use crate::tenant::Tenant;
use crate::times;

/// The issuer of a receipt without a signature.
const UNSIGNED: &str = "unsigned";

/// Links a receipt to the tip of its chain (`None`: it is the first) and signs it. It runs in the store's writer, inside
/// the transaction that stores the receipt, so it does nothing else.
pub type SignReceipt = Box<dyn FnOnce(Option<&ChainTip>) -> Result<Receipt, SignError> + Send>;

/// A receipt to store.
pub struct NewReceipt {
    pub source: ReceiptSource,
    /// The request that the receipt answers, as JSON, so that it can be run again.
    pub request: Option<String>,
    /// The receipt, issued here for the same tenant, that this one takes the place of.
    pub supersedes: Option<ReceiptId>,
}

/// Where a receipt comes from.
pub enum ReceiptSource {
    /// Issued here, on no chain.
    Single(Receipt),
    /// Issued here, on a chain of the tenant.
    Chained { chain: String, sign: SignReceipt },
    /// Issued elsewhere, and whether its signer is trusted.
    Received { receipt: Receipt, trust: Trust },
}

impl NewReceipt {
    /// A receipt that was issued here, on no chain.
    #[must_use]
    pub fn single(receipt: Receipt) -> Self {
        Self::from_source(ReceiptSource::Single(receipt))
    }

    /// A receipt that `sign` links to the tip of the tenant's chain of this name, and signs.
    #[must_use]
    pub fn chained(
        chain: impl Into<String>,
        sign: impl FnOnce(Option<&ChainTip>) -> Result<Receipt, SignError> + Send + 'static,
    ) -> Self {
        Self::from_source(ReceiptSource::Chained { chain: chain.into(), sign: Box::new(sign) })
    }

    /// A receipt that was issued elsewhere, and whether its signer is trusted.
    #[must_use]
    pub fn received(receipt: Receipt, trust: Trust) -> Self {
        Self::from_source(ReceiptSource::Received { receipt, trust })
    }

    fn from_source(source: ReceiptSource) -> Self {
        Self { source, request: None, supersedes: None }
    }
}

/// A receipt on its way into the database.
pub(crate) struct ReceiptWrite {
    state: State,
    request: Option<String>,
    supersedes: Option<ReceiptId>,
}

enum State {
    Unlinked {
        chain: String,
        sign: SignReceipt,
    },
    Ready(Box<ReceiptRow>),
    /// It cannot be stored, or it was taken out of here.
    Refused(Option<StoreError>),
}

/// A receipt taken apart. The thread that submits does this where it can, to keep the writer's own work short.
struct ReceiptRow {
    receipt: Receipt,
    hash: Sha256Digest,
    content: Sha256Digest,
    issuer: String,
    trust: Option<Trust>,
    document: String,
    /// The name of its chain, and its position there.
    place: Option<(String, u64)>,
}

impl ReceiptWrite {
    pub(crate) fn new(new: NewReceipt) -> Self {
        let NewReceipt { source, request, supersedes } = new;
        let state = match source {
            ReceiptSource::Single(receipt) => State::ready(receipt, None),
            ReceiptSource::Received { receipt, trust } => State::ready(receipt, Some(trust)),
            ReceiptSource::Chained { chain, sign } => match is_chain_name(&chain) {
                true => State::Unlinked { chain, sign },
                false => State::Refused(Some(StoreError::ChainName(chain))),
            },
        };
        Self { state, request, supersedes }
    }

    /// Links the receipt to the tip that its chain has in this transaction, and signs it. The transaction excludes every
    /// other writer, and earlier writes of the group are in it, so no two receipts get the same place.
    pub(crate) fn link(&mut self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        // `sign` can be called once, so it is taken out of the state.
        match std::mem::replace(&mut self.state, State::Refused(None)) {
            State::Unlinked { chain, sign } => {
                let tip = read::tip(scope.connection, scope.tenant, &chain)?;
                self.state = State::of(link(chain, tip.as_ref(), sign));
            }
            other => self.state = other,
        }
        match &self.state {
            State::Refused(refused) => Ok(refused.clone()),
            State::Ready(_) | State::Unlinked { .. } => Ok(None),
        }
    }

    pub(crate) fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        if let State::Ready(row) = &self.state
            && let Some(refused) = row.refusal(scope)?
        {
            return Ok(Some(refused));
        }
        let Some(older) = &self.supersedes else { return Ok(None) };
        let sql =
            "SELECT superseded_by IS NOT NULL FROM receipts WHERE tenant = ?1 AND receipt_id = ?2 AND trust IS NULL";
        let mut statement = scope.connection.prepare_cached(sql)?;
        let key = params![scope.tenant.as_str(), older.as_bytes()];
        // At most one row (`ReceiptRow::refusal`). A receipt has one successor: chains of them do not fork.
        let superseded = statement.query_row(key, |row| row.get(0)).optional()?;
        Ok(match superseded {
            None => Some(StoreError::NoReceipt(*older)),
            Some(true) => Some(StoreError::Superseded(*older)),
            Some(false) => None,
        })
    }

    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        let State::Ready(row) = &self.state else { return Ok(()) };
        let sequence = row.insert(scope)?;
        if let Some(request) = &self.request {
            let sql = "INSERT INTO requests (sequence, document) VALUES (?1, ?2)";
            scope.connection.prepare_cached(sql)?.execute((sequence, request))?;
        }
        match &self.supersedes {
            Some(older) => supersede(scope, older, sequence),
            None => Ok(()),
        }
    }

    pub(crate) fn into_receipt(self) -> Option<Receipt> {
        match self.state {
            State::Ready(row) => Some(row.receipt),
            State::Unlinked { .. } | State::Refused(_) => None,
        }
    }
}

impl State {
    fn ready(receipt: Receipt, trust: Option<Trust>) -> Self {
        let hash = receipt.hash();
        Self::of(ReceiptRow::new(receipt, hash, trust))
    }

    fn of(row: Result<ReceiptRow, StoreError>) -> Self {
        row.map_or_else(|refused| Self::Refused(Some(refused)), |row| Self::Ready(Box::new(row)))
    }
}

/// Signs the receipt behind `tip`. A receipt that is then not linked to `tip` is refused: the store trusts no closure with
/// the order of its chains.
fn link(chain: String, tip: Option<&ChainTip>, sign: SignReceipt) -> Result<ReceiptRow, StoreError> {
    let receipt = signing::call(&chain, || sign(tip))?;
    let Some(own) = receipt.link().follows(tip) else { return Err(StoreError::NotLinked(chain)) };
    let row = ReceiptRow::new(receipt, own.hash, None)?;
    Ok(ReceiptRow { place: Some((chain, own.position)), ..row })
}

impl ReceiptRow {
    fn new(receipt: Receipt, hash: Sha256Digest, trust: Option<Trust>) -> Result<Self, StoreError> {
        let (document, receipt_id) = (receipt.to_text(), receipt.receipt_id());
        // No reader accepts a longer one, so this store could not read it back either.
        if document.len() > MAX_BYTES {
            return Err(StoreError::TooLarge { receipt_id, bytes: document.len(), max: MAX_BYTES });
        }
        Ok(Self { hash, content: receipt.content(), issuer: issuer(&receipt), trust, document, place: None, receipt })
    }

    /// An id is unique for a tenant and an issuer, and among the receipts issued here for a tenant: no client can take an
    /// id from another.
    fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        let sql = "SELECT hash = ?5 FROM receipts WHERE tenant = ?1 AND receipt_id = ?2
                   AND (issuer = ?3 OR (?4 AND trust IS NULL))";
        let (id, own) = (self.receipt.receipt_id(), self.trust.is_none());
        let key = params![scope.tenant.as_str(), id.as_bytes(), self.issuer, own, self.hash.as_bytes()];
        let same = scope.connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
        Ok(same.map(|same: bool| match same && !own {
            true => StoreError::Stored(id),
            false => StoreError::Duplicate(id),
        }))
    }

    /// Writes the row, with what lists and counts know of it, and answers its sequence number.
    fn insert(&self, scope: &Scope<'_>) -> rusqlite::Result<i64> {
        let place = match &self.place {
            Some((chain, position)) => Some((chain_id(scope.connection, scope.tenant, chain)?, position.cast_signed())),
            None => None,
        };
        let sequence = self.insert_row(scope, place)?;
        times::note(scope.connection, RECEIPTS.times, sequence, self.receipt.verified_at().unix_millis())?;
        let counted = Counted {
            chain_id: place.map(|(chain_id, _)| chain_id),
            issuer: &self.issuer,
            task_type: self.receipt.task().and_then(|task| task.task_type.as_deref()),
            verdict: self.receipt.verdict().as_str(),
            standing: Standing::of(self.trust),
        };
        counted.add(scope, 1)?;
        Ok(sequence)
    }

    fn insert_row(&self, scope: &Scope<'_>, place: Option<(i64, i64)>) -> rusqlite::Result<i64> {
        let sql = "INSERT INTO receipts
                       (receipt_id, hash, verified_at, verdict, tier, task_id, chain_id, position, document, tenant,
                        issuer, task_type, trust, output, content)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)";
        let receipt = &self.receipt;
        scope.connection.prepare_cached(sql)?.insert(params![
            receipt.receipt_id().as_bytes(),
            self.hash.as_bytes(),
            receipt.verified_at().unix_millis(),
            receipt.verdict().as_str(),
            receipt.tier(),
            receipt.task().and_then(|task| task.task_id.as_deref()),
            place.map(|(chain_id, _)| chain_id),
            place.map(|(_, position)| position),
            self.document,
            scope.tenant.as_str(),
            self.issuer,
            receipt.task().and_then(|task| task.task_type.as_deref()),
            self.trust.map(Trust::as_str),
            receipt.hashes().output.to_string(),
            // The content leaves out the signature: two signatures over one content are spent together.
            self.content.as_bytes(),
        ])
    }
}

/// The signer named, in its one spelling; one that cannot be read stays as it is written.
fn issuer(receipt: &Receipt) -> String {
    // With two spellings one signer could store two receipts under one id.
    let Some(signature) = receipt.signature() else { return UNSIGNED.to_owned() };
    let written = &signature.signer_id;
    written.parse().map_or_else(|_| written.clone(), |signer: SignerId| signer.to_string())
}

fn is_chain_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_CHAIN_NAME && !name.chars().any(char::is_control)
}

/// The tenant's chain of this name; it is made if there is none.
fn chain_id(connection: &Connection, tenant: &Tenant, name: &str) -> rusqlite::Result<i64> {
    // A chain is made only in `put`, after all refusals, so there is none without receipts.
    if let Some(id) = read::chain_id(connection, tenant, name)? {
        return Ok(id);
    }
    connection.prepare_cached("INSERT INTO chains (tenant, name) VALUES (?1, ?2)")?.insert([tenant.as_str(), name])
}

/// Puts the receipt at `sequence` in the place of an older one.
fn supersede(scope: &Scope<'_>, older: &ReceiptId, sequence: i64) -> rusqlite::Result<()> {
    // `refusal` has found the older receipt in this transaction, so the update changes exactly one row.
    let key = params![scope.tenant.as_str(), older.as_bytes(), sequence];
    let sql = "UPDATE receipts SET superseded_by = ?3 WHERE tenant = ?1 AND receipt_id = ?2 AND trust IS NULL
               RETURNING chain_id, issuer, task_type, verdict";
    let counted_by = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let (chain_id, issuer, task_type, verdict): (Option<i64>, String, Option<String>, String) =
        scope.connection.prepare_cached(sql)?.query_row(key, counted_by)?;
    let counted =
        |standing| Counted { chain_id, issuer: &issuer, task_type: task_type.as_deref(), verdict: &verdict, standing };
    counted(Standing::Own).add(scope, -1)?;
    counted(Standing::Superseded).add(scope, 1)?;
    // A receipt that takes the place of a spent one is spent: running work again does not pay for it twice.
    let sql = "INSERT INTO spent (tenant, content, spent_by, spent_at)
               SELECT spent.tenant, newer.content, spent.spent_by, spent.spent_at
               FROM receipts AS older JOIN spent ON spent.tenant = older.tenant AND spent.content = older.content
                    JOIN receipts AS newer ON newer.sequence = ?3
               WHERE older.tenant = ?1 AND older.receipt_id = ?2 AND older.trust IS NULL
               ON CONFLICT DO NOTHING";
    scope.connection.prepare_cached(sql)?.execute(key).map(drop)
}
