//! What allowed actions come to together, for the limits of policies: a row for each action under each key, with the total so far.
//!
//! A total within a window is the difference of two of them, so it takes as long in a large store as in a small one.

use proofmark_receipt::Sha256Digest;

use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::{Draft, Facts, Key, Question, Settle, Stop};
use crate::insert::Insert;
use crate::row::Row;
use crate::statement::{question, row};
use crate::table::Fields;
use crate::tables::COUNTED;
use crate::tenant::Tenant;
use crate::value::values;

/// An action that counts under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    pub key: Sha256Digest,
    /// Which action under the key it is, counted from 1.
    pub nth: u64,
    /// What they come to with this one, as a decimal number.
    pub total: String,
}

/// What a decision counts. Refused with [`StoreError::CountedMeanwhile`] where another action was counted under one of the keys since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    pub counts: Vec<Count>,
    /// When it was decided, in milliseconds after 1970-01-01T00:00:00Z.
    pub at: i64,
    /// The id of the decision.
    pub by: String,
}

/// An action that was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredCount {
    pub count: Count,
    /// When it was decided, in milliseconds after 1970-01-01T00:00:00Z.
    pub at: i64,
    /// The id of the decision, whose document says the same.
    pub by: String,
}

static INSERT: Insert = Insert::into(&COUNTED);

impl Settle for Counts {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        self.counts.iter().map(|count| Key::new("counted", &[tenant.as_str(), &count.key.to_string()])).collect()
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        let last = self.counts.iter().map(|count| {
            question!(
                "SELECT nth FROM counted WHERE tenant = {tenant} AND key = {key} ORDER BY nth DESC LIMIT 1",
                tenant: tenant.as_str(),
                key: count.key.as_bytes(),
            )
        });
        last.collect()
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        for count in &self.counts {
            let last = facts.row().map(|row| row.get::<u64>(0)).transpose()?.unwrap_or_default();
            // The decision was made on what it had seen: with another action among them it might have been another one.
            if last.checked_add(1) != Some(count.nth) {
                return Err(StoreError::CountedMeanwhile(self.by.clone()).into());
            }
            let row = row!(COUNTED {
                tenant: draft.tenant.as_str(),
                key: count.key.as_bytes(),
                nth: count.nth.cast_signed(),
                counted_at: self.at,
                total: &count.total,
                decision_id: &self.by,
            });
            draft.insert(&INSERT, row);
        }
        Ok(())
    }
}

/// The last action that was counted under a key, up to a time where one is given.
pub(crate) fn last(
    db: &Db<'_>,
    tenant: &Tenant,
    key: &Sha256Digest,
    until: Option<i64>,
) -> Result<Option<StoredCount>, Fault> {
    let select = |rest: &str| format!("SELECT {} FROM counted WHERE tenant = $1 AND key = $2 {rest}", COUNTED.list());
    match until {
        None => db.one(&select("ORDER BY nth DESC LIMIT 1"), &values![tenant.as_str(), key.as_bytes()], read_row),
        Some(until) => {
            let sql = select("AND counted_at <= $3 ORDER BY counted_at DESC, nth DESC LIMIT 1");
            db.one(&sql, &values![tenant.as_str(), key.as_bytes(), until], read_row)
        }
    }
}

fn read_row(row: &Row<'_>) -> Result<StoredCount, Fault> {
    read(&COUNTED.fields(row))
}

/// Reads a row.
pub(crate) fn read(row: &Fields<'_>) -> Result<StoredCount, Fault> {
    Ok(StoredCount {
        count: Count { key: Sha256Digest::from_bytes(row.get("key")?), nth: row.get("nth")?, total: row.get("total")? },
        at: row.get("counted_at")?,
        by: row.get("decision_id")?,
    })
}
