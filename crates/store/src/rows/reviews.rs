//! Reviews of decisions.

use crate::engine::db::Db;
use crate::error::StoreError;
use crate::fault::Fault;
use crate::group::settle::{Draft, Facts, Key, Question, Settle, Stop};
use crate::insert::Insert;
use crate::row::Row;
use crate::rows::page::MAX_LISTED;
use crate::rows::waiting;
use crate::statement::{question, row};
use crate::table::Fields;
use crate::tables::REVIEWS;
use crate::tenant::Tenant;
use crate::value::values;

/// A reviewer's approval or denial of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub decision_id: String,
    /// The action that the decision is on ([`crate::NewDecision::fingerprint`]), which a denial counts for.
    pub fingerprint: String,
    /// The action with the environment and the agent ([`crate::DecisionIndex::subject`]), which an approval counts for.
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

/// A review that rests on those before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedReview {
    pub review: Review,
    /// How many reviews its subject had when it was judged. Refused with [`StoreError::ReviewedMeanwhile`] if it has others.
    pub seen: u64,
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

static INSERT: Insert = Insert::into(&REVIEWS);

impl Settle for Review {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let tenant = tenant.as_str();
        vec![
            Key::new("decision", &[tenant, &self.decision_id]),
            Key::new("action", &[tenant, &self.fingerprint]),
            Key::new("subject", &[tenant, &self.subject]),
        ]
    }

    /// One person reviews a decision once, except for approvals in several roles, and a denial after them. Nothing is
    /// reviewed after the action was allowed: a late approval would allow it once more.
    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        let reviewed = question!(
            "SELECT 1 FROM reviews WHERE tenant = {tenant} AND decision_id = {decision} AND person = {person}
             AND (role = {role} OR role = '')",
            tenant: tenant.as_str(),
            decision: &self.decision_id,
            person: &self.person,
            role: &self.role,
        );
        // In the writer, although callers look before: the action may be allowed while the approval is being signed.
        let allowed = question!(
            "{allowed}",
            decision: &self.decision_id,
            tenant: tenant.as_str();
            allowed = allowed_since_sql(&decision, &tenant)
        );
        vec![reviewed, allowed]
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        if facts.row().is_some() {
            return Err(StoreError::Reviewed(self.decision_id.clone()).into());
        }
        if let Some(row) = facts.row() {
            return Err(StoreError::AllowedSince(self.decision_id.clone(), row.get(0)?).into());
        }
        let row = row!(REVIEWS {
            sequence: draft.number(&REVIEWS),
            tenant: draft.tenant.as_str(),
            decision_id: &self.decision_id,
            fingerprint: &self.fingerprint,
            subject: &self.subject,
            verdict: self.verdict.as_str(),
            reviewer: &self.reviewer,
            person: &self.person,
            role: &self.role,
            note: &self.note,
            receipt_id: &self.receipt_id,
            reviewed_at: self.reviewed_at,
            until: self.until,
        });
        draft.insert(&INSERT, row);
        match self.verdict {
            ReviewVerdict::Approved => waiting::forget_settled(draft, &self.subject),
            ReviewVerdict::Denied => waiting::forget_denied(draft, &self.fingerprint),
        }
        Ok(())
    }

    fn time(&self) -> i64 {
        self.reviewed_at
    }
}

impl Settle for JudgedReview {
    fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        self.review.keys(tenant)
    }

    fn questions(&self, tenant: &Tenant) -> Vec<Question> {
        let count = question!(
            "SELECT count(*) FROM reviews WHERE tenant = {tenant} AND subject = {subject}",
            tenant: tenant.as_str(),
            subject: &self.review.subject,
        );
        self.review.questions(tenant).into_iter().chain([count]).collect()
    }

    fn settle(&mut self, facts: &mut Facts<'_>, draft: &mut Draft<'_>) -> Result<(), Stop> {
        self.review.settle(facts, draft)?;
        // Of the same moment as the review: nobody else has written since.
        let count = facts.row().map(|row| row.get::<u64>(0)).transpose()?.unwrap_or_default();
        if count == self.seen {
            Ok(())
        } else {
            Err(StoreError::ReviewedMeanwhile(self.review.decision_id.clone()).into())
        }
    }

    fn time(&self) -> i64 {
        self.review.time()
    }
}

/// How many reviews a subject has.
pub(crate) fn count_on(db: &Db<'_>, tenant: &Tenant, subject: &str) -> Result<u64, Fault> {
    let sql = "SELECT count(*) FROM reviews WHERE tenant = $1 AND subject = $2";
    db.only(sql, &values![tenant.as_str(), subject], |row| row.get(0))
}

/// The reviews of a decision, the oldest first.
pub(crate) fn reviews(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<Vec<Review>, Fault> {
    let sql = select("tenant = $1 AND decision_id = $2 ORDER BY sequence LIMIT $3");
    db.all(&sql, &values![tenant.as_str(), decision_id, MAX_LISTED], read_review)
}

/// The reviews of decisions on a subject, the newest first; at most `limit`.
pub(crate) fn on_subject(db: &Db<'_>, tenant: &Tenant, subject: &str, limit: usize) -> Result<Vec<Review>, Fault> {
    let sql = select("tenant = $1 AND subject = $2 ORDER BY sequence DESC LIMIT $3");
    db.all(&sql, &values![tenant.as_str(), subject, limit.min(MAX_LISTED)], read_review)
}

/// The reviews since a time, the newest first, each with when its decision was made; at most `limit`.
pub(crate) fn since(db: &Db<'_>, tenant: &Tenant, since: i64, limit: usize) -> Result<Vec<(Review, i64)>, Fault> {
    let sql = format!(
        "SELECT (SELECT decided_at FROM decisions WHERE decisions.decision_id = reviews.decision_id), {}
         FROM reviews WHERE tenant = $1 AND reviewed_at >= $2 ORDER BY reviewed_at DESC, sequence DESC LIMIT $3",
        REVIEWS.list()
    );
    let read = |row: &Row<'_>| {
        let review = read(&REVIEWS.fields_after(1, row))?;
        // A review of a decision that is not stored here was given on the command line.
        let decided_at = row.get::<Option<i64>>(0)?.unwrap_or(review.reviewed_at);
        Ok((review, decided_at))
    };
    db.all(&sql, &values![tenant.as_str(), since, limit.min(MAX_LISTED)], read)
}

/// The denial of an action that expires last, if it has not expired.
pub(crate) fn denial(db: &Db<'_>, tenant: &Tenant, fingerprint: &str, now: i64) -> Result<Option<Review>, Fault> {
    let sql = select(
        "tenant = $1 AND fingerprint = $2 AND verdict = 'denied' AND until > $3 ORDER BY until DESC, sequence DESC LIMIT 1",
    );
    db.one(&sql, &values![tenant.as_str(), fingerprint, now], read_review)
}

/// The newest approval that a person gave, by the id of its receipt.
pub(crate) fn last_approval_of(db: &Db<'_>, tenant: &Tenant, person: &str) -> Result<Option<String>, Fault> {
    let sql = "SELECT receipt_id FROM reviews WHERE tenant = $1 AND person = $2 AND receipt_id IS NOT NULL
               ORDER BY sequence DESC LIMIT 1";
    db.one(sql, &values![tenant.as_str(), person], |row| row.get(0))
}

/// SQL for the sequence number of the denial of the action `$2` of the tenant `$1` that expires last, expired or not.
pub(crate) const LAST_DENIAL: &str =
    "(SELECT sequence FROM reviews WHERE tenant = $1 AND fingerprint = $2 AND verdict = 'denied'
                                       ORDER BY until DESC, sequence DESC LIMIT 1)";

fn allowed_since_sql(decision: &str, tenant: &str) -> String {
    format!(
        "SELECT newer.decision_id FROM decisions JOIN decisions AS newer
             ON newer.tenant = decisions.tenant AND newer.subject = decisions.subject AND newer.sequence > decisions.sequence
         WHERE decisions.decision_id = {decision} AND decisions.tenant = {tenant} AND newer.allowed
         ORDER BY newer.sequence LIMIT 1"
    )
}

/// The id of a decision that allowed the subject of this one after it.
pub(crate) fn allowed_since(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<Option<String>, Fault> {
    db.value(&allowed_since_sql("$1", "$2"), &values![decision_id, tenant.as_str()])
}

/// The facts a decision was made on, as JSON, where they are stored.
pub(crate) fn facts(db: &Db<'_>, tenant: &Tenant, decision_id: &str) -> Result<Option<String>, Fault> {
    // Joined because `asked` knows no tenants: the decision says whose facts they are.
    let sql = "SELECT facts FROM asked JOIN decisions USING (decision_id) WHERE decision_id = $1 AND tenant = $2";
    db.value(sql, &values![decision_id, tenant.as_str()])
}

/// As [`facts`], of the newest decision on a subject; those of the others are not stored.
pub(crate) fn newest_facts(db: &Db<'_>, tenant: &Tenant, subject: &str) -> Result<Option<String>, Fault> {
    let sql = "SELECT facts FROM asked WHERE decision_id =
                   (SELECT decision_id FROM decisions WHERE tenant = $1 AND subject = $2 ORDER BY sequence DESC LIMIT 1)";
    db.value(sql, &values![tenant.as_str(), subject])
}

fn select(condition: &str) -> String {
    format!("SELECT {} FROM reviews WHERE {condition}", REVIEWS.list())
}

fn read_review(row: &Row<'_>) -> Result<Review, Fault> {
    read(&REVIEWS.fields(row))
}

pub(crate) fn read(row: &Fields<'_>) -> Result<Review, Fault> {
    let verdict = match row.text("verdict")? {
        "approved" => ReviewVerdict::Approved,
        "denied" => ReviewVerdict::Denied,
        other => return Err(Fault::changed("verdict", format!("unknown verdict `{other}` of a review"))),
    };
    Ok(Review {
        decision_id: row.get("decision_id")?,
        fingerprint: row.get("fingerprint")?,
        subject: row.get("subject")?,
        verdict,
        reviewer: row.get("reviewer")?,
        person: row.get("person")?,
        role: row.get("role")?,
        note: row.get("note")?,
        receipt_id: row.get("receipt_id")?,
        reviewed_at: row.get("reviewed_at")?,
        until: row.get("until")?,
    })
}
