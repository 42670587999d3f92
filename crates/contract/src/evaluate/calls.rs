//! Rules about the recorded calls.
//!
//! For every rule each call of its tool is one of three: it fits, it may fit, or it does not fit. A call *may* fit when
//! its end is not recorded, or when its arguments cannot be compared. Such a call does not prove that something was done,
//! and it may have been done all the same: so `min` counts only calls that fit, `max` counts those that may fit too, and
//! `noOtherMutations` takes for granted only what a rule counted.

use std::collections::HashSet;

use proofmark_evidence::trace::Trace;
use proofmark_evidence::{Call, EvidenceStatus, FromThere, facts};
use proofmark_predicate::{Truth, Value};
use proofmark_receipt::glob;
use proofmark_session::CallStatus;

use super::{RuleKind, RuleOutcome, RuleResult, reject_message};
use crate::class::Class;
use crate::evidence::{Facts, MissingFact};
use crate::expect::{Match, brief_json, counted};
use crate::tools::ToolClasses;
use crate::workflow::{CountedStatus, PartRule, ToolRule, Verification};

/// Why a call whose numbers cannot be held exactly does not fit.
const INEXACT: &str = "it holds a number that is too long to compare";

/// Steps that comparing one call with a rule counts as, beside those of its conditions.
const STEPS_PER_CALL: u64 = 8;

/// A call, and the facts its arguments and its result are; `None` where they cannot be held exactly.
struct CallFacts<'a> {
    call: &'a Call,
    arguments: Option<Value>,
    result: Option<Value>,
}

/// The calls that match each rule.
pub(super) struct MatchedCalls<'a> {
    trace: Option<&'a Trace>,
    rules: Vec<RuleMatches<'a>>,
}

/// The calls of one rule's tool.
struct RuleMatches<'a> {
    applies: Applies,
    /// The calls that fit the rule, whatever their order.
    fitting: Vec<&'a Call>,
    /// Those of `fitting` that are where `before` and `after` ask for them.
    counted: Vec<&'a Call>,
    /// The calls that fit, and were made before the agent's host was started again.
    earlier: Vec<&'a Call>,
    /// The calls that may fit.
    possible: Vec<&'a Call>,
    /// The calls that do not fit for sure, with the reason.
    near_misses: Vec<(&'a Call, String)>,
}

/// What a rule's `when` says.
enum Applies {
    Yes,
    No,
    Unknown(Vec<MissingFact>),
}

/// The rule that no call was made without the decision that it needed, where there was one.
pub(super) fn judge_undecided(trace: &Trace) -> Option<RuleResult> {
    const MAX_SHOWN: usize = 5;
    let undecided: Vec<&Call> = trace.calls.iter().filter(|call| call.undecided).collect();
    if undecided.is_empty() {
        return None;
    }
    let shown: Vec<_> = undecided.iter().take(MAX_SHOWN).map(|call| format!("`{}`", call.tool)).collect();
    Some(RuleResult {
        id: "undecidedCalls".to_owned(),
        kind: RuleKind::UndecidedCalls,
        outcome: RuleOutcome::Unmet,
        status: EvidenceStatus::Observed,
        rule: "no call without the decision that it needed".to_owned(),
        message: format!("{} made without a decision: {}", counted(undecided.len() as u64, "call"), shown.join(", ")),
        missing: Vec::new(),
        calls: undecided.iter().map(|call| call.index).collect(),
        any_suite: false,
    })
}

impl<'a> MatchedCalls<'a> {
    pub(super) fn find(verification: &Verification, trace: Option<&'a Trace>, facts: &Facts<'_>) -> Self {
        let calls = trace.map_or(&[][..], |trace| &trace.calls);
        // Converted once, since every rule compares every call.
        let known: Vec<_> = calls.iter().map(CallFacts::of).collect();
        let mut rules: Vec<_> = verification.tool_calls.iter().map(|rule| find_one(rule, &known, facts)).collect();
        // `before` and `after` name other rules, so every rule has its fitting calls before any is put in order.
        let counted: Vec<_> = verification
            .tool_calls
            .iter()
            .zip(&rules)
            .map(|(rule, matches)| in_order(rule, matches, verification, &rules, calls, facts))
            .collect();
        for (matches, counted) in rules.iter_mut().zip(counted) {
            matches.counted = counted;
        }
        Self { trace, rules }
    }

    pub(super) fn judge_rules(&self, verification: &Verification) -> Vec<RuleResult> {
        let pairs = verification.tool_calls.iter().zip(&self.rules);
        pairs.map(|(rule, matches)| self.judge(rule, matches)).collect()
    }

    /// The rule that no call changed anything but those the rules count. A call that failed or was blocked changed
    /// nothing; one without a result may have.
    pub(super) fn judge_other_mutations(&self, verification: &Verification, tools: &ToolClasses) -> RuleResult {
        // Not `fitting`: a call in the wrong order is not the one that the rule asked for.
        let listed: HashSet<usize> = self
            .rules
            .iter()
            .flat_map(|rule| rule.counted.iter().chain(&rule.earlier).map(|call| call.index))
            .collect();
        let result = |outcome, status, message: String, missing, calls| RuleResult {
            id: "noOtherMutations".to_owned(),
            kind: RuleKind::NoOtherMutations,
            outcome,
            status,
            rule: "no mutating call but those the rules list".to_owned(),
            message,
            missing,
            calls,
            any_suite: false,
        };
        // Without a trace nothing shows that there was no other call.
        let Some(trace) = self.trace else {
            let missing = vec![MissingFact::absent("trace".to_owned())];
            let message = "no calls were recorded".to_owned();
            return result(RuleOutcome::Unknown, EvidenceStatus::Absent, message, missing, Vec::new());
        };
        let others = trace.calls.iter().filter(|call| {
            call.status.may_have_acted()
                && tools.class_of(&call.tool, |member| call.came_from(member)) == Class::Mutating
                && !listed.contains(&call.index)
        });
        let others: Vec<&Call> = others.collect();
        if others.is_empty() {
            let message = "no other call changed anything".to_owned();
            return result(RuleOutcome::Met, EvidenceStatus::Observed, message, Vec::new(), Vec::new());
        }
        let message = format!("also called: {}", self.describe_others(&others, verification, tools));
        let calls = others.iter().map(|call| call.index).collect();
        result(RuleOutcome::Unmet, EvidenceStatus::Observed, message, Vec::new(), calls)
    }

    fn describe_others(&self, others: &[&Call], verification: &Verification, tools: &ToolClasses) -> String {
        const MAX_SHOWN: usize = 5;
        let mut words: Vec<_> =
            others.iter().take(MAX_SHOWN).map(|call| self.describe_other(call, verification, tools)).collect();
        if others.len() > MAX_SHOWN {
            words.push(format!("{} more", others.len() - MAX_SHOWN));
        }
        words.join(", ")
    }

    fn describe_other(&self, call: &Call, verification: &Verification, tools: &ToolClasses) -> String {
        let mut pairs = verification.tool_calls.iter().zip(&self.rules);
        let near_miss = pairs.find_map(|(rule, matches)| {
            let (_, why) = matches.near_misses.iter().find(|(near, _)| near.index == call.index)?;
            Some(format!("not as `{}` asks: {why}", rule.id))
        });
        let why = match (near_miss, tools.is_mutating(&call.tool, |member| call.came_from(member))) {
            (Some(near_miss), _) => near_miss,
            (None, true) => "mutating".to_owned(),
            (None, false) => "not declared readonly".to_owned(),
        };
        format!("{} `{}` ({why})", ordinal(call), call.tool)
    }

    fn judge(&self, rule: &ToolRule, matches: &RuleMatches<'_>) -> RuleResult {
        let result = |outcome, status, message: String, missing| RuleResult {
            id: rule.id.clone(),
            kind: RuleKind::ToolCall,
            outcome,
            status,
            rule: describe(rule),
            message,
            missing,
            calls: matches.counted.iter().map(|call| call.index).collect(),
            any_suite: false,
        };
        let unknown = |detail: &str, missing| {
            let message = reject_message(rule.reject_message.as_deref(), detail.to_owned());
            result(RuleOutcome::Unknown, EvidenceStatus::Absent, message, missing)
        };
        match (&matches.applies, self.trace) {
            // Met, but `Absent`: a rule that does not apply must not be the ground of a step.
            (Applies::No, _) => {
                let message = "its condition does not hold".to_owned();
                result(RuleOutcome::Met, EvidenceStatus::Absent, message, Vec::new())
            }
            (Applies::Unknown(missing), _) => {
                let facts: Vec<_> = missing.iter().map(ToString::to_string).collect();
                unknown(&format!("whether it applies is unknown: {}", facts.join(", ")), missing.clone())
            }
            (Applies::Yes, None) => unknown("no calls were recorded", vec![MissingFact::absent("trace".to_owned())]),
            (Applies::Yes, Some(_)) => count(rule, matches, result),
        }
    }
}

fn count(
    rule: &ToolRule,
    matches: &RuleMatches<'_>,
    result: impl Fn(RuleOutcome, EvidenceStatus, String, Vec<MissingFact>) -> RuleResult,
) -> RuleResult {
    let unmet = |status, detail, missing| {
        result(RuleOutcome::Unmet, status, reject_message(rule.reject_message.as_deref(), detail), missing)
    };
    let found = matches.counted.len() as u64;
    let status = if found == 0 { EvidenceStatus::Absent } else { EvidenceStatus::Observed };
    let possible = found.saturating_add(matches.possible.len() as u64);
    if found < rule.count.min {
        let required = rule.count.min;
        let counting = match found {
            0 => format!("no call of `{}` counts", rule.name),
            1 => format!("1 call of `{}` counts", rule.name),
            _ => format!("{found} calls of `{}` count", rule.name),
        };
        let required = format!("{required} {} required", if required == 1 { "is" } else { "are" });
        let detail = format!("{counting}, and {required}{}", near_misses(matches));
        let missing = MissingFact::new(format!("calls.{}", rule.name), &format!("has {found} that count; {required}"));
        return unmet(status, detail, vec![missing]);
    }
    match rule.count.max {
        Some(max) if possible > max => {
            let detail = format!("{} of `{}`, at most {max} allowed", counted(possible, "call"), rule.name);
            unmet(status, detail, Vec::new())
        }
        _ => result(RuleOutcome::Met, status, format!("{} of `{}`", counted(found, "call"), rule.name), Vec::new()),
    }
}

impl<'a> CallFacts<'a> {
    fn of(call: &'a Call) -> Self {
        let arguments = facts::value(&call.arguments).ok();
        let result = call.result.as_ref().map_or(Ok(Value::Null), facts::value).ok();
        Self { call, arguments, result }
    }
}

fn find_one<'a>(rule: &ToolRule, calls: &[CallFacts<'a>], facts: &Facts<'_>) -> RuleMatches<'a> {
    let applies = match rule.when.as_ref().map(|when| when.truth(&facts.all, facts.budget)) {
        None | Some(Truth::True) => Applies::Yes,
        Some(Truth::False) => Applies::No,
        Some(Truth::Unknown(missing)) => {
            let facts = missing.into_iter().map(|fact| MissingFact::new(fact.path, &fact.why.to_string()));
            Applies::Unknown(facts.collect())
        }
    };
    let (fitting, counted, earlier, possible, near_misses) = Default::default();
    let mut matches = RuleMatches { applies, fitting, counted, earlier, possible, near_misses };
    if !matches!(matches.applies, Applies::Yes) {
        return matches;
    }
    for known in calls {
        let call = known.call;
        let steps = STEPS_PER_CALL.saturating_add(call.tool.len() as u64);
        if facts.budget.charge(steps).is_err() {
            // The list is incomplete from here on. `evaluate_within` makes every rule unknown then.
            break;
        }
        let names = rule.from.tool_names(&call.tool, call.came_from("server"));
        if !names.iter().any(|name| glob::matches(&rule.name, name)) {
            continue;
        }
        match fit(rule, known, facts) {
            Fit::Yes if call.earlier && !rule.earlier => {
                matches.earlier.push(call);
                matches.near_misses.push((call, "it was made before the agent's host was started again".to_owned()));
            }
            Fit::Yes => matches.fitting.push(call),
            Fit::Maybe(why) => {
                matches.possible.push(call);
                matches.near_misses.push((call, why));
            }
            Fit::No(why) => matches.near_misses.push((call, why)),
        }
    }
    matches
}

/// Whether a call is one the rule means, or why not.
enum Fit {
    Yes,
    Maybe(String),
    No(String),
}

fn fit(rule: &ToolRule, known: &CallFacts<'_>, facts: &Facts<'_>) -> Fit {
    let call = known.call;
    let acted = call.status.may_have_acted();
    match rule.from.fits(|member| call.came_from(member)) {
        FromThere::Yes => {}
        FromThere::No => return Fit::No(format!("it is not one{}", rule.from.words())),
        FromThere::Unknown(member) => {
            let why = format!("its `{member}` is not recorded");
            return if acted { Fit::Maybe(why) } else { Fit::No(why) };
        }
    }
    match arguments_mismatch(rule, known, facts) {
        // Arguments that were not recorded, or cannot be compared, may be those the rule means.
        Some(why) if acted && (call.arguments.is_null() || why == INEXACT) => return Fit::Maybe(why),
        Some(why) => return Fit::No(why),
        None => {}
    }
    let result = result_mismatch(rule, known, facts);
    match (status_mismatch(rule, call), result) {
        (None, None) => Fit::Yes,
        // The result of a settled call is final; that of an unsettled one may turn out to be another.
        (None, Some(why)) | (Some(_), Some(why)) if !call.status.is_unsettled() => Fit::No(why),
        (None, Some(why)) => Fit::Maybe(why),
        (Some(why), _) if acted => Fit::Maybe(why.to_owned()),
        (Some(why), _) => Fit::No(why.to_owned()),
    }
}

fn status_mismatch(rule: &ToolRule, call: &Call) -> Option<&'static str> {
    match (rule.status, call.status) {
        (CountedStatus::Any, _) | (CountedStatus::Succeeded, CallStatus::Succeeded) => None,
        (CountedStatus::Succeeded, CallStatus::Failed) => Some("its result is an error"),
        (CountedStatus::Succeeded, CallStatus::Doubtful) => Some("its result reads like an error"),
        (CountedStatus::Succeeded, CallStatus::Blocked) => Some("it was blocked"),
        (CountedStatus::Succeeded, CallStatus::Pending) => Some("it has no result"),
    }
}

fn arguments_mismatch(rule: &ToolRule, known: &CallFacts<'_>, facts: &Facts<'_>) -> Option<String> {
    let Some(given) = &known.arguments else {
        return Some(INEXACT.to_owned());
    };
    let exact = rule.exact_args.as_ref().map(facts::value);
    match exact {
        Some(Ok(expected)) if !facts.same(&expected, given) => {
            Some(format!("the arguments are {}", brief_json(&known.call.arguments)))
        }
        Some(Err(_)) => Some(INEXACT.to_owned()),
        Some(Ok(_)) | None => parts_mismatch(&rule.args, given, facts, "args."),
    }
}

fn result_mismatch(rule: &ToolRule, known: &CallFacts<'_>, facts: &Facts<'_>) -> Option<String> {
    match &known.result {
        _ if rule.result.is_empty() => None,
        Some(result) => parts_mismatch(&rule.result, result, facts, "result."),
        None => Some(INEXACT.to_owned()),
    }
}

fn parts_mismatch(parts: &[PartRule], document: &Value, facts: &Facts<'_>, place: &str) -> Option<String> {
    parts.iter().find_map(|part| match part.expect.check(&part.path, document, facts, place) {
        Match::Holds => None,
        Match::Differs(how) => Some(how),
        Match::Missing(missing) => Some(missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    })
}

/// The fitting calls that end before the first call of `before` begins, and begin after the last call of `after` has
/// ended. Calls that overlap have no order, and a call whose end is not known has not ended.
fn in_order<'a>(
    rule: &ToolRule,
    matches: &RuleMatches<'a>,
    verification: &Verification,
    rules: &[RuleMatches<'a>],
    calls: &'a [Call],
    facts: &Facts<'_>,
) -> Vec<&'a Call> {
    let named = |name: &Option<String>| name.as_ref().map(|name| calls_named(name, verification, rules, calls));
    let (later, earlier) = (named(&rule.before), named(&rule.after));
    let fits = |call: &Call| {
        let first = later.as_ref().and_then(|later| later.all().map(|other| other.began).min());
        // `before` demands an order, not a later call: with no call to come before, it holds.
        let before = first.is_none_or(|first| call.ended.is_some_and(|ended| ended < first));
        let after = earlier.as_ref().is_none_or(|earlier| {
            // A call that may be meant could have been the last one, and may not have ended yet.
            !earlier.sure.is_empty() && earlier.all().all(|other| other.ended.is_some_and(|ended| ended < call.began))
        });
        before && after
    };
    let others = |calls: &Option<NamedCalls<'_>>| calls.as_ref().map_or(0, |calls| calls.all().count() as u64);
    let steps = others(&later).saturating_add(others(&earlier)).saturating_add(1);
    matches
        .fitting
        .iter()
        .copied()
        .take_while(|_| facts.budget.charge(steps).is_ok())
        .filter(|call| fits(call))
        .collect()
}

/// The calls that a `before` or `after` means.
struct NamedCalls<'a> {
    sure: Vec<&'a Call>,
    possible: Vec<&'a Call>,
}

impl<'a> NamedCalls<'a> {
    fn all(&self) -> impl Iterator<Item = &'a Call> {
        self.sure.iter().chain(&self.possible).copied()
    }
}

/// The calls that fit, or may fit, the rule of that name; where no rule has it, all calls of that tool.
fn calls_named<'a>(
    name: &str,
    verification: &Verification,
    rules: &[RuleMatches<'a>],
    calls: &'a [Call],
) -> NamedCalls<'a> {
    let mut pairs = verification.tool_calls.iter().zip(rules);
    match pairs.find(|(rule, _)| rule.id == name) {
        Some((_, matches)) => NamedCalls { sure: matches.fitting.clone(), possible: matches.possible.clone() },
        None => {
            // A failed call does not count as the one to come after, and may still have done part of what came too late.
            let (sure, possible) = calls
                .iter()
                .filter(|call| glob::matches(name, &call.tool) && call.status != CallStatus::Blocked)
                .partition(|call| call.status == CallStatus::Succeeded);
            NamedCalls { sure, possible }
        }
    }
}

fn near_misses(matches: &RuleMatches<'_>) -> String {
    const MAX_SHOWN: usize = 3;
    // `counted` is a part of `fitting`, so this does not underflow.
    let out_of_order = matches.fitting.len() - matches.counted.len();
    let shown = matches.near_misses.iter().take(MAX_SHOWN);
    let mut words: Vec<_> = shown.map(|(call, why)| format!("{} does not count: {why}", ordinal(call))).collect();
    if out_of_order > 0 {
        words.push(format!("{out_of_order} out of order"));
    }
    if words.is_empty() { String::new() } else { format!("; {}", words.join("; ")) }
}

/// A call as messages name it, counted from 1.
fn ordinal(call: &Call) -> String {
    format!("call {}", call.index.saturating_add(1))
}

fn describe(rule: &ToolRule) -> String {
    let max = rule.count.max.map(|max| format!(", at most {max}")).unwrap_or_default();
    let exact = rule.exact_args.as_ref().map(|args| format!(" with exactly {}", brief_json(args))).unwrap_or_default();
    let parts = |place: &str, parts: &[PartRule]| -> String {
        parts.iter().map(|part| format!(", {place}.{} {}", part.path.text(), part.expect.describe())).collect()
    };
    let order =
        |word: &str, name: &Option<String>| name.as_ref().map(|name| format!(", {word} {name}")).unwrap_or_default();
    let when = rule.when.as_ref().map(|when| format!(", when {}", when.source())).unwrap_or_default();
    format!(
        "at least {} of {}{}{max}{exact}{}{}{}{}{when}",
        counted(rule.count.min, "call"),
        rule.name,
        rule.from.words(),
        parts("args", &rule.args),
        parts("result", &rule.result),
        order("before", &rule.before),
        order("after", &rule.after)
    )
}
