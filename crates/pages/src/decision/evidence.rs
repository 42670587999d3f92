//! What the policy looked at: a row for each piece of evidence, those that stop the action first.

use proofmark_boundary::{ActionPolicy, DecisionReceipt, Standing};
use proofmark_receipt::{Json, Object};

use super::super::text::{Coded, Shown};
use super::super::words::{encoded, short_digest, short_id, spaced};

/// A piece of evidence.
pub(crate) struct EvidenceRow {
    /// The class of its tag, its picture and its word.
    pub(crate) look: (&'static str, &'static str, &'static str),
    pub(crate) title: Shown,
    pub(crate) more: Option<Shown>,
    pub(crate) code: Option<Shown>,
    pub(crate) rule: Shown,
    pub(crate) href: Option<String>,
    /// Whether it is of a rule that stops the action.
    pub(crate) blocks: bool,
}

/// A reason of a decision.
pub(crate) struct ReasonRow {
    pub(crate) message: Shown,
    pub(crate) detail: Option<Coded>,
    pub(crate) rule: Shown,
    /// Its picture.
    pub(crate) icon: &'static str,
    /// What it says about its rule.
    pub(crate) standing: &'static str,
    /// Whether it repeats what a reviewer wrote.
    pub(crate) is_denial: bool,
    weight: u8,
}

/// The rule of a reason that a reviewer gave.
const DENIAL: &str = "review";

/// Names the places of a policy.
pub(crate) struct RuleNames<'a> {
    /// The policy that decided, where it still is in force.
    pub(crate) policy: Option<&'a ActionPolicy>,
}

impl RuleNames<'_> {
    /// As in `large-refund, requirement 1`.
    pub(crate) fn words(&self, place: &str) -> Shown {
        let name = self.policy.map_or_else(|| place.to_owned(), |policy| policy.rule_name(place));
        let (boundary, part) = name.rsplit_once('.').unwrap_or((&name, ""));
        let (kind, index) = part.split_once('[').unwrap_or((part, ""));
        let index = index.trim_end_matches(']').parse::<u64>().map_or(0, |index| index.saturating_add(1));
        let words = match (kind, place) {
            ("require", _) => format!("{boundary}, requirement {index}"),
            ("deny", _) => format!("{boundary}, denial {index}"),
            ("warn", _) => format!("{boundary}, warning {index}"),
            ("when", _) => format!("{boundary}, when it applies"),
            ("match", _) => format!("{boundary}, what it matches"),
            (_, "repeat") => "asked for too often".to_owned(),
            (_, "unmatched") => "actions without a rule".to_owned(),
            (_, DENIAL) => "a reviewer's denial".to_owned(),
            _ => name,
        };
        Shown::line(&words, 160)
    }
}

/// The reasons: those that stop the action first, then what approvals lifted, then warnings.
pub(crate) fn reasons(receipt: &DecisionReceipt, names: &RuleNames<'_>) -> Vec<ReasonRow> {
    let mut rows: Vec<_> = receipt
        .reasons()
        .into_iter()
        .map(|reason| {
            let (icon, weight) = match reason.standing() {
                Standing::Lifted => ("ok", 1),
                Standing::Warning => ("warn", 2),
                _ => ("stop", 0),
            };
            ReasonRow {
                message: reason.message.into(),
                detail: reason.detail.map(Shown::with_code),
                rule: names.words(reason.rule),
                icon,
                standing: reason.standing().as_str(),
                is_denial: reason.rule == DENIAL,
                weight,
            }
        })
        .collect();
    // The sort is stable: within one weight the order of the policy stays.
    rows.sort_by_key(|row| row.weight);
    rows
}

/// The rows, and how many of the rules with evidence hold.
pub(crate) fn evidence(receipt: &DecisionReceipt, names: &RuleNames<'_>) -> Vec<EvidenceRow> {
    let items = receipt.document().get("evidence").and_then(Json::as_array).unwrap_or_default();
    let reasons = receipt.reasons();
    let blocks = |rule: &str| reasons.iter().any(|reason| reason.rule == rule && reason.standing().stops());
    let mut rows: Vec<_> = items
        .iter()
        .filter_map(|item| {
            let item = item.as_object()?;
            // A document that no rule read is not evidence for any rule.
            let rule = text(item, "rule")?;
            Some(EvidenceRow { blocks: blocks(rule), rule: names.words(rule), ..row(item)? })
        })
        .collect();
    // The sort is stable: among those that block, and among the others, the order of the receipt stays.
    rows.sort_by_key(|row| !row.blocks);
    rows
}

fn row(item: &Object) -> Option<EvidenceRow> {
    let look = match text(item, "status")? {
        "verified" => ("pass", "ok", "verified"),
        "observed" => ("plain", "seen", "observed"),
        "self_reported" => ("none", "said", "self-reported"),
        // A status that this version does not know is no evidence.
        _ => ("wait", "stop", "absent"),
    };
    let empty = EvidenceRow {
        look,
        title: Shown::default(),
        more: None,
        code: None,
        rule: Shown::default(),
        href: None,
        blocks: false,
    };
    Some(match text(item, "kind")? {
        "fact" => fact(item, empty),
        "tool_call" => tool_call(item, empty),
        "approval" | "receipt" => document(item, empty),
        other => EvidenceRow { title: Shown::line(&spaced(other), 120), ..empty },
    })
}

fn fact(item: &Object, row: EvidenceRow) -> EvidenceRow {
    let missing: Vec<_> = item.get("missing").and_then(Json::as_array).unwrap_or_default().iter().collect();
    let missing: Vec<_> = missing.into_iter().filter_map(Json::as_str).collect();
    // That of a whole boundary says whether it applies.
    let is_when = text(item, "rule").is_some_and(|rule| rule.starts_with("boundaries[") && !rule.contains('.'));
    let title = match text(item, "truth") {
        Some("true") => "This condition is true",
        Some("false") if is_when => "This condition is false, so its rules do not apply",
        Some("false") => "This condition is false",
        // Unknown counts as false, but the reader has to know that a fact is missing.
        _ => "This condition cannot be judged",
    };
    let more = match (missing.is_empty(), row.look.2) {
        (false, _) => Some(format!("These facts are missing: {}", missing.join(", ")).into()),
        (true, "self-reported") => Some("Only the agent says so: the values are arguments or facts it sent.".into()),
        (true, "observed") => Some("Seen by the runtime, and not only said by the agent.".into()),
        _ => None,
    };
    EvidenceRow { title: title.into(), more, code: text(item, "predicate").map(Shown::from), ..row }
}

fn tool_call(item: &Object, row: EvidenceRow) -> EvidenceRow {
    let tool = text(item, "tool").unwrap_or_default();
    let call = item.get("call").and_then(|call| call.as_number()?.as_u64());
    let title = match call {
        // People count calls from one.
        Some(call) => format!("Call {} was of {tool}", call.saturating_add(1)),
        None => format!("{tool} was not called before"),
    };
    EvidenceRow { title: Shown::line(&title, 160), ..row }
}

/// A receipt or an approval, or that there is none.
fn document(item: &Object, row: EvidenceRow) -> EvidenceRow {
    let role = text(item, "role").map(|role| Shown::line(role, 64));
    let what = role.as_ref().map_or_else(|| "A receipt".to_owned(), |role| format!("An approval as {}", role.raw()));
    let Some(found) = item.get("document").and_then(Json::as_object) else {
        let more = if role.is_some() { "Nobody has given one." } else { "None is stored." };
        return EvidenceRow { title: what.into(), more: Some(more.into()), ..row };
    };
    let used = item.get("used").and_then(Json::as_bool) == Some(true);
    let title = match (used, text(item, "refused")) {
        (true, _) => format!("{what} counts"),
        (false, Some(why)) => format!("{what} does not count: {}", spaced(why)),
        (false, None) => format!("{what} was not needed"),
    };
    let id = text(found, "receipt_id").unwrap_or_default();
    let reviewer = found.get("approval").and_then(|approval| approval.as_object()?.get("reviewer")?.as_object());
    let by = match reviewer.and_then(|reviewer| text(reviewer, "id")) {
        Some(reviewer) => format!("by {reviewer}"),
        None => format!("signed by {}", short_digest(text(found, "signer").unwrap_or("nobody"))),
    };
    let tier = found.get("tier").and_then(|tier| tier.as_number()?.as_u64()).unwrap_or_default();
    let verdict = match role {
        Some(_) => String::new(),
        None => format!(", {}, tier {tier}", text(found, "verdict").unwrap_or_default()),
    };
    let more = Shown::line(&format!("Receipt {}{verdict}, {by}", short_id(id)), 240);
    EvidenceRow {
        // One that was refused does not hold, however well it is signed.
        look: if used { row.look } else { ("wait", "stop", row.look.2) },
        title: Shown::line(&title, 200),
        more: Some(more),
        href: Some(format!("/ui/receipts/{}", encoded(id))),
        ..row
    }
}

fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}
