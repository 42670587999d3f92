//! Answers by idempotency key: a request that is sent again gets the answer it got.

use proofmark_receipt::Sha256Digest;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::StoreError;
use crate::scope::Scope;
use crate::tenant::Tenant;

/// The answer to a request, under the key its client chose for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The client's key.
    pub key: String,
    /// SHA-256 of the request.
    pub request: Sha256Digest,
    /// The answer, or the id of the decision or the receipt it is made of.
    pub document: String,
}

impl Answer {
    pub(crate) fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        // Its caller looked for an answer before, so another process has stored this one since. Even where it answers
        // the same request the first one stands, and the caller reads it.
        let stored = answer(scope.connection, scope.tenant, &self.key)?;
        Ok(stored.map(|_| StoreError::Answered(self.key.clone())))
    }

    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        // Dated by the store's clock, because `Store::prune` deletes answers by that clock.
        let sql = "INSERT INTO answers (tenant, key, request, document, answered_at) VALUES (?1, ?2, ?3, ?4, ?5)";
        let values = params![scope.tenant.as_str(), self.key, self.request.as_bytes(), self.document, scope.now];
        scope.connection.prepare_cached(sql)?.execute(values).map(drop)
    }
}

pub(crate) fn answer(connection: &Connection, tenant: &Tenant, key: &str) -> rusqlite::Result<Option<Answer>> {
    let sql = "SELECT key, request, document FROM answers WHERE tenant = ?1 AND key = ?2";
    let read = |row: &Row<'_>| {
        let request = Sha256Digest::from_bytes(row.get(1)?);
        Ok(Answer { key: row.get(0)?, request, document: row.get(2)? })
    };
    connection.prepare_cached(sql)?.query_row([tenant.as_str(), key], read).optional()
}
