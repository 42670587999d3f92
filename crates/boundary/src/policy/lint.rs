//! What a policy may say and probably does not mean.

use proofmark_evidence::Accepts;

use super::{ActionPolicy, Boundary, Demand, ReceiptRule, Unmatched};

/// Something that looks like a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The place in the policy, as in `boundaries[0].require[1]`.
    pub at: String,
    pub code: &'static str,
    pub message: String,
}

/// The warnings, in policy order.
pub(super) fn warnings(policy: &ActionPolicy) -> Vec<Warning> {
    let mut warnings: Vec<_> = policy.boundaries.iter().flat_map(|boundary| of_boundary(policy, boundary)).collect();
    if policy.boundaries.is_empty() {
        let message = "no action is protected by a rule of its own; write a boundary";
        warnings.push(Warning { at: "boundaries".to_owned(), code: "no_boundaries", message: message.to_owned() });
    }
    if policy.unmatched == Unmatched::AllowExempted {
        for exemption in policy.exemptions.iter().filter(|exemption| exemption.matcher.is_empty()) {
            let message = "it exempts every action no boundary is about; narrow it with `match`";
            warnings.push(Warning {
                at: exemption.at.to_string(),
                code: "exempts_everything",
                message: message.to_owned(),
            });
        }
    }
    warnings
}

fn of_boundary(policy: &ActionPolicy, boundary: &Boundary) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut warn = |at: &str, code, message: String| warnings.push(Warning { at: at.to_owned(), code, message });
    if boundary.require.is_empty() && boundary.deny.is_empty() {
        let message = "it allows whatever it matches; write `require` or `deny` unless that is meant";
        warn(&boundary.at, "allows_everything", message.to_owned());
    }
    for rule in &boundary.require {
        if let Demand::Receipt(ReceiptRule { demand, .. }) = &rule.demand
            && demand.accepts == Accepts::AnySuite
        {
            let message = "a receipt counts whatever the work was held to, so the agent that asks for it can choose trivial \
                           tests; name the `suite`";
            warn(&rule.at, "any_suite", message.to_owned());
        }
        if let Demand::Receipt(ReceiptRule { specification: Some(expression), .. }) = &rule.demand
            && expression.names().iter().any(|name| &**name == "action")
        {
            let message = "the agent writes `action`, so it chooses the specification; write the digest, or take it \
                           from facts that the runtime observes";
            warn(&rule.at, "specification_of_agent", message.to_owned());
        }
        match &rule.demand {
            Demand::Receipt(ReceiptRule { demand, .. }) if !demand.single_use && demand.max_age_millis.is_none() => {
                let message =
                    "one receipt allows this action again and again for ever; write `single_use` or `max_age`";
                warn(&rule.at, "receipt_without_end", message.to_owned());
            }
            Demand::Approval(demand) if policy.roles.members(&demand.role).is_none() => {
                let message =
                    format!("any trusted signer can claim the role `{}`; pin its keys in `roles`", demand.role);
                warn(&rule.at, "role_without_keys", message);
            }
            Demand::Approval(demand) if demand.distinct && too_few_keys(policy, &demand.role, demand.count) => {
                let message = format!("the role `{}` has fewer keys than approvals are asked for", demand.role);
                warn(&rule.at, "too_few_keys", message);
            }
            Demand::ToolCall(demand) if demand.status.is_none() => {
                let message = "a call that failed, was blocked or never ended meets it too; write `status: succeeded`";
                warn(&rule.at, "call_of_any_status", message.to_owned());
            }
            Demand::Fact(_) | Demand::Receipt(_) | Demand::Approval(_) | Demand::ToolCall(_) => {}
        }
    }
    warnings
}

fn too_few_keys(policy: &ActionPolicy, role: &str, count: usize) -> bool {
    policy.roles.members(role).is_some_and(|members| members.len() < count)
}
