//! Whether a retry may be decided at all: the conditions of the receipt it resumes from hold.

use proofmark_evidence::Evidence;
use proofmark_predicate::Budget;
use proofmark_receipt::Json;

use crate::change::MAX_CHANGES;
use crate::conditions::{self, holds};
use crate::disposition::Disposition;
use crate::input::MAX_DECISION_STEPS;
use crate::moment::Moment;
use crate::policy::ActionPolicy;
use crate::receipt::DecisionReceipt;
use crate::request::Request;

/// Whether a retry is admitted. Admission allows nothing: the retry is decided like any request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    Admitted,
    /// These conditions do not hold.
    ConditionsUnmet(Vec<String>),
    /// No retry is possible, whatever the facts.
    Refused {
        code: &'static str,
        message: &'static str,
    },
}

/// Whether a retry that resumes from `resumed` may be decided. The caller checks the receipt's signature.
#[must_use]
pub fn admits(
    resumed: &DecisionReceipt,
    policy: &ActionPolicy,
    request: &Request,
    evidence: &Evidence,
    moment: &Moment,
) -> Admission {
    let refused = |code, message| Admission::Refused { code, message };
    match resumed.disposition() {
        Disposition::Allow | Disposition::AllowWithWarning => {
            return refused("not_blocked", "the receipt allowed its action; there is nothing to resume");
        }
        Disposition::TerminalBlock => return refused("terminal", "the receipt ended its path"),
        Disposition::LocalReplan | Disposition::UpstreamReplan | Disposition::HumanReview => {}
    }
    // No change of the receipt changes the class (`is_changeable`), so they say nothing about another one.
    if resumed.text("action_class") != request.action_class() {
        return refused("other_action", "the request is for an action of another class than the receipt");
    }
    let Some(conditions) = read_conditions(resumed) else {
        return refused("unreadable_conditions", "the receipt's `resume_contract.conditions` cannot be read");
    };
    let policy_hash = resumed.member("binding", "policy_hash").and_then(Json::as_str);
    if conditions.is_empty() {
        // Only another policy can change what no fact can.
        return if policy_hash == Some(policy.hash().to_string().as_str()) {
            refused("nothing_would_change", "only another policy would change the decision")
        } else {
            Admission::Admitted
        };
    }
    let facts = conditions::facts(policy, request, evidence, moment);
    // One budget for all conditions: the receipt may hold any predicates, and past the budget none of them holds.
    let budget = Budget::new(MAX_DECISION_STEPS);
    let unmet = conditions.into_iter().filter(|condition| !holds(condition, &facts, &budget));
    let unmet: Vec<_> = unmet.map(str::to_owned).collect();
    if unmet.is_empty() { Admission::Admitted } else { Admission::ConditionsUnmet(unmet) }
}

fn read_conditions(resumed: &DecisionReceipt) -> Option<Vec<&str>> {
    let conditions = resumed.member("resume_contract", "conditions")?.as_array()?;
    // The engine never writes more, and each one is compiled before any step is charged.
    if conditions.len() > MAX_CHANGES {
        return None;
    }
    conditions.iter().map(|condition| condition.as_object()?.get("predicate")?.as_str()).collect()
}
