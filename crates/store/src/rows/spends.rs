//! Documents that count once, and what spent them.

use std::collections::HashSet;

use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest};

use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::{Draft, Facts, Key, Question, Record, Settle, Stop};
use crate::insert::Insert;
use crate::statement::{question, row};
use crate::tables::SPENT;
use crate::tenant::Tenant;
use crate::value::values;

/// How a receipt is spent: by its content, so that neither another document under its id nor another spelling of it counts.
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

/// Documents to spend together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spends {
    pub documents: Vec<Spend>,
    /// What spends them: a run, the id of a decision or the caller who redeems them.
    pub by: String,
}

/// How a receipt that counts once was spent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spent {
    /// What spent it: a run, a decision or the caller who redeemed it.
    pub by: String,
    /// When, in milliseconds after 1970-01-01T00:00:00Z.
    pub at: i64,
}

/// SQL for whether a document is spent: `tenant`, `content` and `id` are columns or parameters. A document that the command
/// line stores is spent for everyone once it is spent for the command line.
pub(crate) fn is_spent_sql(tenant: &str, content: &str, id: &str) -> String {
    format!(
        "(EXISTS (SELECT 1 FROM spent WHERE spent.tenant = {tenant} AND spent.content = {content})
          OR EXISTS (SELECT 1 FROM spent WHERE spent.tenant = 'local' AND spent.content = {content}
                     AND EXISTS (SELECT 1 FROM receipts AS ours
                                 WHERE ours.tenant = 'local' AND ours.receipt_id = {id} AND ours.content = {content})))"
    )
}

static INSERT: Insert = Insert::into(&SPENT);

impl Settle for Spends {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        // Of all tenants: a document of the command line is spent for all.
        let key = |spend: &Spend| Key::new("spent", &[&spend.content.to_string()]);
        let receipt =
            |tenant: &Tenant, spend: &Spend| Key::new("receipt", &[tenant.as_str(), &spend.receipt_id.to_string()]);
        self.documents
            .iter()
            .flat_map(|spend| [key(spend), receipt(tenant, spend), receipt(&Tenant::LOCAL, spend)])
            .collect()
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        // Whether it is spent, whether another receipt has taken its place, and whether the command line stores it.
        self.documents.iter().map(|spend| {
            question!(
                "SELECT {spent},
                        EXISTS (SELECT 1 FROM receipts WHERE tenant IN ({tenant}, 'local') AND receipt_id = {id}
                                AND content = {content} AND superseded_by IS NOT NULL),
                        EXISTS (SELECT 1 FROM receipts WHERE tenant = 'local' AND receipt_id = {id} AND content = {content})",
                tenant: tenant.as_str(),
                content: spend.content.as_bytes(),
                id: spend.receipt_id.as_bytes();
                spent = is_spent_sql(&tenant, &content, &id)
            )
        }).collect()
    }

    /// Spends the documents for the tenant, and for the command line those that it stores.
    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        let mut seen = HashSet::new();
        for spend in &self.documents {
            let standing = facts.row().unwrap_or_else(|| Record(Vec::new()));
            // A document that is listed twice would be spent twice.
            if standing.get(0)? || !seen.insert(spend.content) {
                return Err(StoreError::Spent(spend.receipt_id).into());
            }
            if standing.get(1)? {
                return Err(StoreError::Superseded(spend.receipt_id).into());
            }
            let tenant = draft.tenant.as_str();
            let of_command_line = standing.get(2)? && tenant != Tenant::LOCAL.as_str();
            for tenant in [Some(tenant), of_command_line.then_some(Tenant::LOCAL.as_str())].into_iter().flatten() {
                let content = spend.content.as_bytes();
                let row = row!(SPENT { tenant: tenant, content: content, spent_by: &self.by, spent_at: draft.now });
                draft.insert(&INSERT, row);
            }
        }
        Ok(())
    }
}

pub(crate) fn is_spent(db: &Db<'_>, tenant: &Tenant, spend: &Spend) -> Result<bool, Fault> {
    let sql = format!("SELECT {}", is_spent_sql("$1", "$2", "$3"));
    let values = values![tenant.as_str(), spend.content.as_bytes(), spend.receipt_id.as_bytes()];
    db.only(&sql, &values, |row| row.get(0))
}

/// What of the tenant spent a document.
pub(crate) fn spent_by(db: &Db<'_>, tenant: &Tenant, spend: &Spend) -> Result<Option<String>, Fault> {
    let sql = "SELECT spent_by FROM spent WHERE tenant = $1 AND content = $2";
    db.value(sql, &values![tenant.as_str(), spend.content.as_bytes()])
}

/// Whether another receipt has taken the place of this one: then only that one can be spent.
pub(crate) fn is_superseded(db: &Db<'_>, tenant: &Tenant, spend: &Spend) -> Result<bool, Fault> {
    // By its id, which the content has, too: there is an index of ids, and none of contents.
    let sql = "SELECT 1 FROM receipts WHERE tenant IN ($1, 'local') AND receipt_id = $2 AND content = $3
               AND superseded_by IS NOT NULL";
    db.exists(sql, &values![tenant.as_str(), spend.receipt_id.as_bytes(), spend.content.as_bytes()])
}
