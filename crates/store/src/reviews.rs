//! What people said of decisions, and which decisions wait for a word.

use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};

use crate::bundle::MAX_LISTED;
use crate::error::StoreError;
use crate::tenant::Tenant;

/// What a reviewer said of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// The decision.
    pub decision_id: String,
    /// What the decision is on ([`crate::DecisionIndex::subject`]).
    pub subject: String,
    /// What was said.
    pub verdict: ReviewVerdict,
    /// Who reviewed it, as it is shown.
    pub reviewer: String,
    /// Who that is: of one person there is one review of a decision, in each role they hold.
    pub person: String,
    /// The role of an approval; empty for a denial.
    pub role: String,
    /// Why.
    pub note: String,
    /// The approval that was signed.
    pub receipt_id: Option<String>,
    /// When, in milliseconds after 1970-01-01T00:00:00Z.
    pub reviewed_at: i64,
    /// When it stops to count, in milliseconds after 1970-01-01T00:00:00Z.
    pub until: i64,
}

/// What a review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVerdict {
    /// The action may execute.
    Approved,
    /// It may not.
    Denied,
}

impl ReviewVerdict {
    /// `approved` or `denied`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
        }
    }
}

/// Whether a row of `decisions` waits for a human's word: nobody asked again for the same subject, nobody denied it, and
/// fewer approvals were given since than it takes.
pub(crate) const WAITS: &str = "review
    AND NOT EXISTS (SELECT 1 FROM decisions AS newer WHERE newer.tenant = decisions.tenant
                    AND newer.subject = decisions.subject AND newer.sequence > decisions.sequence)
    AND NOT EXISTS (SELECT 1 FROM reviews WHERE reviews.tenant = decisions.tenant
                    AND reviews.subject = decisions.subject AND reviews.verdict = 'denied'
                    AND reviews.reviewed_at >= decisions.decided_at)
    AND (SELECT count(*) FROM reviews WHERE reviews.tenant = decisions.tenant
         AND reviews.subject = decisions.subject AND reviews.verdict = 'approved'
         AND reviews.reviewed_at >= decisions.decided_at) < wanted";

/// Why a review cannot be kept, if so: there is nothing to review any more, or who has reviewed the decision says nothing more, but for approvals in other roles,
/// and a denial after them.
pub(crate) fn refusal(connection: &Connection, tenant: &Tenant, new: &Review) -> rusqlite::Result<Option<StoreError>> {
    let sql = "SELECT 1 FROM reviews WHERE tenant = ?1 AND decision_id = ?2 AND person = ?3
               AND (role = ?4 OR role = '')";
    let values = [tenant.as_str(), &new.decision_id, &new.person, &new.role];
    if connection.prepare_cached(sql)?.exists(values)? {
        return Ok(Some(StoreError::Reviewed(new.decision_id.clone())));
    }
    // An approval that comes late would allow the action once more.
    let by = allowed_since(connection, tenant, &new.decision_id)?;
    Ok(by.map(|by| StoreError::AllowedSince(new.decision_id.clone(), by)))
}

/// Keeps a review.
pub(crate) fn put(transaction: &Transaction<'_>, tenant: &str, new: &Review) -> rusqlite::Result<()> {
    let sql = format!("INSERT INTO reviews (tenant, {REVIEW}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
    let values = params![
        tenant,
        new.decision_id,
        new.subject,
        new.verdict.as_str(),
        new.reviewer,
        new.person,
        new.role,
        new.note,
        new.receipt_id,
        new.reviewed_at,
        new.until,
    ];
    transaction.prepare_cached(&sql)?.execute(values).map(drop)
}

/// The reviews of a decision, the oldest first.
pub(crate) fn reviews(connection: &Connection, tenant: &Tenant, decision_id: &str) -> rusqlite::Result<Vec<Review>> {
    let sql = format!("SELECT {REVIEW} FROM reviews WHERE tenant = ?1 AND decision_id = ?2 ORDER BY sequence LIMIT ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map((tenant.as_str(), decision_id, MAX_LISTED as i64), read)?.collect()
}

/// The denial of a subject that ends last, if it has not ended.
pub(crate) fn denial(
    connection: &Connection,
    tenant: &Tenant,
    subject: &str,
    now: i64,
) -> rusqlite::Result<Option<Review>> {
    let sql = format!(
        "SELECT {REVIEW} FROM reviews WHERE tenant = ?1 AND subject = ?2 AND verdict = 'denied' AND until > ?3
         ORDER BY until DESC, sequence DESC LIMIT 1"
    );
    connection.prepare_cached(&sql)?.query_row((tenant.as_str(), subject, now), read).optional()
}

/// The id of a decision that allowed the subject of this one after it.
pub(crate) fn allowed_since(
    connection: &Connection,
    tenant: &Tenant,
    decision_id: &str,
) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT newer.decision_id FROM decisions JOIN decisions AS newer
                   ON newer.tenant = decisions.tenant AND newer.subject = decisions.subject
                   AND newer.sequence > decisions.sequence
               WHERE decisions.decision_id = ?1 AND decisions.tenant = ?2 AND newer.allowed
               ORDER BY newer.sequence LIMIT 1";
    connection.prepare_cached(sql)?.query_row([decision_id, tenant.as_str()], |row| row.get(0)).optional()
}

/// The facts a decision was made on, as JSON, where they are kept.
pub(crate) fn facts(connection: &Connection, tenant: &Tenant, decision_id: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT facts FROM asked JOIN decisions USING (decision_id) WHERE decision_id = ?1 AND tenant = ?2";
    connection.prepare_cached(sql)?.query_row([decision_id, tenant.as_str()], |row| row.get(0)).optional()
}

/// As [`facts`], of the newest decision on a subject; those of the others are not kept.
pub(crate) fn newest_facts(
    connection: &Connection,
    tenant: &Tenant,
    subject: &str,
) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT facts FROM decisions JOIN asked USING (decision_id) WHERE tenant = ?1 AND subject = ?2 LIMIT 1";
    connection.prepare_cached(sql)?.query_row([tenant.as_str(), subject], |row| row.get(0)).optional()
}

const REVIEW: &str = "decision_id, subject, verdict, reviewer, person, role, note, receipt_id, reviewed_at, until";

fn read(row: &Row<'_>) -> rusqlite::Result<Review> {
    let approved = row.get_ref(2)?.as_str()? == ReviewVerdict::Approved.as_str();
    Ok(Review {
        decision_id: row.get(0)?,
        subject: row.get(1)?,
        verdict: if approved { ReviewVerdict::Approved } else { ReviewVerdict::Denied },
        reviewer: row.get(3)?,
        person: row.get(4)?,
        role: row.get(5)?,
        note: row.get(6)?,
        receipt_id: row.get(7)?,
        reviewed_at: row.get(8)?,
        until: row.get(9)?,
    })
}
