//! Changes in words for people, and as predicates for machines.

use super::suppose::{self, Op};
use super::{Change, condition_of};
use crate::evidence::MAX_AHEAD_MILLIS;
use crate::judge::{Kind, RuleRef, World, call_words};
use crate::policy::{ApprovalDemand, ReceiptDemand, SignerDemand, ToolCallDemand};

/// The longest predicate that is quoted to people, in characters.
const MAX_QUOTED_CHARS: usize = 240;

/// The change one op is.
pub(super) fn change(world: &World<'_>, op: &Op) -> Option<Change> {
    Some(match op {
        Op::Fact { source, truth, supposed } => fact(world, *source, *truth, *supposed)?,
        Op::Receipt { source } => {
            let demand = suppose::demand(world.policy, *source, suppose::receipt_demand)?;
            plain("receipt", receipt_words(world, demand), receipt_predicate(demand))
        }
        Op::Approval { source } => {
            let demand = suppose::approval_demand(world.policy, *source)?;
            plain("approval", approval_words(demand), approval_predicate(demand))
        }
        Op::Call { source } => {
            let demand = suppose::demand(world.policy, *source, suppose::tool_call)?;
            plain("tool_call", format!("The run has a {}.", call_words(demand)), call_predicate(demand))
        }
    })
}

fn plain(kind: &'static str, words: String, predicate: String) -> Change {
    Change { kind, words, predicate, supposed: false }
}

fn fact(world: &World<'_>, source: RuleRef, truth: bool, supposed: bool) -> Option<Change> {
    let source_text = condition_of(world.policy, source)?.source();
    let predicate = match truth {
        true => source_text.to_owned(),
        false => format!("!({source_text}\n)").replace('\n', if source_text.contains("//") { "\n" } else { "" }),
    };
    let boundary = world.policy.boundaries.get(source.boundary)?;
    let next = match source.kind {
        Kind::Require => boundary.require.get(source.index)?.next.as_ref(),
        Kind::Deny => boundary.deny.get(source.index)?.next.as_ref(),
        _ => None,
    };
    let holds = format!("It holds that `{}`.", quoted_source(&predicate));
    let words = next.map_or_else(|| holds.clone(), |next| format!("{} {holds}", next.message));
    Some(Change { kind: "fact", words, predicate, supposed })
}

fn quoted_source(predicate: &str) -> String {
    let flat = predicate.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((end, _)) => format!("{}…", flat.get(..end).unwrap_or_default()),
        None => flat,
    }
}

fn receipt_words(world: &World<'_>, demand: &ReceiptDemand) -> String {
    let facts = world.request.value_at(world.moment.now.as_str());
    let output = match demand.output.text(&facts) {
        Ok(digest) => digest.to_string(),
        Err(_) => format!("`{}`", quoted_source(demand.output.source())),
    };
    let tiers: Vec<_> = demand.tiers.iter().map(u8::to_string).collect();
    let signer = match demand.signer {
        SignerDemand::Trusted => "a trusted signer",
        SignerDemand::Keys(_) => "a signer the policy names",
    };
    let mut words =
        format!("There is a `{}` receipt of tier {} over {output} by {signer}", demand.verdict, tiers.join(" or "));
    if let Some(millis) = demand.max_age_millis {
        words.push_str(&format!(", no older than {} seconds", millis / 1000));
    }
    if demand.single_use {
        words.push_str(", not used before");
    }
    words.push('.');
    words
}

fn receipt_predicate(demand: &ReceiptDemand) -> String {
    let signer = match &demand.signer {
        SignerDemand::Trusted => "r.trusted".to_owned(),
        SignerDemand::Keys(keys) => {
            let keys: Vec<_> = keys.iter().map(|key| text(&key.to_string())).collect();
            format!("r.signer in [{}]", keys.join(", "))
        }
    };
    let tiers: Vec<_> = demand.tiers.iter().map(u8::to_string).collect();
    let mut parts = vec![
        format!("r.output == ({}\n)", demand.output.source()),
        "r.valid".to_owned(),
        signer,
        format!("r.verdict == {}", text(demand.verdict.as_str())),
        format!("r.tier in [{}]", tiers.join(", ")),
        format!("timestamp(r.verified_at) - timestamp(now) <= duration('{}s')", MAX_AHEAD_MILLIS / 1000),
    ];
    if let Some(specification) = &demand.specification {
        parts.push(format!("r.specification == ({}\n)", specification.source()));
    }
    if let Some(millis) = demand.max_age_millis {
        parts.push(format!("timestamp(now) - timestamp(r.verified_at) <= duration('{}s')", millis / 1000));
    }
    if demand.single_use {
        parts.push("!r.spent".to_owned());
    }
    format!("receipts.exists(r, {})", parts.join(" && "))
}

fn approval_words(demand: &ApprovalDemand) -> String {
    match (demand.count, demand.distinct) {
        (1, _) => format!("One `{}` has approved exactly this action.", demand.role),
        (count, true) => format!("{count} different reviewers have approved exactly this action as `{}`.", demand.role),
        (count, false) => format!("There are {count} approvals of exactly this action as `{}`.", demand.role),
    }
}

fn approval_predicate(demand: &ApprovalDemand) -> String {
    let role = text(&demand.role);
    match demand.distinct {
        true => format!("approvers.exists(role, count, role == {role} && count >= {})", demand.count),
        false => format!("approvals.filter(a, a.usable && a.role == {role}).size() >= {}", demand.count),
    }
}

fn call_predicate(demand: &ToolCallDemand) -> String {
    let named = |variable: &str, pattern: &str| format!("{variable}.tool.matches({})", text(pattern));
    let mut parts = vec![named("c", &demand.name.pattern())];
    if let Some(status) = demand.status {
        parts.push(format!("c.status == {}", text(status)));
    }
    if let Some(after) = &demand.after {
        let after = named("d", &after.pattern());
        parts.push(format!("calls.exists(d, {after}) && calls.all(j, d, j < i || !{after})"));
    }
    if let Some(before) = &demand.before {
        parts.push(format!("calls.all(j, d, j > i || !{})", named("d", &before.pattern())));
    }
    format!("calls.exists(i, c, {})", parts.join(" && "))
}

/// A text as the predicate language writes it.
fn text(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            letter if letter.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(letter))),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
