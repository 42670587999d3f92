//! Everything a decision depends on.

use proofmark_evidence::Evidence;
use proofmark_predicate::Budget;

use crate::assumption::Assumption;
use crate::moment::Moment;
use crate::policy::ActionPolicy;
use crate::request::Request;

/// Steps that all rules of a policy may take together for one decision; see [`proofmark_predicate::limits::MAX_STEPS`] for what
/// a step is. Past it, what has not been decided blocks with `policy_error`.
pub const MAX_DECISION_STEPS: u64 = 20_000_000;

/// Everything a decision depends on.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) policy: &'a ActionPolicy,
    pub(crate) request: &'a Request,
    pub(crate) evidence: &'a Evidence,
    pub(crate) moment: &'a Moment,
    /// Empty but in the search for changes.
    pub(crate) assumed: &'a [Assumption<'a>],
    pub(crate) budget: &'a Budget<'a>,
}
