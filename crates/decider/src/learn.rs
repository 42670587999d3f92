//! Learns a policy from recorded runs, and says how often it would stop a good run and what an attacker could still do.
//!
//! Each argument may come from where it came from in the runs, by the comparison by which policies are decided. What the runs do not
//! bear is left out, until no more of them are stopped than was asked for. Runs that were held out say what to expect of others.

mod fit;
mod interval;
mod observed;

use std::collections::{BTreeMap, BTreeSet};

use proofmark_boundary::{ActionPolicyError, Learned, LearnedTool, SuggestError, Suggestion, learned_policy};
use proofmark_evidence::trace::Trace;
use proofmark_receipt::document::{counted, shown};

use crate::runs::RunSettings;
use fit::{HeldOut, Model, left_out, policy_of, stopping};

/// A run to learn from.
#[derive(Clone, Debug)]
pub struct LearningRun {
    pub trace: Trace,
    /// Runs that answer the same request have the same number.
    pub(crate) group: usize,
}

/// How to learn.
#[derive(Clone, Debug)]
pub struct LearnSettings {
    pub run: RunSettings,
    /// The share of the runs that the policy may stop.
    pub risk: f64,
    /// Into how many parts the runs are divided, each of which is held out once.
    pub folds: usize,
}

/// A policy that was learned.
#[derive(Clone, Debug)]
pub struct LearnedPolicy {
    pub suggestion: Suggestion,
    pub runs: u64,
    pub calls: u64,
    /// The runs that it was learned from and stops.
    pub stopped: u64,
    /// What to expect of other runs; none of a single run.
    pub of_runs: Option<Estimate>,
    /// What to expect where the user asks for something that no run was about; none where all runs answer one request.
    pub of_requests: Option<Estimate>,
    pub freedom: Freedom,
}

/// What was found with runs that were held out.
#[derive(Clone, Debug, Default)]
pub struct Estimate {
    pub folds: usize,
    pub runs: u64,
    /// The runs that a policy stopped which was learned without them.
    pub stopped: u64,
    /// How many different requests the runs answer.
    pub requests: usize,
    /// In which the share of stopped runs lies, by Clopper and Pearson at 95 %.
    pub interval: [f64; 2],
    /// The runs that were stopped first by this tool and reason.
    pub causes: BTreeMap<String, u64>,
}

/// What an attacker can still do whose text an agent reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Freedom {
    /// Tools that may change something, and none of whose arguments has to come from anywhere.
    pub free_tools: Vec<String>,
    /// Arguments of such tools that any text may give, as `TOOL.ARGUMENT`.
    pub steered: Vec<String>,
    /// Tools that only read, by their names, and that any text may lead.
    pub look_ups: Vec<String>,
    /// Arguments with the results that they may come from: an attacker can choose among the values there.
    pub choices: BTreeMap<String, Vec<String>>,
}

/// Why nothing can be learned.
#[derive(Debug, thiserror::Error)]
pub enum LearnError {
    #[error(transparent)]
    Suggest(#[from] SuggestError),
    #[error("read the learned policy: {0}")]
    Policy(#[from] ActionPolicyError),
}

/// The runs of these traces.
#[must_use]
pub fn learning_runs(traces: Vec<Trace>) -> Vec<LearningRun> {
    let mut groups: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = 0;
    let mut runs = Vec::new();
    for trace in traces {
        let request: Vec<&str> = trace.requests.iter().map(|request| request.text.trim()).collect();
        let request = request.join("\n");
        // Runs without a request may all answer one.
        let known = groups.get(&request).copied();
        let group = known.unwrap_or(count);
        if known.is_none() {
            groups.insert(request, count);
            count += 1;
        }
        runs.push(LearningRun { trace, group });
    }
    runs
}

/// Learns a policy that allows what the runs did.
///
/// # Errors
/// [`LearnError`].
pub fn learn_policy(name: &str, runs: &[LearningRun], settings: &LearnSettings) -> Result<LearnedPolicy, LearnError> {
    let all: Vec<&LearningRun> = runs.iter().collect();
    let learned = learned(&all, settings)?;
    let policy = policy_of(&learned)?;
    let stopped = all.iter().filter(|run| !stopping(&policy, &settings.run, run).is_empty()).count() as u64;
    let of_runs = estimate(runs, settings, Unit::Run)?;
    let of_requests = estimate(runs, settings, Unit::Request)?;
    let freedom = freedom(&learned);
    let calls = learned.tools.iter().map(|tool| tool.calls).sum();
    let mut about = LearnedPolicy {
        suggestion: Suggestion { document: Default::default(), text: String::new(), left_open: Vec::new() },
        runs: runs.len() as u64,
        calls,
        stopped,
        of_runs,
        of_requests,
        freedom,
    };
    about.suggestion = learned_policy(&learned, &about.heading(name))?;
    Ok(about)
}

/// What is learned of runs. What to leave out is found with parts of them that are held out: a run is not evidence for itself.
fn learned(runs: &[&LearningRun], settings: &LearnSettings) -> Result<Learned, LearnError> {
    let model = |runs: &[&LearningRun]| Ok::<_, LearnError>(Model::of(observed::observe(runs, &settings.run)?));
    let mut held_out = Vec::new();
    for Part { out, others } in parts(runs, settings.folds, Unit::Run) {
        held_out.push(HeldOut { model: model(&others)?, runs: out });
    }
    let left_out = left_out(&held_out, settings)?;
    Ok(model(runs)?.learned(&left_out))
}

/// A part of the runs, and the others.
struct Part<'r> {
    out: Vec<&'r LearningRun>,
    others: Vec<&'r LearningRun>,
}

/// What is held out as a whole.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Run,
    /// All runs that answer one request.
    Request,
}

/// The runs in parts; none where there are fewer than two units.
fn parts<'r>(runs: &[&'r LearningRun], folds: usize, unit: Unit) -> Vec<Part<'r>> {
    let requests: BTreeSet<usize> = runs.iter().map(|run| run.group).collect();
    let requests: BTreeMap<usize, usize> = requests.into_iter().zip(0..).collect();
    let folds = folds.min(if unit == Unit::Run { runs.len() } else { requests.len() });
    let number = |index: usize, run: &LearningRun| match unit {
        Unit::Run => index,
        Unit::Request => requests.get(&run.group).copied().unwrap_or(index),
    };
    let part = |fold: usize| {
        let (mut out, mut others) = (Vec::new(), Vec::new());
        for (index, run) in runs.iter().enumerate() {
            if number(index, run) % folds == fold { out.push(*run) } else { others.push(*run) }
        }
        Part { out, others }
    };
    if folds < 2 { Vec::new() } else { (0..folds).map(part).collect() }
}

fn estimate(runs: &[LearningRun], settings: &LearnSettings, unit: Unit) -> Result<Option<Estimate>, LearnError> {
    let all: Vec<&LearningRun> = runs.iter().collect();
    let parts = parts(&all, settings.folds, unit);
    if parts.is_empty() {
        return Ok(None);
    }
    let requests = runs.iter().map(|run| run.group).collect::<BTreeSet<_>>().len();
    let mut estimate = Estimate { folds: parts.len(), runs: runs.len() as u64, requests, ..Estimate::default() };
    for Part { out, others } in parts {
        let policy = policy_of(&learned(&others, settings)?)?;
        for run in out {
            let stopping = stopping(&policy, &settings.run, run);
            let Some(first) = stopping.first() else { continue };
            estimate.stopped += 1;
            let code = first.reasons.first().map_or("", |reason| reason.code.as_str());
            *estimate.causes.entry(format!("{}: {code}", first.tool)).or_default() += 1;
        }
    }
    estimate.interval = interval::interval(estimate.stopped, estimate.runs);
    Ok(Some(estimate))
}

fn freedom(learned: &Learned) -> Freedom {
    let mut freedom = Freedom::default();
    let is_source = |label: &&String| learned.sources.iter().any(|source| source.label == **label);
    for tool in &learned.tools {
        let only_reads = tool.only_reads();
        let is_free = tool.arguments.iter().all(|argument| argument.from.is_none());
        if only_reads && is_led_by_anything(tool, learned) {
            freedom.look_ups.push(tool.tool.clone());
        }
        if !only_reads && is_free {
            freedom.free_tools.push(tool.tool.clone());
        }
        for argument in &tool.arguments {
            let name = format!("{}.{}", tool.tool, argument.place);
            match &argument.from {
                None => freedom.steered.push(name),
                Some(from) => {
                    let sources: Vec<String> = from.iter().filter(is_source).cloned().collect();
                    if !sources.is_empty() {
                        freedom.choices.insert(name, sources);
                    }
                }
            }
        }
    }
    freedom
}

/// Whether a text can lead what a tool looks up: nothing asks where one of its arguments comes from.
fn is_led_by_anything(tool: &LearnedTool, learned: &Learned) -> bool {
    let is_anchored = learned.sources.iter().any(|source| source.tool == tool.tool && source.anchor.is_some());
    let is_held = |name: &String| {
        let about = |place: &str| place.split(['.', '[']).next() == Some(name.as_str());
        tool.arguments.iter().any(|argument| argument.from.is_some() && about(&argument.place))
    };
    !is_anchored && !tool.names.iter().all(is_held)
}

impl LearnedPolicy {
    /// What is said above the policy.
    fn heading(&self, name: &str) -> Vec<String> {
        let (calls, runs) = (counted(self.calls, "call"), counted(self.runs, "run"));
        let mut lines = vec![
            format!("Suggested by `proofmark policy suggest` from {calls} of {runs} in `{}`.", shown(name)),
            "It allows the tools that the runs used. After something was read that nobody vouches for, each argument".to_owned(),
            "that is not left open has to come from where it came from in the runs. Read it before you use it: the classes of tools are guessed.".to_owned(),
        ];
        lines.extend(self.summary());
        lines
    }

    /// What to expect of the policy, in sentences.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        let mut lines =
            vec![format!("It stops {} of the {} that it was learned from.", self.stopped, counted(self.runs, "run"))];
        let expected = [("runs like these", &self.of_runs), ("requests of other kinds", &self.of_requests)];
        for (what, estimate) in expected {
            let Some(Estimate { folds, runs, stopped, interval, .. }) = estimate else {
                lines.push(format!("Expected false blocks in {what}: unknown, there are too few to hold some out."));
                continue;
            };
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            let (share, [low, high]) = (percent(*stopped as f64 / (*runs).max(1) as f64), interval.map(percent));
            lines.push(format!("Expected false blocks in {what}: {share}, {low} to {high} (Clopper-Pearson, 95 %):"));
            lines.push(format!("  {stopped} of {} held out in {folds} parts.", counted(*runs, "run")));
        }
        let listed =
            |names: &[String]| names.iter().map(|name| format!("`{}`", shown(name))).collect::<Vec<_>>().join(", ");
        let Freedom { free_tools, steered, look_ups, choices } = &self.freedom;
        lines.push("A text that the agent reads can still:".to_owned());
        for (what, names) in [
            ("have these tools called at any time", free_tools),
            ("give any value of", steered),
            ("lead what is looked up by", look_ups),
        ] {
            if !names.is_empty() {
                lines.push(format!("  {what}: {}", listed(names)));
            }
        }
        for (argument, sources) in choices {
            lines.push(format!("  choose `{}` among the values of {}", shown(argument), listed(sources)));
        }
        lines.push("  ask for what the user asked for, with other values that the user named".to_owned());
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proofmark_boundary::{Learned, LearnedArgument, LearnedTool};

    use super::is_led_by_anything;

    #[test]
    fn one_free_argument_is_enough_to_lead_a_tool() {
        let tool = |held: &[&str]| LearnedTool {
            tool: "fetch".to_owned(),
            server: None,
            calls: 1,
            runs: 1,
            names: BTreeSet::from(["url".to_owned(), "query".to_owned()]),
            arguments: held
                .iter()
                .map(|place| LearnedArgument { place: (*place).to_owned(), from: Some(vec!["request".to_owned()]) })
                .collect(),
        };
        let learned = Learned { tools: Vec::new(), sources: Vec::new() };
        assert!(is_led_by_anything(&tool(&[]), &learned));
        assert!(is_led_by_anything(&tool(&["url"]), &learned));
        assert!(!is_led_by_anything(&tool(&["url", "query[*].text"]), &learned));
    }
}
