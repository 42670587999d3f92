//! Answers by idempotency key: a request that is sent again gets the answer it got.

use proofmark_receipt::Sha256Digest;

use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::{Draft, Facts, Key, Question, Settle, Stop};
use crate::insert::Insert;
use crate::statement::{question, row};
use crate::tables::ANSWERS;
use crate::tenant::Tenant;
use crate::value::values;

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

static INSERT: Insert = Insert::into(&ANSWERS);

impl Settle for Answer {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        vec![Key::new("answer", &[tenant.as_str(), &self.key])]
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        vec![
            question!("SELECT 1 FROM answers WHERE tenant = {tenant} AND key = {key}", tenant: tenant.as_str(), key: &self.key),
        ]
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        // Its caller looked for an answer before, so another process has stored this one since. Even where it answers
        // the same request the first one stands, and the caller reads it.
        if facts.row().is_some() {
            return Err(StoreError::Answered(self.key.clone()).into());
        }
        // Dated by the store's clock, because `Store::prune` deletes answers by that clock.
        let row = row!(ANSWERS {
            tenant: draft.tenant.as_str(),
            key: &self.key,
            request: self.request.as_bytes(),
            answered_at: draft.now,
            document: &self.document,
        });
        draft.insert(&INSERT, row);
        Ok(())
    }
}

pub(crate) fn answer(db: &Db<'_>, tenant: &Tenant, key: &str) -> Result<Option<Answer>, Fault> {
    let sql = "SELECT key, request, document FROM answers WHERE tenant = $1 AND key = $2";
    db.one(sql, &values![tenant.as_str(), key], |row| {
        let request = Sha256Digest::from_bytes(row.get(1)?);
        Ok(Answer { key: row.get(0)?, request, document: row.get(2)? })
    })
}
