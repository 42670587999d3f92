//! Rules without effect, and rules that repeat or contradict each other.

use proofmark_evidence::{Accepts, facts};
use proofmark_predicate::limits::MAX_STEPS;
use proofmark_predicate::{Budget, Truth, Value};
use proofmark_receipt::Json;
use proofmark_receipt::glob;
use proofmark_session::COMMON_TOOLS;

use super::finding::Finding;
use crate::expect::Expect;
use crate::workflow::{EvidenceRule, ReceiptRule, ToolRule, Verification};

pub(super) fn findings(verification: &Verification, at: &str) -> Vec<Finding> {
    let mut findings = evidence(&verification.evidence, &format!("{at}.evidence"));
    let calls = format!("{at}.toolCalls");
    findings.extend(
        verification.tool_calls.iter().enumerate().flat_map(|(index, rule)| dead(rule, &format!("{calls}[{index}]"))),
    );
    findings.extend(
        pairs(&verification.tool_calls)
            .filter_map(|(_, one, index, other)| tool_pair(one, other, &format!("{calls}[{index}]"))),
    );
    findings.extend(of_any_server(&verification.tool_calls, &calls));
    let receipts = format!("{at}.receipts");
    findings.extend(pairs(&verification.receipts).filter_map(|(_, one, index, other)| {
        // Two equal rules with `singleUse` are not one: they ask for two receipts.
        let same = anonymous_receipt(one) == anonymous_receipt(other) && !one.demand.single_use;
        same.then(|| duplicate(format!("{receipts}[{index}]"), &one.id))
    }));
    let any = verification.receipts.iter().enumerate().filter(|(_, rule)| rule.demand.accepts == Accepts::AnySuite);
    for (index, rule) in any {
        findings.push(any_suite(format!("{receipts}[{index}].{}", any_suite_name(verification, index))));
        if rule.demand.strength.is_some() {
            findings.push(strength_of_any_suite(format!("{receipts}[{index}].strength")));
        }
    }
    findings
}

/// All pairs of different rules, the earlier one first, with their places.
fn pairs<T>(rules: &[T]) -> impl Iterator<Item = (usize, &T, usize, &T)> {
    rules.iter().enumerate().flat_map(move |(one, rule)| {
        let later = rules.iter().enumerate().skip(one.saturating_add(1));
        later.map(move |(other, later)| (one, rule, other, later))
    })
}

fn evidence(rules: &[EvidenceRule], at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (first, one, second, other) in pairs(rules) {
        let path = format!("{at}[{second}]");
        if one.path.text() == other.path.text() && one.expect == other.expect {
            findings.push(duplicate(path, &one.id));
        } else if contradict(one, other) {
            findings.push(contradiction(path, &one.id, "no payload meets both"));
        } else if implies(one, other) {
            findings.push(shadowed(path, &one.id));
        } else if implies(other, one) {
            findings.push(shadowed(format!("{at}[{first}]"), &other.id));
        }
    }
    findings
}

fn contradict(one: &EvidenceRule, other: &EvidenceRule) -> bool {
    let absent_around = |absent: &EvidenceRule, there: &EvidenceRule| {
        absent.expect == Expect::Absent && asks_for_something(&there.expect) && there.path.is_within(&absent.path)
    };
    if absent_around(one, other) || absent_around(other, one) {
        return true;
    }
    match (&one.expect, &other.expect) {
        (Expect::Equals(one_value), Expect::Equals(other_value)) => {
            one.path.text() == other.path.text() && !same(one_value, other_value)
        }
        (Expect::Equals(Json::Null), Expect::Present) | (Expect::Present, Expect::Equals(Json::Null)) => {
            one.path.text() == other.path.text()
        }
        _ => false,
    }
}

fn same(one: &Json, other: &Json) -> bool {
    let values = facts::value(one).ok().zip(facts::value(other).ok());
    values.is_some_and(|(one, other)| facts::same(&one, &other))
}

/// Whether a payload that meets `strict` always meets `loose`.
fn implies(strict: &EvidenceRule, loose: &EvidenceRule) -> bool {
    let same_place = strict.path.text() == loose.path.text();
    match (&strict.expect, &loose.expect) {
        // A value with a member is present itself.
        (Expect::Equals(_) | Expect::Present, Expect::Present) if !same_place => {
            asks_for_something(&strict.expect) && strict.path.is_within(&loose.path)
        }
        (Expect::Equals(value), Expect::Present) => !matches!(value, Json::Null) && *value != Json::from(""),
        _ => false,
    }
}

fn asks_for_something(expect: &Expect) -> bool {
    // A condition may also hold for `null`, which counts as absent.
    !matches!(expect, Expect::Absent | Expect::Equals(Json::Null) | Expect::Predicate(_))
}

fn dead(rule: &ToolRule, at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if rule.count.max.is_some_and(|max| max < rule.count.min) {
        let message = format!("at least {} calls and at most {}", rule.count.min, rule.count.max.unwrap_or_default());
        let help = "raise `max` or lower `min`";
        findings.push(Finding::error("contradictory-rules", format!("{at}.max"), message, help));
    }
    if rule.count.min == 0 && rule.count.max.is_none() {
        let message = "any number of calls meets this rule".to_owned();
        findings.push(Finding::warning(
            "dead-rule",
            format!("{at}.min"),
            message,
            "raise `min`, write `max`, or remove the rule",
        ));
    }
    // A condition without names is constant, so it can be evaluated without facts.
    let constant = rule.when.as_ref().filter(|when| when.names().is_empty() && when.fault().is_none());
    let never = constant.filter(|when| when.truth(&no_facts(), &Budget::new(MAX_STEPS)) != Truth::True);
    if never.is_some() {
        let message = "the condition never holds, so the rule never applies".to_owned();
        findings.push(Finding::warning(
            "dead-rule",
            format!("{at}.when"),
            message,
            "fix the condition, or remove the rule",
        ));
    }
    findings
}

fn no_facts() -> Value {
    Vec::<(String, Value)>::new().into_iter().collect()
}

fn tool_pair(one: &ToolRule, other: &ToolRule, path: &str) -> Option<Finding> {
    if one.name == other.name && anonymous(one) == anonymous(other) {
        return Some(duplicate(path.to_owned(), &one.id));
    }
    if one.when.is_some() || other.when.is_some() {
        return None;
    }
    let clash = |wide: &ToolRule, narrow: &ToolRule| {
        is_wide(wide, narrow)
            && glob::covers(&wide.name, &narrow.name)
            && wide.count.max.is_some_and(|max| max < narrow.count.min)
    };
    if clash(one, other) || clash(other, one) {
        return Some(contradiction(path.to_owned(), &one.id, "one asks for more calls than the other allows"));
    }
    let shadows = |strict: &ToolRule, loose: &ToolRule| {
        is_wide(loose, strict)
            && loose.count.max.is_none()
            && loose.status == strict.status
            && glob::covers(&loose.name, &strict.name)
            && loose.count.min <= strict.count.min
    };
    (shadows(one, other) || shadows(other, one)).then(|| shadowed(path.to_owned(), &one.id))
}

/// The rules that count a tool of any server, where others name the server.
fn of_any_server(rules: &[ToolRule], at: &str) -> Vec<Finding> {
    if !rules.iter().any(|rule| rule.from.names_server()) {
        return Vec::new();
    }
    let is_of_host = |rule: &ToolRule| COMMON_TOOLS.contains(&rule.name.as_str()) || rule.from.names_host();
    let open = rules.iter().enumerate().filter(|(_, rule)| !rule.from.names_server() && !is_of_host(rule));
    let finding = |index: usize| {
        let message = "a tool of this name of any server meets the rule, and servers choose how their tools are called";
        let help = "write `server`, or `surface: host`";
        Finding::warning("call-of-any-server", format!("{at}[{index}]"), message.to_owned(), help)
    };
    open.map(|(index, _)| finding(index)).collect()
}

/// Whether a rule counts every successful call of its tool.
fn is_wide(rule: &ToolRule, narrow: &ToolRule) -> bool {
    let unordered = rule.before.is_none() && rule.after.is_none() && rule.from.is_empty();
    let unordered = unordered && (rule.earlier || !narrow.earlier);
    unordered && rule.args.is_empty() && rule.exact_args.is_none() && rule.result.is_empty()
}

fn anonymous(rule: &ToolRule) -> ToolRule {
    ToolRule { id: String::new(), reject_message: None, status: rule.status, ..rule.clone() }
}

fn anonymous_receipt(rule: &ReceiptRule) -> ReceiptRule {
    ReceiptRule { id: String::new(), reject_message: None, ..rule.clone() }
}

/// Which of the field's two spellings the author used.
fn any_suite_name(verification: &Verification, index: usize) -> &'static str {
    let rules = verification.document.as_object().and_then(|block| block.get("receipts")?.as_array());
    let rule = rules.and_then(|rules| rules.get(index)?.as_object());
    if rule.is_some_and(|rule| rule.contains("anySuite")) { "anySuite" } else { "any_suite" }
}

fn any_suite(path: String) -> Finding {
    let message = "a receipt of any suite counts, so the agent that asks for it can choose trivial tests";
    let help = "name the `suite`, or an exact `specification`";
    Finding::warning("any-suite", path, message.to_owned(), help)
}

fn strength_of_any_suite(path: String) -> Finding {
    let message = "an agent that writes both the work and its tests can raise the strength with work that fails by itself when \
                   it is changed";
    Finding::warning("strength-of-any-suite", path, message.to_owned(), "name the `suite`")
}

fn duplicate(path: String, other: &str) -> Finding {
    let message = format!("the rule repeats `{other}`");
    Finding::warning("duplicate-rule", path, message, "remove it; to ask for more calls, raise `min`")
}

fn shadowed(path: String, by: &str) -> Finding {
    let message = format!("the rule and `{by}` ask for the same, and one of them for more");
    Finding::warning("shadowed-rule", path, message, "remove the one that asks for less")
}

fn contradiction(path: String, other: &str, why: &str) -> Finding {
    let message = format!("the rule contradicts `{other}`: {why}");
    Finding::error("contradictory-rules", path, message, "remove one of the two")
}
