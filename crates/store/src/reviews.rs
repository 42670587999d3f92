//! Reviews of decisions, and which decisions wait for one.

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::column;
use crate::error::StoreError;
use crate::page::MAX_LISTED;
use crate::scope::Scope;
use crate::tenant::Tenant;

/// A reviewer's approval or denial of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub decision_id: String,
    /// What the decision is on ([`crate::DecisionIndex::subject`]).
    pub subject: String,
    pub verdict: ReviewVerdict,
    /// The reviewer's name, as it is shown.
    pub reviewer: String,
    /// Who that is: one person gives one review of a decision in each role they hold.
    pub person: String,
    /// The role of an approval; empty for a denial.
    pub role: String,
    pub note: String,
    /// The approval that was signed.
    pub receipt_id: Option<String>,
    /// In milliseconds after 1970-01-01T00:00:00Z.
    pub reviewed_at: i64,
    /// When it expires, in milliseconds after 1970-01-01T00:00:00Z.
    pub until: i64,
}

/// The verdict of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewVerdict {
    Approved,
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

/// SQL for whether a row of `decisions` waits for a review: there is no newer decision on the subject and no denial, and it
/// has fewer approvals than it waits for. Once it does not wait, it never waits again: so the table `waiting`, which holds
/// every decision that waits, need not hold those that do not.
// By subject and time, not by decision: a review of an earlier decision on the subject counts if it came no earlier
// than this decision.
pub(crate) const WAITS: &str = "review
    AND NOT EXISTS (SELECT 1 FROM decisions AS newer WHERE newer.tenant = decisions.tenant
                    AND newer.subject = decisions.subject AND newer.sequence > decisions.sequence)
    AND NOT EXISTS (SELECT 1 FROM reviews WHERE reviews.tenant = decisions.tenant
                    AND reviews.subject = decisions.subject AND reviews.verdict = 'denied'
                    AND reviews.reviewed_at >= decisions.decided_at)
    AND (SELECT count(*) FROM reviews WHERE reviews.tenant = decisions.tenant
         AND reviews.subject = decisions.subject AND reviews.verdict = 'approved'
         AND reviews.reviewed_at >= decisions.decided_at) < wanted";

impl Review {
    /// One person reviews a decision once, except for approvals in several roles, and a denial after them. Nothing is
    /// reviewed after the action was allowed: a late approval would allow it once more.
    pub(crate) fn refusal(&self, scope: &Scope<'_>) -> rusqlite::Result<Option<StoreError>> {
        let sql = "SELECT 1 FROM reviews WHERE tenant = ?1 AND decision_id = ?2 AND person = ?3
                   AND (role = ?4 OR role = '')";
        let key = [scope.tenant.as_str(), &self.decision_id, &self.person, &self.role];
        if scope.connection.prepare_cached(sql)?.exists(key)? {
            return Ok(Some(StoreError::Reviewed(self.decision_id.clone())));
        }
        // In the writer, although callers look before: the action may be allowed while the approval is being signed.
        let by = allowed_since(scope.connection, scope.tenant, &self.decision_id)?;
        Ok(by.map(|by| StoreError::AllowedSince(self.decision_id.clone(), by)))
    }

    pub(crate) fn put(&self, scope: &Scope<'_>) -> rusqlite::Result<()> {
        let sql =
            format!("INSERT INTO reviews (tenant, {REVIEW}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
        let values = params![
            scope.tenant.as_str(),
            self.decision_id,
            self.subject,
            self.verdict.as_str(),
            self.reviewer,
            self.person,
            self.role,
            self.note,
            self.receipt_id,
            self.reviewed_at,
            self.until,
        ];
        scope.connection.prepare_cached(&sql)?.execute(values)?;
        let sql = format!(
            "DELETE FROM waiting WHERE tenant = ?1 AND subject = ?2
             AND NOT EXISTS (SELECT 1 FROM decisions WHERE decisions.sequence = waiting.sequence AND {WAITS})"
        );
        scope.connection.prepare_cached(&sql)?.execute([scope.tenant.as_str(), &self.subject]).map(drop)
    }
}

/// Notes the sequence number of the newest decision on a subject if it waits for a review. Those before it do not wait any
/// more.
pub(crate) fn put_waiting(scope: &Scope<'_>, subject: &str, waits: Option<i64>) -> rusqlite::Result<()> {
    let tenant = scope.tenant.as_str();
    let sql = "DELETE FROM waiting WHERE tenant = ?1 AND subject = ?2";
    scope.connection.prepare_cached(sql)?.execute([tenant, subject])?;
    if let Some(sequence) = waits {
        let sql = "INSERT INTO waiting (tenant, sequence, subject) VALUES (?1, ?2, ?3)";
        scope.connection.prepare_cached(sql)?.execute(params![tenant, sequence, subject])?;
    }
    Ok(())
}

/// The reviews of a decision, the oldest first.
pub(crate) fn reviews(connection: &Connection, tenant: &Tenant, decision_id: &str) -> rusqlite::Result<Vec<Review>> {
    let sql = format!("SELECT {REVIEW} FROM reviews WHERE tenant = ?1 AND decision_id = ?2 ORDER BY sequence LIMIT ?3");
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map((tenant.as_str(), decision_id, MAX_LISTED as i64), read)?.collect()
}

/// The denial of a subject that expires last, if it has not expired.
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

/// The facts a decision was made on, as JSON, where they are stored.
pub(crate) fn facts(connection: &Connection, tenant: &Tenant, decision_id: &str) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT facts FROM asked JOIN decisions USING (decision_id) WHERE decision_id = ?1 AND tenant = ?2";
    connection.prepare_cached(sql)?.query_row([decision_id, tenant.as_str()], |row| row.get(0)).optional()
}

/// As [`facts`], of the newest decision on a subject; those of the others are not stored.
pub(crate) fn newest_facts(
    connection: &Connection,
    tenant: &Tenant,
    subject: &str,
) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT facts FROM asked WHERE decision_id =
                   (SELECT decision_id FROM decisions WHERE tenant = ?1 AND subject = ?2 ORDER BY sequence DESC LIMIT 1)";
    connection.prepare_cached(sql)?.query_row([tenant.as_str(), subject], |row| row.get(0)).optional()
}

const REVIEW: &str = "decision_id, subject, verdict, reviewer, person, role, note, receipt_id, reviewed_at, until";

fn read(row: &Row<'_>) -> rusqlite::Result<Review> {
    let verdict = match row.get_ref(2)?.as_str()? {
        "approved" => ReviewVerdict::Approved,
        "denied" => ReviewVerdict::Denied,
        other => return Err(column::changed(2, Type::Text, format!("unknown verdict `{other}` of a review"))),
    };
    Ok(Review {
        decision_id: row.get(0)?,
        subject: row.get(1)?,
        verdict,
        reviewer: row.get(3)?,
        person: row.get(4)?,
        role: row.get(5)?,
        note: row.get(6)?,
        receipt_id: row.get(7)?,
        reviewed_at: row.get(8)?,
        until: row.get(9)?,
    })
}
