//! Chooses which restrictions a policy has: all that runs bear, and as few of the others as keep it from stopping too many.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_boundary::{ActionPolicy, Learned, LearnedArgument, LearnedSource, learned_policy};
use proofmark_receipt::{Json, Object};
use proofmark_session::CallStatus;

use super::observed::{Observed, Seen, ToolName, Value};
use super::{LearnError, LearnSettings, LearningRun};
use crate::runs::{RunCall, RunRuling, RunSettings, replay_run};

/// The label of what the user asked for.
const REQUEST: &str = "request";
/// The most labels that an argument may come from, and the most constants that it may have.
const MAX_LABELS: usize = 48;
const MAX_CONSTANTS: usize = 8;
/// The longest constant, in bytes.
const MAX_CONSTANT: usize = 64;
/// In how many requests a value has to be given that is a constant: else it may be one of those of the request.
const MIN_REQUESTS: usize = 2;
/// The most arguments of one tool that have rules.
const MAX_ARGUMENTS: usize = 64;

/// The most restrictions that are tried again once they were left out.
const MAX_TAKEN_BACK: usize = 32;

/// A rule that can be left out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Restriction {
    /// Where the look-ups of a tool have to be led from.
    Anchor(ToolName),
    /// Where an argument has to come from.
    Argument(ToolName, String),
}

/// The restrictions that are left out.
pub(super) type LeftOut = BTreeSet<Restriction>;

/// What may be learned of runs, before some of it is left out.
pub(super) struct Model {
    observed: Observed,
    /// What each argument may come from.
    accepts: BTreeMap<Restriction, Vec<String>>,
}

/// What a model learned of some runs makes of others.
pub(super) struct HeldOut<'r> {
    pub(super) model: Model,
    pub(super) runs: Vec<&'r LearningRun>,
}

impl Model {
    pub(super) fn of(observed: Observed) -> Self {
        let mut accepts = BTreeMap::new();
        for (name, seen) in &observed.tools {
            let only_reads = name.learned().only_reads();
            for (place, values) in seen.arguments.iter().take(MAX_ARGUMENTS) {
                // Where it is only looked up, what an address leads to, or carries away, counts.
                let from = if !only_reads || leads_away(values) { accepted(values) } else { Vec::new() };
                if !from.is_empty() {
                    accepts.insert(Restriction::Argument(name.clone(), place.clone()), from);
                }
            }
        }
        let used: BTreeSet<&str> = accepts.values().flatten().map(String::as_str).collect();
        let mut anchors = BTreeMap::new();
        for source in observed.sources.iter().filter(|source| used.contains(source.label.as_str())) {
            let name = name_of(source);
            let seen = observed.tools.get(&name).filter(|seen| !seen.arguments.is_empty());
            if let Some(labels) = seen.map(anchor).filter(|labels| !labels.is_empty()) {
                anchors.insert(Restriction::Anchor(name), labels);
            }
        }
        accepts.extend(anchors);
        Self { observed, accepts }
    }

    /// The labels that a restriction asks for, unless it is left out.
    fn asked(&self, left_out: &LeftOut, restriction: &Restriction) -> Option<&Vec<String>> {
        self.accepts.get(restriction).filter(|_| !left_out.contains(restriction))
    }

    /// What the policy says.
    pub(super) fn learned(&self, left_out: &LeftOut) -> Learned {
        let mut learned = Learned::default();
        for (name, seen) in &self.observed.tools {
            let mut tool = name.learned();
            let only_reads = tool.only_reads();
            tool.calls = seen.calls;
            tool.runs = seen.runs.len() as u64;
            tool.names.clone_from(&seen.names);
            for (place, values) in &seen.arguments {
                let from = self.asked(left_out, &Restriction::Argument(name.clone(), place.clone())).cloned();
                if from.is_some() || !only_reads || leads_away(values) {
                    tool.arguments.push(LearnedArgument { place: place.clone(), from });
                }
            }
            learned.tools.push(tool);
        }
        // Sources that a rule asks for, and those that the look-ups of these have to be led from.
        let mut used: BTreeSet<String> = learned
            .tools
            .iter()
            .flat_map(|tool| &tool.arguments)
            .flat_map(|argument| argument.from.iter().flatten())
            .cloned()
            .collect();
        let sources = &self.observed.sources;
        loop {
            let before = used.len();
            for source in sources.iter().filter(|source| used.contains(&source.label)).collect::<Vec<_>>() {
                used.extend(self.asked(left_out, &Restriction::Anchor(name_of(source))).into_iter().flatten().cloned());
            }
            if used.len() == before {
                break;
            }
        }
        learned.sources = sources
            .iter()
            .filter(|source| used.contains(&source.label))
            .map(|source| LearnedSource {
                anchor: self.asked(left_out, &Restriction::Anchor(name_of(source))).cloned(),
                ..source.clone()
            })
            .collect();
        learned
    }

    /// Which restrictions keep a call from being allowed. A look-up that was led by something else is named in place of the argument
    /// that lacks its label.
    fn causes(&self, left_out: &LeftOut, call: &RunCall) -> BTreeSet<Restriction> {
        let name = ToolName { server: call.server.clone(), tool: call.tool.clone() };
        let mut causes = BTreeSet::new();
        for (place, row) in call.origins.iter().filter_map(Json::as_object).filter_map(placed) {
            let restriction = Restriction::Argument(name.clone(), place);
            let Some(from) = self.asked(left_out, &restriction).filter(|from| !accepts(from, row)) else { continue };
            causes.insert(self.unled(left_out, row, from).unwrap_or(restriction));
        }
        causes
    }

    /// The look-up that brought a value, which would have a label if the look-up had been led as it has to be.
    fn unled(&self, left_out: &LeftOut, row: &Object, from: &[String]) -> Option<Restriction> {
        let places = row.get("places").and_then(Json::as_array).unwrap_or_default();
        let mut tools = places.iter().filter_map(|place| place.as_object()?.get("source")?.as_str());
        let anchored = self.observed.sources.iter().filter(|source| from.contains(&source.label));
        let anchored: Vec<_> = anchored
            .map(name_of)
            .filter(|name| self.asked(left_out, &Restriction::Anchor(name.clone())).is_some())
            .collect();
        tools.find_map(|tool| anchored.iter().find(|name| name.tool == tool)).cloned().map(Restriction::Anchor)
    }
}

/// Leaves out as many restrictions as is needed for them to stop at most this share of runs that the models were not learned from.
pub(super) fn left_out(held_out: &[HeldOut<'_>], settings: &LearnSettings) -> Result<LeftOut, LearnError> {
    let runs: usize = held_out.iter().map(|held_out| held_out.runs.len()).sum();
    // The cast is exact enough: both are small.
    let allowed = (settings.risk * runs as f64) as usize;
    let mut left_out = LeftOut::new();
    loop {
        let mut stopped = stopped(held_out, &left_out, settings)?;
        let before = left_out.len();
        while stopped.len() > allowed {
            let Some(worst) = worst(&stopped) else { break };
            for causes in &mut stopped {
                causes.remove(&worst);
            }
            stopped.retain(|causes| !causes.is_empty());
            left_out.insert(worst);
        }
        if left_out.len() == before {
            break;
        }
    }
    // Some were left out for runs that others let pass as well.
    let tried: Vec<Restriction> = left_out.iter().rev().take(MAX_TAKEN_BACK).cloned().collect();
    for restriction in tried {
        left_out.remove(&restriction);
        if stopped(held_out, &left_out, settings)?.len() > allowed {
            left_out.insert(restriction);
        }
    }
    Ok(left_out)
}

/// The causes for each run that restrictions stop. What else stops a run, as a tool that was never seen, no restriction changes.
fn stopped(
    held_out: &[HeldOut<'_>],
    left_out: &LeftOut,
    settings: &LearnSettings,
) -> Result<Vec<BTreeSet<Restriction>>, LearnError> {
    let mut stopped = Vec::new();
    for HeldOut { model, runs } in held_out {
        let policy = policy_of(&model.learned(left_out))?;
        for run in runs {
            let calls = stopping(&policy, &settings.run, run);
            let causes: Vec<_> = calls.iter().map(|call| model.causes(left_out, call)).collect();
            if !causes.is_empty() && causes.iter().all(|causes| !causes.is_empty()) {
                stopped.push(causes.into_iter().flatten().collect());
            }
        }
    }
    Ok(stopped)
}

/// A policy of what was learned.
pub(super) fn policy_of(learned: &Learned) -> Result<ActionPolicy, LearnError> {
    let suggestion = learned_policy(learned, &[])?;
    Ok(ActionPolicy::read(&Json::Object(suggestion.document))?)
}

/// The calls of a run that were executed, and that a policy does not allow.
pub(super) fn stopping(policy: &ActionPolicy, settings: &RunSettings, run: &LearningRun) -> Vec<RunCall> {
    let calls = replay_run(policy, settings, &run.trace).calls.into_iter();
    let was_executed =
        |call: &RunCall| run.trace.calls.get(call.number - 1).is_some_and(|call| call.status != CallStatus::Blocked);
    calls.filter(|call| call.ruling != RunRuling::Allowed && was_executed(call)).collect()
}

/// The restriction without which most of the runs would not be stopped, for what it keeps from happening.
fn worst(stopped: &[BTreeSet<Restriction>]) -> Option<Restriction> {
    let all: BTreeSet<&Restriction> = stopped.iter().flatten().collect();
    let score = |restriction: &Restriction| {
        let harm = match restriction {
            Restriction::Anchor(_) => 1,
            Restriction::Argument(..) => 2,
        };
        let alone = stopped.iter().filter(|causes| causes.len() == 1 && causes.contains(restriction)).count();
        let among = stopped.iter().filter(|causes| causes.contains(restriction)).count();
        // In integers, so that the order does not depend on rounding.
        (12 * (2 * alone + among)) / harm
    };
    all.into_iter().max_by_key(|restriction| (score(restriction), std::cmp::Reverse(*restriction))).cloned()
}

/// The labels and constants that cover the values, as few as do.
fn accepted(values: &[Value]) -> Vec<String> {
    let (mut from, mut left) = (Vec::new(), values.iter().collect::<Vec<_>>());
    while from.len() < MAX_LABELS {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for label in left.iter().flat_map(|value| &value.labels) {
            // What the user asked for is the best of reasons.
            *counts.entry(label).or_default() += if label == REQUEST { values.len() + 1 } else { 1 };
        }
        let Some(best) = counts.iter().max_by_key(|(label, count)| (**count, std::cmp::Reverse(**label))) else {
            break;
        };
        let label = (*best.0).to_owned();
        left.retain(|value| !value.labels.contains(&label));
        from.push(label);
    }
    let mut constants: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for value in &left {
        if let Some(text) = value.text.as_deref().filter(|text| text.len() <= MAX_CONSTANT) {
            constants.entry(text).or_default().insert(value.group);
        }
    }
    let constants = constants.into_iter().filter(|(_, groups)| groups.len() >= MIN_REQUESTS);
    let constants: Vec<&str> = constants.take(MAX_CONSTANTS).map(|(text, _)| text).collect();
    let is_left = |value: &&&Value| !value.text.as_deref().is_some_and(|text| constants.contains(&text));
    let numbers: Option<Vec<&str>> = left.iter().filter(is_left).map(|value| value.number.as_deref()).collect();
    from.extend(constants.iter().map(|text| format!("={text}")));
    // Of other numbers, all up to the largest.
    let plain = |number: &&str| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let numbers = numbers.filter(|numbers| !numbers.is_empty() && numbers.iter().all(plain));
    let size = |number: &str| number.parse::<f64>().unwrap_or(f64::INFINITY);
    let largest =
        numbers.and_then(|numbers| numbers.into_iter().max_by(|one, other| size(one).total_cmp(&size(other))));
    from.extend(largest.map(|number| format!("<= {number}")));
    from
}

/// What leads the look-ups of a tool; nothing where most of them are led by something else.
fn anchor(seen: &Seen) -> Vec<String> {
    let mut labels = BTreeSet::new();
    let (mut led, mut all) = (0, 0);
    for values in seen.arguments.values() {
        let from = accepted(values);
        led += values.iter().filter(|value| is_one_of(&from, value)).count();
        all += values.len();
        labels.extend(from);
    }
    if 2 * led > all { labels.into_iter().take(MAX_LABELS).collect() } else { Vec::new() }
}

fn is_one_of(from: &[String], value: &Value) -> bool {
    let has_label = value.labels.iter().any(|label| from.contains(label));
    let is_constant = value.text.as_ref().is_some_and(|text| from.contains(&format!("={text}")));
    has_label || is_constant || within(from, value.number.as_deref())
}

/// Whether a number is within a bound.
fn within(from: &[String], number: Option<&str>) -> bool {
    let number = number.and_then(|number| number.parse::<f64>().ok());
    let bounds = from.iter().filter_map(|one| one.strip_prefix("<=")?.trim().parse::<f64>().ok());
    number.is_some_and(|number| bounds.into_iter().any(|bound| (0.0..=bound).contains(&number)))
}

/// Whether values name an address of the web or of mail.
fn leads_away(values: &[Value]) -> bool {
    let names_address = |text: &str| text.contains("://") || text.contains('@') || text.starts_with("www.");
    values.iter().any(|value| value.text.as_deref().is_none_or(names_address))
}

fn name_of(source: &LearnedSource) -> ToolName {
    ToolName { server: source.server.clone(), tool: source.tool.clone() }
}

/// A value of a call, with its place as `from` names it.
fn placed(row: &Object) -> Option<(String, &Object)> {
    let at = row.get("at").and_then(Json::as_str).filter(|at| !at.ends_with('~'))?;
    Some((proofmark_boundary::argument_place(at)?, row))
}

fn accepts(from: &[String], row: &Object) -> bool {
    let labels = row.get("labels").and_then(Json::as_array).unwrap_or_default();
    let has_label = labels.iter().filter_map(Json::as_str).any(|label| from.iter().any(|one| one == label));
    let value = row.get("value").and_then(Json::as_str);
    let number = row.get("number").and_then(Json::as_number).map(|number| number.as_str().to_owned());
    let is_constant = value.is_some_and(|value| from.iter().any(|one| one.strip_prefix('=') == Some(value)));
    has_label || is_constant || within(from, number.as_deref())
}
