//! Recorded airline agents (tau-bench) judged by contracts made of the actions their tasks expect.

use std::collections::BTreeMap;
use std::fs;

use anyhow::Context;
use proofmark_contract::{AttemptEvidence, AttemptOutcome, Contract, Judgment, Workflow, evaluate, response};
use proofmark_evidence::trace;
use proofmark_receipt::{Json, Object, Timestamp};

const MUTATING: [&str; 4] = ["book_*", "update_*", "cancel_*", "send_*"];
const READONLY: [&str; 6] = ["get_*", "search_*", "list_*", "calculate", "think", "transfer_to_human_agents"];

/// One recorded run.
struct Run {
    label: String,
    good: bool,
    expected: Vec<(String, Json)>,
    messages: Vec<u8>,
}

/// How a contract is made of the expected actions.
#[derive(Clone, Copy)]
enum Kind {
    /// Each expected tool was called.
    NamesOnly,
    /// Each expected call succeeded with exactly these arguments, and nothing else was changed.
    Whole,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let path = super::conformance()?.join("trajectories/tau-airline.jsonl");
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read `{}`", path.display()))?;
    let runs = text.lines().map(read).collect::<anyhow::Result<Vec<Run>>>()?;
    let good = runs.iter().filter(|run| run.good).count();
    println!("{} recorded runs: {good} good, {} failed", runs.len(), runs.len() - good);
    report("tool names only", &runs, Kind::NamesOnly, false)?;
    report("exact arguments, no other mutation", &runs, Kind::Whole, true)
}

fn report(name: &str, runs: &[Run], kind: Kind, explain: bool) -> anyhow::Result<()> {
    let (mut accepted_failed, mut rejected_good) = (0_usize, 0_usize);
    for run in runs {
        let judgment = judge(run, kind).with_context(|| format!("failed to judge the run {}", run.label))?;
        let accepted = judgment.outcome == AttemptOutcome::Accept;
        match (accepted, run.good) {
            (true, true) | (false, false) => continue,
            (true, false) => accepted_failed += 1,
            (false, true) => rejected_good += 1,
        }
        if explain {
            let why: Vec<&str> = judgment.failed().map(|rule| rule.message.as_str()).collect();
            let what = if accepted { "failed and was accepted" } else { "was good and was rejected" };
            println!(
                "  {} {what}: {}",
                run.label,
                if why.is_empty() { "every rule is met".to_owned() } else { why.join("; ") }
            );
        }
    }
    let good = runs.iter().filter(|run| run.good).count();
    let share = |count: usize, of: usize| 100.0 * count as f64 / of.max(1) as f64;
    println!(
        "{name}: {accepted_failed} failed runs accepted ({:.1} %), {rejected_good} good runs rejected ({:.1} %)",
        share(accepted_failed, runs.len() - good),
        share(rejected_good, good)
    );
    Ok(())
}

fn read(line: &str) -> anyhow::Result<Run> {
    let document = Json::parse_with(
        line.as_bytes(),
        proofmark_receipt::json::Limits { max_bytes: 16 << 20, max_depth: 64, ..Default::default() },
    )?;
    let object = document.as_object().context("the line is not an object")?;
    let get = |name: &str| object.get(name).with_context(|| format!("`{name}` is missing"));
    let actions = get("expected_actions")?.as_array().context("`expected_actions` is not an array")?;
    let action = |action: &Json| {
        let action = action.as_object()?;
        Some((action.get("name")?.as_str()?.to_owned(), action.get("kwargs")?.clone()))
    };
    Ok(Run {
        label: format!("task {} trial {}", get("task_id")?.to_text(), get("trial")?.to_text()),
        good: get("reward")?.as_number().and_then(|reward| reward.as_f64()).is_some_and(|reward| reward > 0.99),
        expected: actions.iter().map(action).collect::<Option<_>>().context("an action has no name or arguments")?,
        messages: get("messages")?.to_text().into_bytes(),
    })
}

fn judge(run: &Run, kind: Kind) -> anyhow::Result<Judgment> {
    let workflow = Workflow::read(&workflow(run, kind))?;
    let contract = Contract::of(&workflow, "task", None, 0)?;
    let payload = response::extract(b"{}");
    let trace = trace::read(&run.messages)?;
    let (receipts, now) = (proofmark_evidence::Evidence::default(), Timestamp::from_unix_millis(0));
    let evidence =
        AttemptEvidence { payload: &payload, trace: Some(&trace), receipts: &receipts, now: &now, context: None };
    Ok(evaluate(&contract, &evidence))
}

fn workflow(run: &Run, kind: Kind) -> Json {
    let mutating = run
        .expected
        .iter()
        .filter(|(name, _)| MUTATING.iter().any(|glob| name.starts_with(glob.trim_end_matches('*'))));
    let mut wanted: BTreeMap<String, (Json, u64)> = BTreeMap::new();
    for (name, arguments) in mutating {
        let key = match kind {
            Kind::NamesOnly => name.clone(),
            Kind::Whole => format!("{name}{}", arguments.to_text()),
        };
        wanted.entry(key).or_insert_with(|| (call(name, arguments, kind), 0)).1 += 1;
    }
    let mut calls: Vec<Json> = wanted.into_values().map(|(call, count)| counted(call, count, kind)).collect();
    let class = if calls.is_empty() { "readonly" } else { "mutating" };
    if calls.is_empty() {
        calls = MUTATING
            .iter()
            .map(|glob| object([("name", (*glob).into()), ("min", 0.into()), ("max", 0.into())]))
            .collect();
    }
    let verification = object([
        ("onMissingEvidence", "reject-and-abort".into()),
        ("toolCalls", calls.into()),
        ("noOtherMutations", matches!(kind, Kind::Whole).into()),
    ]);
    let globs = |globs: &[&str]| Json::from(globs.iter().map(|glob| Json::from(*glob)).collect::<Vec<_>>());
    object([
        ("name", "airline".into()),
        ("class", class.into()),
        ("tools", object([("mutating", globs(&MUTATING)), ("readonly", globs(&READONLY))])),
        ("steps", vec![object([("id", "task".into()), ("verification", verification)])].into()),
    ])
}

fn call(name: &str, arguments: &Json, kind: Kind) -> Json {
    match kind {
        Kind::NamesOnly => object([("name", name.into())]),
        Kind::Whole => object([("name", name.into()), ("exactArgs", arguments.clone())]),
    }
}

fn counted(call: Json, count: u64, kind: Kind) -> Json {
    match (call, kind) {
        (Json::Object(mut call), Kind::Whole) => {
            call.insert("min", count);
            call.insert("max", count);
            call.into()
        }
        (call, _) => call,
    }
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    let mut object = Object::new();
    for (name, value) in members {
        object.insert(name, value);
    }
    object.into()
}
