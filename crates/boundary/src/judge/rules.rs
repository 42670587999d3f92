//! Judges the rules of a boundary.

use proofmark_evidence::{Accepts, ApprovalDemand, Condition, NoText, ReceiptFact, Refusal, TextExpression};
use proofmark_predicate::{Missing, Truth};
use proofmark_receipt::glob::Globs;
use proofmark_receipt::{Json, ReceiptId};
use proofmark_session::CallStatus;

use super::finding::{Reason, RuleFinding, RuleStatus, SharedText};
use super::origin;
use super::pass::{Judge, MAX_MISSING, described, fact_item, gave_up};
use crate::disposition::Disposition;
use crate::evidence::{self, CallMatch, EvidenceItem};
use crate::limits;
use crate::policy::{Boundary, Demand, Deny, OnBlock, ReceiptRule, Require, ToolCallDemand, Warn, Wording};
use crate::rule_ref::RuleRef;

/// Steps that reading one call counts as.
const STEPS_PER_CALL: u64 = 16;
/// Bytes of a call's name that one glob is matched against for one step.
const NAME_BYTES_PER_STEP: u64 = 16;

/// Whether a requirement is met.
enum Met {
    Yes,
    No { cause: &'static str, detail: Option<String> },
    Unknown(Vec<String>),
    Broken(String),
}

pub(super) fn deny(judge: &mut Judge<'_>, source: RuleRef, boundary: &Boundary, rule: &Deny) {
    let truth = judge.truth(&rule.when);
    if truth == Truth::False {
        return judge.holds(source, &rule.at, &boundary.id);
    }
    let mut finding = RuleFinding::holds(source, &rule.at, &boundary.id);
    finding.evidence.push(fact_item(&rule.at, &rule.when, &truth));
    // An unknown denial is lifted as well: the approval is of this very action, whatever the condition turns out to be.
    let lifted = rule.unless.as_ref().is_some_and(|demand| approved(judge, &mut finding, demand));
    // What a limit cannot count is not allowed by anybody: what follows would be counted wrong.
    let lifted = lifted && rule.limit.as_ref().is_none_or(|limit| limits::is_known(judge.input.request, limit));
    match truth {
        Truth::Unknown(missing) if !lifted => {
            let unknown = self::unknown(judge, source, boundary, &rule.at, &missing);
            finding =
                RuleFinding { evidence: finding.evidence, missing_approvals: finding.missing_approvals, ..unknown };
        }
        Truth::True | Truth::Unknown(_) | Truth::False => {
            let (cause, detail) = explained(judge, rule);
            finding.reason = Some(Reason { cause, detail, ..reason(&rule.at, &rule.reason) });
            if lifted {
                finding.reason = finding.reason.map(|reason| Reason {
                    cause: Some("lifted"),
                    detail: Some("An approval of this action lifts the denial.".to_owned()),
                    ..reason
                });
            } else {
                finding.status = RuleStatus::Fails;
                finding.blocks = Some(rule.otherwise.disposition(judge.upstream, false));
                finding.next = rule.next.as_ref().map(pair);
            }
        }
    }
    judge.findings.push(finding);
}

/// The cause of a denial that stands for a requirement, and its facts in words.
fn explained(judge: &Judge<'_>, rule: &Deny) -> (Option<&'static str>, Option<String>) {
    let request = judge.input.request;
    match (&rule.origin, &rule.limit) {
        (Some(demand), _) => (Some(origin::CAUSE), origin::detail(request, demand)),
        (None, Some(limit)) => (Some(limits::CAUSE), limits::detail(request, limit)),
        (None, None) => (None, None),
    }
}

pub(super) fn warn(judge: &mut Judge<'_>, source: RuleRef, boundary: &Boundary, rule: &Warn) {
    let truth = judge.truth(&rule.when);
    if truth == Truth::False {
        return judge.holds(source, &rule.at, &boundary.id);
    }
    let mut finding = RuleFinding::holds(source, &rule.at, &boundary.id);
    finding.evidence.push(fact_item(&rule.at, &rule.when, &truth));
    finding.reason = Some(reason(&rule.at, &rule.reason));
    finding.status = RuleStatus::Fails;
    // A warning that cannot be ruled out is given: it blocks nothing.
    if let Truth::Unknown(missing) = truth {
        finding.status = RuleStatus::Unknown;
        finding.missing = described(&missing);
        let detail = format!("It cannot be ruled out: {}.", finding.missing.join(", "));
        finding.reason = finding.reason.map(|reason| Reason { cause: Some("unknown"), detail: Some(detail), ..reason });
    }
    judge.findings.push(finding);
}

pub(super) fn require(judge: &mut Judge<'_>, source: RuleRef, boundary: &Boundary, rule: &Require) {
    let mut finding = RuleFinding::holds(source, &rule.at, &boundary.id);
    let met = match &rule.demand {
        Demand::Fact(condition) => {
            let truth = judge.truth(condition);
            if truth == Truth::True && !judge.complete {
                return;
            }
            fact(&mut finding, condition, truth)
        }
        Demand::Receipt(demand) => receipt(judge, &mut finding, demand),
        Demand::Approval(demand) => {
            if approved(judge, &mut finding, demand) {
                Met::Yes
            } else {
                not_approved(&finding, demand)
            }
        }
        Demand::ToolCall(demand) => tool_call(judge, &mut finding, demand),
    };
    // A parent can supply facts and approvals; a receipt is over this node's bytes, and a call is of its run.
    let from_upstream = matches!(rule.demand, Demand::Fact(_) | Demand::Approval(_));
    let disposition = rule.otherwise.disposition(judge.upstream, from_upstream);
    let wording = rule.reason.clone().unwrap_or_else(|| default_wording(&rule.demand));
    let (status, cause, detail) = match met {
        Met::Yes => {
            judge.findings.push(finding);
            return;
        }
        Met::No { cause, detail } => (RuleStatus::Fails, cause, detail),
        Met::Unknown(missing) => {
            let detail = format!("This is unknown: {}.", missing.join(", "));
            finding.missing = missing;
            (RuleStatus::Unknown, "unknown", Some(detail))
        }
        Met::Broken(what) => {
            judge.findings.push(broken(finding, &what));
            return;
        }
    };
    finding.status = status;
    finding.blocks = Some(disposition);
    finding.reason = Some(Reason { cause: Some(cause), detail, ..reason(&rule.at, &wording) });
    finding.next = rule.next.as_ref().map(pair);
    judge.findings.push(finding);
}

/// The finding of a rule that depends on missing facts.
pub(super) fn unknown(
    judge: &Judge<'_>,
    source: RuleRef,
    boundary: &Boundary,
    rule: &SharedText,
    missing: &[Missing],
) -> RuleFinding {
    let described = described(missing);
    if gave_up(missing) {
        broken(RuleFinding::holds(source, rule, &boundary.id), &described.join(", "))
    } else {
        undecided(judge, source, boundary, rule, described)
    }
}

/// As [`unknown`], with the missing facts in words.
pub(super) fn undecided(
    judge: &Judge<'_>,
    source: RuleRef,
    boundary: &Boundary,
    rule: &SharedText,
    missing: Vec<String>,
) -> RuleFinding {
    let mut finding = RuleFinding::holds(source, rule, &boundary.id);
    let message = format!("Whether `{rule}` ({}) applies is unknown: {}.", boundary.id, missing.join(", "));
    finding.status = RuleStatus::Unknown;
    finding.blocks = Some(OnBlock::ReplanRequired.disposition(judge.upstream, true));
    finding.reason = Some(Reason {
        code: SharedText::from("missing_facts"),
        message: SharedText::from(message),
        rule: rule.clone(),
        cause: Some("unknown"),
        detail: None,
    });
    finding.missing = missing;
    finding
}

/// The finding of a rule that could not be judged because of an error.
fn broken(mut finding: RuleFinding, what: &str) -> RuleFinding {
    let message = format!("`{}` could not be judged: {what}.", finding.rule);
    finding.status = RuleStatus::Unknown;
    finding.blocks = Some(Disposition::LocalReplan);
    // An error says nothing about the action, so not even shadow mode lets it pass.
    finding.hard = true;
    finding.reason = Some(Reason {
        code: SharedText::from("policy_error"),
        message: SharedText::from(message),
        rule: finding.rule.clone(),
        cause: None,
        detail: None,
    });
    finding
}

fn fact(finding: &mut RuleFinding, condition: &Condition, truth: Truth) -> Met {
    finding.evidence.push(fact_item(&finding.rule, condition, &truth));
    match truth {
        Truth::True => Met::Yes,
        Truth::False => Met::No { cause: "false", detail: None },
        Truth::Unknown(missing) if gave_up(&missing) => Met::Broken(described(&missing).join(", ")),
        Truth::Unknown(missing) => Met::Unknown(described(&missing)),
    }
}

fn receipt(judge: &mut Judge<'_>, finding: &mut RuleFinding, rule: &ReceiptRule) -> Met {
    let digests = match evidence::digests(rule, &judge.facts, judge.input.budget) {
        Ok(digests) => digests,
        Err((expression, none)) => return no_digest(expression, none),
    };
    let input = judge.input;
    if let Err(failure) = input.budget.charge(evidence::reading_steps(input.evidence)) {
        return Met::Broken(failure.to_string());
    }
    let place = if rule.demand.single_use {
        // Only the assigned one: another that fits may be assigned to another rule, and would serve both.
        judge.assigned.get(&finding.source).copied()
    } else {
        digests.candidates(rule, input).first().copied()
    };
    let any_suite = rule.demand.accepts == Accepts::AnySuite;
    match place.and_then(|place| input.evidence.documents().get(place)) {
        Some(document) => {
            let item = document_item(&finding.rule, None, document, None, rule.demand.single_use);
            finding.evidence.push(marked(item, any_suite));
            Met::Yes
        }
        None => {
            let refused = evidence::refused(rule, &digests, input);
            name_refused(finding, None, &refused, any_suite);
            refusal_met(refused.first().copied(), format!("No receipt over {} was presented.", digests.output))
        }
    }
}

/// Whether enough approvals count. Adds them to the evidence.
fn approved(judge: &Judge<'_>, finding: &mut RuleFinding, demand: &ApprovalDemand) -> bool {
    let input = judge.input;
    let (roles, request) = (&input.policy.roles, input.request);
    let found = demand.approvals(roles, &request.subject(), &request.occasion(), input.evidence, &input.moment.now);
    let role = SharedText::from(demand.role.as_str());
    let enough = found.counted.len() >= demand.count;
    for document in &found.counted {
        // An approval of one action is single-use, so using it here spends it.
        let single_use = !document.is_grant();
        finding.evidence.push(document_item(&finding.rule, Some(&role), document, None, single_use));
    }
    if !enough {
        finding.missing_approvals = Some((role.clone(), demand.count.saturating_sub(found.counted.len())));
        name_refused(finding, Some(&role), &found.refused, false);
    }
    enough
}

fn not_approved(finding: &RuleFinding, demand: &ApprovalDemand) -> Met {
    let documents = || finding.evidence.iter();
    let counted = documents().filter(|item| matches!(item, EvidenceItem::Document { refusal: None, .. })).count();
    let refused = documents().find_map(|item| match item {
        EvidenceItem::Document { document, refusal: Some(refusal), .. } => Some((&**document, *refusal)),
        _ => None,
    });
    let needed = format!("Approvals as `{}`: {counted} of {}.", demand.role, demand.count);
    match refusal_met(refused, String::new()) {
        Met::No { cause, detail } => {
            let detail = detail.filter(|detail| !detail.is_empty());
            let detail = detail.map_or_else(|| needed.clone(), |detail| format!("{needed} {detail}"));
            Met::No { cause, detail: Some(detail) }
        }
        met => met,
    }
}

fn tool_call(judge: &Judge<'_>, finding: &mut RuleFinding, demand: &ToolCallDemand) -> Met {
    let calls = judge.input.request.calls().unwrap_or_default();
    if let Err(failure) = judge.input.budget.charge(looking_for(demand, calls)) {
        return Met::Broken(failure.to_string());
    }
    let found = evidence::call(demand, judge.input.request);
    let index = if let CallMatch::Met(index) = found { Some(index) } else { None };
    finding.evidence.push(EvidenceItem::ToolCall { rule: finding.rule.clone(), tool: demand.name.shown(), index });
    match found {
        CallMatch::Met(_) => Met::Yes,
        CallMatch::No => Met::No { cause: "absent", detail: Some(format!("The run has no {}.", call_words(demand))) },
        CallMatch::Unknown(missing) => Met::Unknown(missing.into_iter().take(MAX_MISSING).collect()),
    }
}

/// The steps that matching the name of every call against every glob counts as.
fn looking_for(demand: &ToolCallDemand, calls: &[Json]) -> u64 {
    let globs = [Some(&demand.name), demand.before.as_ref(), demand.after.as_ref()];
    let globs = globs.into_iter().flatten().map(Globs::count).sum::<u64>().saturating_add(demand.from.count());
    let bytes: u64 = calls
        .iter()
        .map(|call| call.as_object().and_then(|call| call.get("tool")?.as_str()).map_or(0, str::len) as u64)
        .sum();
    // Every name is matched against every glob, so the product is charged.
    let matching = (bytes / NAME_BYTES_PER_STEP).saturating_mul(globs);
    (calls.len() as u64 * STEPS_PER_CALL).saturating_add(matching)
}

/// The call that a demand asks for, in words.
pub(crate) fn call_words(demand: &ToolCallDemand) -> String {
    let mut words = format!("call of {}{}", demand.name.shown(), demand.from.words());
    for (index, one) in demand.args.iter().flatten().enumerate() {
        let word = if index == 0 { "with" } else { "and" };
        words.push_str(&format!(" {word} `{}` as `{}`", one.argument, one.fact.join(".")));
    }
    if demand.earlier {
        words.push_str(" of this or an earlier start of the host");
    }
    if let Some(status) = demand.status {
        let which = match status {
            CallStatus::Pending => "is pending",
            CallStatus::Doubtful => "is doubtful",
            CallStatus::Blocked => "was blocked",
            CallStatus::Succeeded | CallStatus::Failed => status.as_str(),
        };
        words.push_str(&format!(" that {which}"));
    }
    if let Some(after) = &demand.after {
        words.push_str(&format!(" after the last {}", after.shown()));
    }
    if let Some(before) = &demand.before {
        words.push_str(&format!(" before the first {}", before.shown()));
    }
    words
}

fn no_digest(expression: &TextExpression, none: NoText) -> Met {
    match none {
        NoText::Unknown(missing) if gave_up(&missing) => Met::Broken(described(&missing).join(", ")),
        NoText::Unknown(missing) => Met::Unknown(described(&missing)),
        // A wrong type is a fault of the policy or the request, which no receipt can repair.
        NoText::Type(found) => Met::Broken(format!("`{}` is a {found}, not a digest", expression.source())),
    }
}

fn refusal_met(nearest: Option<(&ReceiptFact, Refusal)>, none: String) -> Met {
    match nearest {
        Some((fact, refusal)) => {
            let by = fact.spent_by.as_ref().filter(|_| refusal == Refusal::Spent);
            let words = match by {
                // Documents that decisions use are recorded with the id of the decision.
                Some(by) if by.parse::<ReceiptId>().is_ok() => format!("was used by decision {by}"),
                Some(by) => format!("{}, by {by}", refusal.words()),
                None => refusal.words().to_owned(),
            };
            let detail = format!("The document {} {words}.", fact.receipt_id);
            Met::No { cause: refusal.code(), detail: Some(detail) }
        }
        None => Met::No { cause: "absent", detail: Some(none) },
    }
}

fn name_refused(
    finding: &mut RuleFinding,
    role: Option<&SharedText>,
    refused: &[(&ReceiptFact, Refusal)],
    any_suite: bool,
) {
    if refused.is_empty() {
        finding.evidence.push(EvidenceItem::NoDocument { rule: finding.rule.clone(), role: role.cloned() });
    }
    for (document, refusal) in refused {
        let item = document_item(&finding.rule, role, document, Some(*refusal), false);
        finding.evidence.push(marked(item, any_suite));
    }
}

fn document_item(
    rule: &SharedText,
    role: Option<&SharedText>,
    document: &ReceiptFact,
    refusal: Option<Refusal>,
    single_use: bool,
) -> EvidenceItem {
    EvidenceItem::Document {
        rule: rule.clone(),
        role: role.cloned(),
        document: Box::new(document.clone()),
        refusal,
        single_use,
        any_suite: false,
    }
}

/// The item, marked where the rule accepts a receipt of any suite.
fn marked(item: EvidenceItem, accepts_any: bool) -> EvidenceItem {
    match item {
        EvidenceItem::Document { rule, role, document, refusal, single_use, any_suite: _ } => {
            EvidenceItem::Document { rule, role, document, refusal, single_use, any_suite: accepts_any }
        }
        other => other,
    }
}

fn default_wording(demand: &Demand) -> Wording {
    let (code, message) = match demand {
        Demand::Fact(_) => ("requirement_not_met", "A fact that this action requires does not hold."),
        Demand::Receipt(_) => ("missing_receipt", "No receipt shows that exactly these bytes were verified."),
        Demand::Approval(_) => ("missing_approval", "The approvals that this action requires are missing."),
        Demand::ToolCall(_) => ("missing_tool_call", "A step that this action requires was not taken."),
    };
    Wording { code: SharedText::from(code), message: SharedText::from(message) }
}

fn reason(rule: &SharedText, wording: &Wording) -> Reason {
    Reason {
        code: wording.code.clone(),
        message: wording.message.clone(),
        rule: rule.clone(),
        cause: None,
        detail: None,
    }
}

fn pair(wording: &Wording) -> (SharedText, SharedText) {
    (wording.code.clone(), wording.message.clone())
}
