//! Decision receipts, beside their outcome and its reasons.

use proofmark_boundary::{DecisionReceipt, Separation};
use proofmark_receipt::{Json, Object};
use proofmark_session::SessionHead;

use crate::{Kind, Said, Section, Statement, text};

/// What a decision receipt says about the action and itself, and what it tells the agent to do next.
#[must_use]
pub fn of_decision(receipt: &DecisionReceipt) -> Vec<Section> {
    let document = receipt.document();
    let mut said = Said::default();
    said.words("when", receipt.bound("decided_at"));
    said.words("expires", receipt.bound("expires_at"));
    said.words("action class", text(document, "action_class"));
    for name in ["environment", "agent"] {
        said.words(name, receipt.bound(name));
    }
    let asker = receipt.asker();
    said.words("account", asker.account);
    said.words("separation", Some(separation(asker.separation)));
    said.words("policy name", asker.policy);
    if let Some(SessionHead { session, entries, .. }) = asker.session {
        said.words("session", Some(format!("{session}, after {entries} entries")));
    }
    limits(document).into_iter().for_each(|words| said.words("limit", Some(words)));
    for (name, digest) in [("action", "action_hash"), ("policy", "policy_hash"), ("facts", "facts_hash")] {
        said.say(name, Kind::Digest, receipt.bound(digest));
    }
    if let Some(metadata) = document.get("metadata").and_then(Json::as_object) {
        said.chain(metadata);
    }
    let steps = document.get("safe_next_steps").and_then(Json::as_array).unwrap_or_default();
    let messages = steps.iter().filter_map(|step| step.as_str().or_else(|| text(step.as_object()?, "message")));
    let messages = messages.map(|message| Statement { name: None, value: message.to_owned(), kind: Kind::Words });
    let sections = [said.under(None), Said(messages.collect()).under(Some("next steps"))];
    sections.into_iter().filter(|section| !section.statements.is_empty()).collect()
}

/// What the limits of the policy had counted, and what this decision adds.
fn limits(document: &Object) -> Vec<String> {
    let limits = document.get("binding").and_then(|binding| binding.as_object()?.get("limits")?.as_array());
    let words = limits.unwrap_or_default().iter().filter_map(|limit| {
        let limit = limit.as_object()?;
        let (id, used, window) = (text(limit, "id")?, text(limit, "used")?, text(limit, "window")?);
        let max = text(limit, "max").map_or_else(String::new, |max| format!(" of {max}"));
        let amount = text(limit, "amount").map_or_else(String::new, |amount| format!("; this one adds {amount}"));
        let of = limit.get("of").and_then(Json::as_object).into_iter().flat_map(Object::iter);
        let of: String = of.filter_map(|(path, value)| Some(format!(", {path} {}", value.as_str()?))).collect();
        Some(format!("{id}{of}: {used}{max} used {window} before{amount}"))
    });
    words.collect()
}

/// How far the agent was from what decided.
pub(crate) fn separation(separation: Separation) -> &'static str {
    match separation {
        Separation::None => "none: the agent may have been able to decide for itself",
        Separation::Account => "account: the agent asked from another account of the host",
        Separation::Host => "host: the agent asked from another host",
    }
}
