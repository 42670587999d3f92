//! Rules about the recorded calls.

use std::collections::HashSet;

use proofmark_evidence::trace::Trace;
use proofmark_evidence::{Call, CallStatus, EvidenceStatus, facts, glob};
use proofmark_predicate::{Truth, Value};

use super::{Facts, Kind, MissingFact, Outcome, RuleResult};
use crate::expect::{Answer, brief_json};
use crate::tools::ToolClasses;
use crate::workflow::{Class, CountedStatus, Part, ToolRule, Verification};

/// What is said of a call whose numbers cannot be held exactly.
const INEXACT: &str = "it holds a number that is too long to compare";

/// Steps that holding one call against a rule counts as, beside those of its conditions.
const STEPS_PER_CALL: u64 = 8;

/// A call, and the facts its arguments and its result are; none where they cannot be held exactly.
struct CallFacts<'a> {
    call: &'a Call,
    arguments: Option<Value>,
    result: Option<Value>,
}

/// The calls each rule counts, looked up once.
pub(super) struct Looked<'a> {
    trace: Option<&'a Trace>,
    rules: Vec<LookedRule<'a>>,
}

struct LookedRule<'a> {
    applies: Applies,
    /// The calls that fit the rule, order aside.
    fitting: Vec<&'a Call>,
    /// Those of them that are in order too.
    counted: Vec<&'a Call>,
    /// The calls that may fit: no result says what became of them, or what they were called with is not known. They prove
    /// nothing, and may have changed something.
    possible: Vec<&'a Call>,
    /// The calls of the tool that do not fit, and why not.
    near: Vec<(&'a Call, String)>,
}

enum Applies {
    Yes,
    No,
    Unknown(Vec<MissingFact>),
}

impl<'a> Looked<'a> {
    pub(super) fn up(verification: &Verification, trace: Option<&'a Trace>, facts: &Facts<'_>) -> Self {
        let calls = trace.map_or(&[][..], |trace| &trace.calls);
        let known: Vec<_> = calls.iter().map(CallFacts::of).collect();
        let mut rules: Vec<_> = verification.tool_calls.iter().map(|rule| look_up(rule, &known, facts)).collect();
        let counted: Vec<_> = verification
            .tool_calls
            .iter()
            .zip(&rules)
            .map(|(rule, looked)| in_order(rule, looked, verification, &rules, calls, facts))
            .collect();
        for (looked, counted) in rules.iter_mut().zip(counted) {
            looked.counted = counted;
        }
        Self { trace, rules }
    }

    pub(super) fn judge_rules(&self, verification: &Verification) -> Vec<RuleResult> {
        let pairs = verification.tool_calls.iter().zip(&self.rules);
        pairs.map(|(rule, looked)| self.judge(rule, looked)).collect()
    }

    /// That no call changed anything but those the rules count. A call that failed changed nothing; one without a
    /// result may have.
    pub(super) fn judge_other_mutations(&self, verification: &Verification, tools: &ToolClasses) -> RuleResult {
        let listed: HashSet<usize> =
            self.rules.iter().flat_map(|rule| rule.counted.iter().map(|call| call.index)).collect();
        let result = |outcome, status, message: String, missing, calls| RuleResult {
            id: "noOtherMutations".to_owned(),
            kind: Kind::NoOtherMutations,
            outcome,
            status,
            rule: "no mutating call but those the rules list".to_owned(),
            message,
            missing,
            calls,
            any_suite: false,
        };
        let Some(trace) = self.trace else {
            let missing = vec![MissingFact::absent("trace".to_owned())];
            return result(
                Outcome::Unknown,
                EvidenceStatus::Absent,
                "no calls were recorded".to_owned(),
                missing,
                Vec::new(),
            );
        };
        let others = trace.calls.iter().filter(|call| {
            call.status.may_have_acted()
                && tools.class_of(&call.tool) == Class::Mutating
                && !listed.contains(&call.index)
        });
        let others: Vec<&Call> = others.collect();
        match others.is_empty() {
            true => result(
                Outcome::Met,
                EvidenceStatus::Observed,
                "no other call changed anything".to_owned(),
                Vec::new(),
                Vec::new(),
            ),
            false => {
                let message = format!("also called: {}", self.describe_others(&others, verification, tools));
                let calls = others.iter().map(|call| call.index).collect();
                result(Outcome::Unmet, EvidenceStatus::Observed, message, Vec::new(), calls)
            }
        }
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
        let near = pairs.find_map(|(rule, looked)| {
            let (_, why) = looked.near.iter().find(|(near, _)| near.index == call.index)?;
            Some(format!("not as `{}` asks: {why}", rule.id))
        });
        let why = match (near, tools.is_mutating(&call.tool)) {
            (Some(near), _) => near,
            (None, true) => "mutating".to_owned(),
            (None, false) => "not declared readonly".to_owned(),
        };
        format!("call {} `{}` ({why})", call.index, call.tool)
    }

    fn judge(&self, rule: &ToolRule, looked: &LookedRule<'_>) -> RuleResult {
        let result = |outcome, status, message: String, missing| RuleResult {
            id: rule.id.clone(),
            kind: Kind::ToolCall,
            outcome,
            status,
            rule: describe(rule),
            message,
            missing,
            calls: looked.counted.iter().map(|call| call.index).collect(),
            any_suite: false,
        };
        match (&looked.applies, self.trace) {
            (Applies::No, _) => {
                result(Outcome::Met, EvidenceStatus::Absent, "its condition does not hold".to_owned(), Vec::new())
            }
            (Applies::Unknown(missing), _) => {
                let message = said(rule, "whether it applies is unknown".to_owned());
                result(Outcome::Unknown, EvidenceStatus::Absent, message, missing.clone())
            }
            (Applies::Yes, None) => {
                let missing = vec![MissingFact::absent("trace".to_owned())];
                result(
                    Outcome::Unknown,
                    EvidenceStatus::Absent,
                    said(rule, "no calls were recorded".to_owned()),
                    missing,
                )
            }
            (Applies::Yes, Some(_)) => self.count(rule, looked, result),
        }
    }

    fn count(
        &self,
        rule: &ToolRule,
        looked: &LookedRule<'_>,
        result: impl Fn(Outcome, EvidenceStatus, String, Vec<MissingFact>) -> RuleResult,
    ) -> RuleResult {
        let found = looked.counted.len() as u64;
        let status = if found == 0 { EvidenceStatus::Absent } else { EvidenceStatus::Observed };
        let possible = found.saturating_add(looked.possible.len() as u64);
        let too_many = rule.count.max.is_some_and(|max| possible > max);
        if found < rule.count.min {
            let how = format!("{found} of {} calls of `{}`{}", rule.count.min, rule.name, near_misses(looked));
            let missing = vec![MissingFact::new(
                format!("calls.{}", rule.name),
                &format!("was found {found} times, expected {}", rule.count.min),
            )];
            return result(Outcome::Unmet, status, said(rule, how), missing);
        }
        match (too_many, rule.count.max) {
            (true, Some(max)) => {
                let how = format!("{possible} calls of `{}`, and {max} are allowed", rule.name);
                result(Outcome::Unmet, status, said(rule, how), Vec::new())
            }
            _ => result(Outcome::Met, status, format!("{found} calls of `{}`", rule.name), Vec::new()),
        }
    }
}

impl<'a> CallFacts<'a> {
    fn of(call: &'a Call) -> Self {
        let arguments = facts::value(&call.arguments).ok();
        let result = call.result.as_ref().map_or(Ok(Value::Null), facts::value).ok();
        Self { call, arguments, result }
    }
}

fn look_up<'a>(rule: &ToolRule, calls: &[CallFacts<'a>], facts: &Facts<'_>) -> LookedRule<'a> {
    let applies = match rule.when.as_ref().map(|when| when.truth(&facts.all, facts.budget)) {
        None | Some(Truth::True) => Applies::Yes,
        Some(Truth::False) => Applies::No,
        Some(Truth::Unknown(missing)) => {
            let facts = missing.into_iter().map(|fact| MissingFact::new(fact.path, &fact.why.to_string()));
            Applies::Unknown(facts.collect())
        }
    };
    let mut looked =
        LookedRule { applies, fitting: Vec::new(), counted: Vec::new(), possible: Vec::new(), near: Vec::new() };
    if !matches!(looked.applies, Applies::Yes) {
        return looked;
    }
    for known in calls {
        let call = known.call;
        let steps = STEPS_PER_CALL.saturating_add(call.tool.len() as u64);
        if facts.budget.charge(steps).is_err() {
            break;
        }
        if !glob::matches(&rule.name, &call.tool) {
            continue;
        }
        match fit(rule, known, facts) {
            Fit::Yes => looked.fitting.push(call),
            Fit::Maybe(why) => {
                looked.possible.push(call);
                looked.near.push((call, why));
            }
            Fit::No(why) => looked.near.push((call, why)),
        }
    }
    looked
}

/// Whether a call is one the rule means.
enum Fit {
    Yes,
    /// It may be, and what it did is not known.
    Maybe(String),
    No(String),
}

fn fit(rule: &ToolRule, known: &CallFacts<'_>, facts: &Facts<'_>) -> Fit {
    let call = known.call;
    let acted = call.status.may_have_acted();
    match arguments_misfit(rule, known, facts) {
        // What was not recorded, or cannot be compared, may be what the rule means.
        Some(why) if acted && (call.arguments.is_null() || why == INEXACT) => return Fit::Maybe(why),
        Some(why) => return Fit::No(why),
        None => {}
    }
    let result = result_misfit(rule, known, facts);
    match (status_misfit(rule, call), result) {
        (None, None) => Fit::Yes,
        (None, Some(why)) | (Some(_), Some(why)) if !call.status.is_unsettled() => Fit::No(why),
        (None, Some(why)) => Fit::Maybe(why),
        (Some(why), _) if acted => Fit::Maybe(why.to_owned()),
        (Some(why), _) => Fit::No(why.to_owned()),
    }
}

/// Why the end of a call does not count for the rule.
fn status_misfit(rule: &ToolRule, call: &Call) -> Option<&'static str> {
    match (rule.status, call.status) {
        (CountedStatus::Any, _) | (CountedStatus::Succeeded, CallStatus::Succeeded) => None,
        (CountedStatus::Succeeded, CallStatus::Failed) => Some("its result is an error"),
        (CountedStatus::Succeeded, CallStatus::Doubtful) => Some("its result reads like an error"),
        (CountedStatus::Succeeded, CallStatus::Blocked) => Some("it was blocked"),
        (CountedStatus::Succeeded, CallStatus::Pending) => Some("it has no result"),
    }
}

fn arguments_misfit(rule: &ToolRule, known: &CallFacts<'_>, facts: &Facts<'_>) -> Option<String> {
    let Some(given) = &known.arguments else {
        return Some(INEXACT.to_owned());
    };
    let exact = rule.exact_args.as_ref().map(facts::value);
    match exact {
        Some(Ok(wanted)) if !facts.same(&wanted, given) => {
            Some(format!("the arguments are {}", brief_json(&known.call.arguments)))
        }
        Some(Err(_)) => Some(INEXACT.to_owned()),
        Some(Ok(_)) | None => parts_misfit(&rule.args, given, facts, "args."),
    }
}

fn result_misfit(rule: &ToolRule, known: &CallFacts<'_>, facts: &Facts<'_>) -> Option<String> {
    match &known.result {
        _ if rule.result.is_empty() => None,
        Some(result) => parts_misfit(&rule.result, result, facts, "result."),
        None => Some(INEXACT.to_owned()),
    }
}

fn parts_misfit(parts: &[Part], document: &Value, facts: &Facts<'_>, place: &str) -> Option<String> {
    parts.iter().find_map(|part| match part.expect.answer(&part.path, document, facts, place) {
        Answer::Holds => None,
        Answer::Differs(how) => Some(how),
        Answer::Missing(missing) => Some(missing.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    })
}

/// The fitting calls that come where `before` and `after` want them.
fn in_order<'a>(
    rule: &ToolRule,
    looked: &LookedRule<'a>,
    verification: &Verification,
    rules: &[LookedRule<'a>],
    calls: &'a [Call],
    facts: &Facts<'_>,
) -> Vec<&'a Call> {
    let named = |name: &Option<String>| name.as_ref().map(|name| calls_named(name, verification, rules, calls));
    let (later, earlier) = (named(&rule.before), named(&rule.after));
    let fits = |call: &Call| {
        let first = later.as_ref().and_then(|later| later.all().map(|other| other.began).min());
        let before = first.is_none_or(|first| call.ended.is_some_and(|ended| ended < first));
        let after = earlier.as_ref().is_none_or(|earlier| {
            // A call whose end is not known may have been the last one, and may not have ended yet.
            !earlier.sure.is_empty() && earlier.all().all(|other| other.ended.is_some_and(|ended| ended < call.began))
        });
        before && after
    };
    let others = |calls: &Option<Named<'_>>| calls.as_ref().map_or(0, |calls| calls.all().count() as u64);
    let steps = others(&later).saturating_add(others(&earlier)).saturating_add(1);
    let looked_at = |_: &&Call| facts.budget.charge(steps).is_ok();
    looked.fitting.iter().copied().take_while(looked_at).filter(|call| fits(call)).collect()
}

/// The calls a `before` or `after` means.
struct Named<'a> {
    sure: Vec<&'a Call>,
    possible: Vec<&'a Call>,
}

impl<'a> Named<'a> {
    fn all(&self) -> impl Iterator<Item = &'a Call> {
        self.sure.iter().chain(&self.possible).copied()
    }
}

/// The calls that fit, or may fit, the rule of that name; or all of the tool.
fn calls_named<'a>(name: &str, verification: &Verification, rules: &[LookedRule<'a>], calls: &'a [Call]) -> Named<'a> {
    let mut pairs = verification.tool_calls.iter().zip(rules);
    match pairs.find(|(rule, _)| rule.id == name) {
        Some((_, looked)) => Named { sure: looked.fitting.clone(), possible: looked.possible.clone() },
        None => {
            // A failed call is not one to come after, and may still have done a part of what comes too late.
            let of_tool = |call: &&Call| glob::matches(name, &call.tool) && call.status != CallStatus::Blocked;
            let (sure, possible) = calls.iter().filter(of_tool).partition(|call| call.status == CallStatus::Succeeded);
            Named { sure, possible }
        }
    }
}

fn near_misses(looked: &LookedRule<'_>) -> String {
    const MAX_SHOWN: usize = 3;
    let out_of_order = looked.fitting.len() - looked.counted.len();
    let mut words: Vec<_> =
        looked.near.iter().take(MAX_SHOWN).map(|(call, why)| format!("call {}: {why}", call.index)).collect();
    if out_of_order > 0 {
        words.push(format!("{out_of_order} out of order"));
    }
    match words.is_empty() {
        true => String::new(),
        false => format!("; {}", words.join("; ")),
    }
}

fn describe(rule: &ToolRule) -> String {
    let max = rule.count.max.map(|max| format!(", at most {max}")).unwrap_or_default();
    let exact = rule.exact_args.as_ref().map(|args| format!(" with exactly {}", brief_json(args))).unwrap_or_default();
    let parts = |place: &str, parts: &[Part]| -> String {
        parts.iter().map(|part| format!(", {place}.{} {}", part.path.text(), part.expect.describe())).collect()
    };
    let order =
        |word: &str, name: &Option<String>| name.as_ref().map(|name| format!(", {word} {name}")).unwrap_or_default();
    let when = rule.when.as_ref().map(|when| format!(", when {}", when.source())).unwrap_or_default();
    format!(
        "at least {} calls of {}{max}{exact}{}{}{}{}{when}",
        rule.count.min,
        rule.name,
        parts("args", &rule.args),
        parts("result", &rule.result),
        order("before", &rule.before),
        order("after", &rule.after)
    )
}

fn said(rule: &ToolRule, how: String) -> String {
    match &rule.reject_message {
        Some(message) => format!("{message} ({how})"),
        None => how,
    }
}
