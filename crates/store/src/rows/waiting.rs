//! The decisions that wait for a review, as a table.

use crate::group::settle::Draft;
use crate::insert::{Insert, Or, Set};
use crate::rows::filter::roles_text;
use crate::statement::row;
use crate::tables::WAITING;
use crate::value::values;

/// The one row of a subject; `first` stays.
static PUT: Insert = Insert::or(
    &WAITING,
    Or::Change {
        key: &["tenant", "subject"],
        sets: &[Set::Replace("sequence"), Set::Add("asked"), Set::Replace("roles")],
    },
);

/// SQL for whether a row of `decisions` waits for a review: no decision on the subject is newer, nobody has denied the action
/// since, and it has fewer approvals than it waits for. Once it does not wait, it never waits again: so the table `waiting`, which holds
/// every decision that waits, need not hold those that do not.
// By subject and time, not by decision: a review of an earlier decision on the subject counts if it came no earlier
// than this decision.
pub(crate) const WAITS: &str = "review
    AND NOT EXISTS (SELECT 1 FROM decisions AS newer WHERE newer.tenant = decisions.tenant
                    AND newer.subject = decisions.subject AND newer.sequence > decisions.sequence)
    AND NOT EXISTS (SELECT 1 FROM reviews WHERE reviews.tenant = decisions.tenant
                    AND reviews.fingerprint = decisions.fingerprint AND reviews.verdict = 'denied'
                    AND reviews.reviewed_at >= decisions.decided_at)
    AND (SELECT count(*) FROM reviews WHERE reviews.tenant = decisions.tenant
         AND reviews.subject = decisions.subject AND reviews.verdict = 'approved'
         AND reviews.reviewed_at >= decisions.decided_at) < wanted";

/// Notes the sequence number of the newest decision on a subject, and the roles in which it asks for approvals, if it waits for a review.
/// Those before it do not wait any more; from when on they waited, and how often it was asked, is kept.
pub(crate) fn put(draft: &mut Draft<'_>, subject: &str, waits: Option<(i64, &[String])>) {
    let tenant = draft.tenant.as_str();
    match waits {
        Some((sequence, roles)) => {
            let row = row!(WAITING {
                tenant: tenant,
                sequence: sequence,
                subject: subject,
                first: sequence,
                asked: 1_i64,
                roles: roles_text(roles),
            });
            draft.insert(&PUT, row);
        }
        None => draft.run("DELETE FROM waiting WHERE tenant = $1 AND subject = $2", values![tenant, subject]),
    }
}

/// Forgets the decision on a subject if it does not wait any more.
pub(crate) fn forget_settled(draft: &mut Draft<'_>, subject: &str) {
    let sql = format!(
        "DELETE FROM waiting WHERE tenant = $1 AND subject = $2
         AND NOT EXISTS (SELECT 1 FROM decisions WHERE decisions.sequence = waiting.sequence AND {WAITS})"
    );
    draft.run(sql, values![draft.tenant.as_str(), subject]);
}

/// Forgets the decisions on an action that wait, after a denial: those for other agents and environments as well. They are found among
/// all that wait, which are few, and not among all decisions on the action.
pub(crate) fn forget_denied(draft: &mut Draft<'_>, fingerprint: &str) {
    let sql = format!(
        "DELETE FROM waiting WHERE tenant = $1
         AND (SELECT fingerprint FROM decisions WHERE decisions.sequence = waiting.sequence) = $2
         AND NOT EXISTS (SELECT 1 FROM decisions WHERE decisions.sequence = waiting.sequence AND {WAITS})"
    );
    draft.run(sql, values![draft.tenant.as_str(), fingerprint]);
}
