//! Documents that count once, and what spent them.

use proofmark_receipt::{Receipt, ReceiptId, Sha256Digest};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::StoreError;
use crate::scope::Scope;
use crate::tenant::Tenant;

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

/// SQL for whether a document is spent: `{tenant}`, `{content}` and `{id}` are columns or parameters. A document that the
/// command line stores is spent for everyone once it is spent for the command line. Of a document that an older version
/// spent, and that is not stored here, only the id is known.
macro_rules! sql_is_spent {
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
                                     WHERE ours.tenant = 'local' AND ours.receipt_id = ",
            $id,
            " AND ours.content = ",
            $content,
            "))
              OR EXISTS (SELECT 1 FROM spent_ids WHERE spent_ids.receipt_id = ",
            $id,
            "))"
        )
    };
}
pub(crate) use sql_is_spent;

impl Spends {
    pub(crate) fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        for (index, spend) in self.documents.iter().enumerate() {
            // A document that is listed twice would break the primary key in `put`, and fail the whole group.
            let twice = self.documents.iter().take(index).any(|earlier| earlier.content == spend.content);
            if twice || is_spent(scope.connection, scope.tenant, spend)? {
                return Ok(Some(StoreError::Spent(spend.receipt_id)));
            }
            if is_superseded(scope.connection, scope.tenant, spend)? {
                return Ok(Some(StoreError::Superseded(spend.receipt_id)));
            }
        }
        Ok(None)
    }

    /// Spends the documents for the tenant, and for the command line those that it stores.
    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        // UNION drops duplicates: for the command line itself both rows are the same.
        let sql = "INSERT INTO spent (tenant, content, spent_by, spent_at)
                   SELECT ?1, ?2, ?3, ?4
                   UNION SELECT 'local', ?2, ?3, ?4 FROM receipts
                         WHERE tenant = 'local' AND receipt_id = ?5 AND content = ?2";
        let mut statement = scope.connection.prepare_cached(sql)?;
        for spend in &self.documents {
            let (content, id) = (spend.content.as_bytes(), spend.receipt_id.as_bytes());
            statement.execute(params![scope.tenant.as_str(), content, self.by, scope.now, id])?;
        }
        Ok(())
    }
}

pub(crate) fn is_spent(connection: &Connection, tenant: &Tenant, spend: &Spend) -> rusqlite::Result<bool> {
    let sql = concat!("SELECT ", sql_is_spent!("?1", "?2", "?3"));
    let values = params![tenant.as_str(), spend.content.as_bytes(), spend.receipt_id.as_bytes()];
    connection.prepare_cached(sql)?.query_row(values, |row| row.get(0))
}

/// What of the tenant spent a document.
pub(crate) fn spent_by(connection: &Connection, tenant: &Tenant, spend: &Spend) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT spent_by FROM spent WHERE tenant = ?1 AND content = ?2";
    let values = params![tenant.as_str(), spend.content.as_bytes()];
    connection.prepare_cached(sql)?.query_row(values, |row| row.get(0)).optional()
}

/// Whether another receipt has taken the place of this one: then only that one can be spent.
pub(crate) fn is_superseded(connection: &Connection, tenant: &Tenant, spend: &Spend) -> rusqlite::Result<bool> {
    // By its id, which the content has, too: there is an index of ids, and none of contents.
    let sql = "SELECT 1 FROM receipts WHERE tenant IN (?1, 'local') AND receipt_id = ?2 AND content = ?3
               AND superseded_by IS NOT NULL";
    let values = params![tenant.as_str(), spend.receipt_id.as_bytes(), spend.content.as_bytes()];
    connection.prepare_cached(sql)?.exists(values)
}
