//! Receipts to store: linked and signed behind the tip of their chain, and written with the request they answer.

use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{ChainEnd, ChainTip, Receipt, ReceiptId, Sha256Digest, SignError, SignerId, Trust};

use crate::error::{MAX_CHAIN_NAME, StoreError};
use crate::group::settle::{Chain, Draft, End, Facts, Key, Question, Record, Settle, Stop};
use crate::group::signing;
use crate::group::written::Written;
use crate::insert::{Insert, Or};
use crate::rows::activity;
use crate::rows::counts::{Counted, Standing};
use crate::rows::log;
use crate::rows::times;
use crate::statement::{question, row};
use crate::tables::{CHAINS, RECEIPTS, REQUESTS, SPENT};
use crate::tenant::Tenant;
use crate::value::{Value, values};

/// The issuer of a receipt without a signature.
const UNSIGNED: &str = "unsigned";

/// Links a receipt to the end of its chain (without a tip it is the first) and signs it. It runs in the store's writer, inside
/// the transaction that stores the receipt, so it does nothing else. It is called again when that transaction was undone
/// and is tried again; what it answered before is then stored nowhere.
pub type SignReceipt = Box<dyn Fn(ChainEnd<'_>) -> Result<Receipt, SignError> + Send>;

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
    /// Issued here, on a chain of the tenant, under this id by this issuer (none: unsigned).
    Chained { receipt_id: ReceiptId, issuer: Option<SignerId>, chain: String, sign: SignReceipt },
    /// Issued elsewhere, and whether its signer is trusted.
    Received { receipt: Receipt, trust: Trust },
}

impl NewReceipt {
    /// A receipt that was issued here, on no chain.
    #[must_use]
    pub fn single(receipt: Receipt) -> Self {
        Self::from_source(ReceiptSource::Single(receipt))
    }

    /// A receipt that `sign` links to the tip of the tenant's chain of this name, and signs. It has this id and this issuer
    /// (none: it is unsigned). The id is random: a document that is in the log already, of whatever tenant, fails its group.
    #[must_use]
    pub fn chained(
        receipt_id: ReceiptId,
        issuer: Option<SignerId>,
        chain: impl Into<String>,
        sign: impl Fn(ChainEnd<'_>) -> Result<Receipt, SignError> + Send + 'static,
    ) -> Self {
        let (chain, sign) = (chain.into(), Box::new(sign));
        Self::from_source(ReceiptSource::Chained { receipt_id, issuer, chain, sign })
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
    receipt_id: ReceiptId,
    issuer: String,
    trust: Option<Trust>,
    request: Option<String>,
    supersedes: Option<ReceiptId>,
}

enum State {
    Chained {
        chain: String,
        sign: SignReceipt,
        /// As it was last linked and signed.
        row: Option<Box<ReceiptRow>>,
    },
    Single(Box<ReceiptRow>),
    /// It cannot be stored.
    Refused(StoreError),
}

/// A receipt taken apart. The thread that submits does this where it can, to keep the writer's own work short.
struct ReceiptRow {
    receipt: Receipt,
    hash: Sha256Digest,
    content: Sha256Digest,
    document: String,
    /// Its chain, and its position there.
    place: Option<(Chain, u64)>,
}

/// A stored receipt that another takes the place of.
struct Older {
    receipt_id: ReceiptId,
    chain_id: Option<i64>,
    issuer: String,
    task_type: Option<String>,
    verdict: String,
    /// By what it was spent, and when.
    spent: Option<(String, i64)>,
}

impl ReceiptWrite {
    pub(crate) fn new(new: NewReceipt) -> Self {
        let NewReceipt { source, request, supersedes } = new;
        let (receipt_id, issuer, trust, state) = match source {
            ReceiptSource::Single(receipt) => State::ready(receipt, None),
            ReceiptSource::Received { receipt, trust } => State::ready(receipt, Some(trust)),
            ReceiptSource::Chained { receipt_id, issuer, chain, sign } => {
                let state = if is_chain_name(&chain) {
                    State::Chained { chain, sign, row: None }
                } else {
                    State::Refused(StoreError::ChainName(chain))
                };
                (receipt_id, issuer.map_or_else(|| UNSIGNED.to_owned(), |signer| signer.to_string()), None, state)
            }
        };
        Self { state, receipt_id, issuer, trust, request, supersedes }
    }

    /// An id is unique for a tenant and an issuer, and among the receipts issued here for a tenant: no client can take an
    /// id from another. `stored` is the hash of the receipt that has it.
    fn duplicate(&self, hash: &Sha256Digest, stored: Option<Record>) -> Result<(), Stop> {
        let Some(stored) = stored else { return Ok(()) };
        let same = stored.get::<[u8; 32]>(0)? == *hash.as_bytes();
        let is_brought_again = same && self.trust.is_some();
        let refused = if is_brought_again { StoreError::Stored } else { StoreError::Duplicate };
        Err(refused(self.receipt_id).into())
    }

    /// The receipt whose place this one takes. A receipt has one successor: chains of them do not fork.
    fn older(&self, facts: &mut Facts<'_>) -> Result<Option<Older>, Stop> {
        let Some(id) = self.supersedes else { return Ok(None) };
        // At most one row: ids of receipts issued here are unique for a tenant.
        let stored = facts.row().ok_or(StoreError::NoReceipt(id))?;
        if stored.get(0)? {
            return Err(StoreError::Superseded(id).into());
        }
        let spent = stored.get::<Option<String>>(5)?.zip(stored.get(6)?);
        let older = Older {
            receipt_id: id,
            chain_id: stored.get(1)?,
            issuer: stored.get(2)?,
            task_type: stored.get(3)?,
            verdict: stored.get(4)?,
            spent,
        };
        Ok(Some(older))
    }

    /// Links the receipt to the tip of its chain, and signs it. Every other writer is excluded, and `draft` knows what the
    /// group has stored, so no two receipts get the same place.
    fn link(&mut self, draft: &Draft<'_>) -> Result<(), StoreError> {
        match &mut self.state {
            State::Chained { chain, sign, row } => {
                let chain = Chain::Receipts(draft.tenant.clone(), chain.clone());
                let linked = link(chain.clone(), draft.end(&chain).link(), sign)?;
                // The store has asked about the id and the issuer that were named.
                if linked.receipt.receipt_id() != self.receipt_id || issuer(&linked.receipt) != self.issuer {
                    return Err(StoreError::NotLinked(chain.to_string()));
                }
                *row = Some(Box::new(linked));
                Ok(())
            }
            State::Single(_) => Ok(()),
            State::Refused(refused) => Err(refused.clone()),
        }
    }

    /// The digest of a receipt that was signed before it came here: another tenant may have it, too.
    fn brought(&self) -> Option<&Sha256Digest> {
        match &self.state {
            State::Single(row) => Some(&row.hash),
            State::Chained { .. } | State::Refused(_) => None,
        }
    }

    fn row(&self) -> Option<&ReceiptRow> {
        match &self.state {
            State::Chained { row, .. } => row.as_deref(),
            State::Single(row) => Some(row),
            State::Refused(_) => None,
        }
    }
}

impl Settle for ReceiptWrite {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        std::iter::once(&self.receipt_id)
            .chain(&self.supersedes)
            .map(|id| Key::new("receipt", &[tenant.as_str(), &id.to_string()]))
            .chain(self.brought().map(log::key))
            .collect()
    }

    fn chain(&self, tenant: &Tenant) -> Option<Chain> {
        match &self.state {
            State::Chained { chain, .. } => Some(Chain::Receipts(tenant.clone(), chain.clone())),
            State::Single(_) | State::Refused(_) => None,
        }
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        let stored = question!(
            "SELECT hash FROM receipts WHERE tenant = {tenant} AND receipt_id = {id}
             AND (issuer = {issuer} OR ({own} = 1 AND trust IS NULL)) LIMIT 1",
            tenant: tenant.as_str(),
            id: self.receipt_id.as_bytes(),
            issuer: self.issuer.as_str(),
            own: i64::from(self.trust.is_none()),
        );
        let older = self.supersedes.map(|older| {
            question!(
                "SELECT superseded_by IS NOT NULL, chain_id, issuer, task_type, verdict, spent_by, spent_at
                 FROM receipts LEFT JOIN spent ON spent.tenant = receipts.tenant AND spent.content = receipts.content
                 WHERE receipts.tenant = {tenant} AND receipt_id = {older} AND trust IS NULL",
                tenant: tenant.as_str(),
                older: older.as_bytes(),
            )
        });
        std::iter::once(stored).chain(older).chain(self.brought().map(log::asks)).collect()
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let stored = facts.row();
        self.link(draft)?;
        let Some(row) = self.row() else { return Ok(()) };
        self.duplicate(&row.hash, stored)?;
        let older = self.older(facts)?;
        // One that is signed now is in no log yet.
        if self.brought().is_none() || facts.row().is_none() {
            log::append(draft, &row.hash);
        }
        let sequence = row.store(self, draft);
        if let Some(request) = &self.request {
            draft.insert(&REQUEST, row!(REQUESTS { sequence: sequence, document: request }));
        }
        if let Some(older) = older {
            row.supersede(&older, sequence, draft);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, written: &mut Written) {
        let row = match self.state {
            State::Chained { row, .. } => row,
            State::Single(row) => Some(row),
            State::Refused(_) => None,
        };
        written.receipt = written.receipt.take().or(row.map(|row| row.receipt));
    }
}

impl State {
    fn ready(receipt: Receipt, trust: Option<Trust>) -> (ReceiptId, String, Option<Trust>, Self) {
        let (id, issuer, hash) = (receipt.receipt_id(), issuer(&receipt), receipt.hash());
        (id, issuer, trust, Self::of(ReceiptRow::new(receipt, hash)))
    }

    fn of(row: Result<ReceiptRow, StoreError>) -> Self {
        row.map_or_else(Self::Refused, |row| Self::Single(Box::new(row)))
    }
}

/// Signs the receipt behind `end`. A receipt that is then not linked to `end` is refused: the store trusts no closure with
/// the order of its chains.
fn link(chain: Chain, end: ChainEnd<'_>, sign: &SignReceipt) -> Result<ReceiptRow, StoreError> {
    let name = chain.to_string();
    let receipt = signing::call(&name, || sign(end))?;
    let Some(own) = receipt.link().follows(end) else { return Err(StoreError::NotLinked(name)) };
    let row = ReceiptRow::new(receipt, own.hash)?;
    Ok(ReceiptRow { place: Some((chain, own.position)), ..row })
}

impl ReceiptRow {
    fn new(receipt: Receipt, hash: Sha256Digest) -> Result<Self, StoreError> {
        let (document, receipt_id) = (receipt.to_text(), receipt.receipt_id());
        // No reader accepts a longer one, so this store could not read it back either.
        if document.len() > MAX_BYTES {
            return Err(StoreError::TooLarge { receipt_id, bytes: document.len(), max: MAX_BYTES });
        }
        Ok(Self { hash, content: receipt.content(), document, place: None, receipt })
    }

    /// Stores the row, with what lists and counts know of it, and answers its sequence number.
    fn store(&self, write: &ReceiptWrite, draft: &mut Draft<'_>) -> i64 {
        let place = self.place.as_ref().map(|(chain, position)| {
            // A chain gets its row with its first receipt: one whose receipts are all refused leaves no name behind.
            let end = draft.end(chain);
            let chain_id = end.chain_id.unwrap_or_else(|| chain_id(chain, draft));
            let tip = ChainTip { receipt_id: write.receipt_id, hash: self.hash, position: *position };
            draft.move_end(chain.clone(), End { tip: Some(tip), chain_id: Some(chain_id), lost: None });
            (chain_id, position.cast_signed())
        });
        let sequence = draft.number(&RECEIPTS);
        draft.insert(&RECEIPT, self.columns(write, draft.tenant, sequence, place));
        let verified_at = self.receipt.verified_at().unix_millis();
        times::note_receipt(draft, sequence, verified_at);
        let counted = Counted {
            chain_id: place.map(|(chain_id, _)| chain_id),
            issuer: &write.issuer,
            task_type: self.receipt.task().and_then(|task| task.task_type.as_deref()),
            verdict: self.receipt.verdict().as_str(),
            standing: Standing::of(write.trust),
        };
        counted.add(draft, 1);
        // Not those brought here: anyone can issue receipts.
        if write.trust.is_none() {
            activity::note_receipt(draft, verified_at, self.receipt.verdict());
        }
        sequence
    }

    fn columns(&self, write: &ReceiptWrite, tenant: &Tenant, sequence: i64, place: Option<(i64, i64)>) -> Vec<Value> {
        let receipt = &self.receipt;
        let task = receipt.task();
        row!(RECEIPTS {
            sequence: sequence,
            tenant: tenant.as_str(),
            receipt_id: receipt.receipt_id().as_bytes(),
            issuer: &write.issuer,
            hash: self.hash.as_bytes(),
            // The content leaves out the signature: two signatures over one content are spent together.
            content: self.content.as_bytes(),
            verified_at: receipt.verified_at().unix_millis(),
            verdict: receipt.verdict().as_str(),
            tier: receipt.tier(),
            task_id: task.and_then(|task| task.task_id.as_deref()),
            task_type: task.and_then(|task| task.task_type.as_deref()),
            output: receipt.hashes().output.to_string(),
            trust: write.trust.map(Trust::as_str),
            superseded_by: None::<i64>,
            chain_id: place.map(|(chain_id, _)| chain_id),
            position: place.map(|(_, position)| position),
            document: &self.document,
        })
    }

    /// Takes the place of an older receipt.
    fn supersede(&self, older: &Older, sequence: i64, draft: &mut Draft<'_>) {
        let sql = "UPDATE receipts SET superseded_by = $3 WHERE tenant = $1 AND receipt_id = $2 AND trust IS NULL";
        draft.run(sql, values![draft.tenant.as_str(), older.receipt_id.as_bytes(), sequence]);
        let counted = |standing| Counted {
            chain_id: older.chain_id,
            issuer: &older.issuer,
            task_type: older.task_type.as_deref(),
            verdict: &older.verdict,
            standing,
        };
        // The older one moves from one count to another; the sum of all stays that of the rows.
        counted(Standing::Own).add(draft, -1);
        counted(Standing::Superseded).add(draft, 1);
        // A receipt that takes the place of a spent one is spent: running work again does not pay for it twice.
        if let Some((by, at)) = &older.spent {
            let (tenant, content) = (draft.tenant.as_str(), self.content.as_bytes());
            draft.insert(&SPEND, row!(SPENT { tenant: tenant, content: content, spent_by: by, spent_at: *at }));
        }
    }
}

static RECEIPT: Insert = Insert::into(&RECEIPTS);
static REQUEST: Insert = Insert::into(&REQUESTS);
static CHAIN: Insert = Insert::into(&CHAINS);
/// One that is spent already stays as it was spent.
static SPEND: Insert = Insert::or(&SPENT, Or::Keep);

/// The signer named, in its one spelling; one that cannot be read stays as it is written.
pub(crate) fn issuer(receipt: &Receipt) -> String {
    // With two spellings one signer could store two receipts under one id.
    let Some(signature) = receipt.signature() else { return UNSIGNED.to_owned() };
    let written = &signature.signer_id;
    written.parse().map_or_else(|_| written.clone(), |signer: SignerId| signer.to_string())
}

fn is_chain_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_CHAIN_NAME && !name.chars().any(char::is_control)
}

/// Makes a chain; its number.
fn chain_id(chain: &Chain, draft: &mut Draft<'_>) -> i64 {
    let number = draft.number(&CHAINS);
    if let Chain::Receipts(tenant, name) = chain {
        draft.insert(&CHAIN, row!(CHAINS { chain_id: number, tenant: tenant.as_str(), name: name }));
    }
    number
}
