//! Decisions whose execution is expected to be reported, and has not been: what a sweep has to look at.

use crate::group::settle::Draft;
use crate::insert::Insert;
use crate::statement::row;
use crate::tables::AWAITED;
use crate::value::values;

static INSERT: Insert = Insert::into(&AWAITED);

/// The report of the decision's execution is expected by `expires_at`, in milliseconds after 1970-01-01T00:00:00Z.
pub(crate) fn put(draft: &mut Draft<'_>, decision_id: &str, expires_at: i64) {
    let tenant = draft.tenant.as_str();
    draft.insert(&INSERT, row!(AWAITED { tenant: tenant, decision_id: decision_id, expires_at: expires_at }));
}

/// Nothing more is expected of this decision of the tenant. What another tenant reports changes nothing.
pub(crate) fn remove(draft: &mut Draft<'_>, decision_id: &str) {
    // Deleting no row is fine: an execution may be reported twice, or name a decision that awaits no report.
    let sql = "DELETE FROM awaited WHERE tenant = $1 AND decision_id = $2";
    draft.run(sql, values![draft.tenant.as_str(), decision_id]);
}
