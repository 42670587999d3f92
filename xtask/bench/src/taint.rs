//! The rules that label texts, held against recorded ones: goals of attacks, and what agents read and are told by users.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::Context;
use proofmark_boundary::taint;
use proofmark_receipt::Json;

use super::agentdojo::recorded::{self, Kind};

/// What the figures rest on.
const ASSUMPTIONS: &str = "\
Assumed:
  - Each text counts once, however often it was recorded, and is probed whole.
  - `injected`: the goal of an attack, word for word and without the wrapping attacks put around it.
  - Ordinary texts: results of tools in runs without an attack (of AgentDojo the first 600 characters), and what users ask.";

/// The most characters of a text that are printed.
const SHOWN: usize = 110;

pub(crate) fn run() -> anyhow::Result<()> {
    let folder = super::conformance()?.join("trajectories");
    let tasks = recorded::read(&folder.join("agentdojo.jsonl"))?;
    let of = |kind| tasks.iter().filter(move |task| task.kind == kind);
    let goals = |kind| of(kind).map(|task| task.goal.clone()).collect::<BTreeSet<String>>();
    let results = of(Kind::User).flat_map(|task| &task.calls).map(|call| call.result.clone()).collect();
    let airline = airline(&folder.join("tau-airline.jsonl"))?;
    let said = |role: &str| airline.get(role).cloned().unwrap_or_default();
    println!("{ASSUMPTIONS}\n");
    probe("injected: AgentDojo's goals of attacks", &goals(Kind::Injection), true);
    probe("ordinary: AgentDojo's results of tools", &results, false);
    probe("ordinary: AgentDojo's users", &goals(Kind::User), false);
    probe("ordinary: tau-bench airline's results of tools", &said("tool"), false);
    probe("ordinary: tau-bench airline's users", &said("user"), false);
    Ok(())
}

/// How many of the texts get each label, and which are judged wrongly.
fn probe(name: &str, texts: &BTreeSet<String>, injected: bool) {
    let mut hits: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for text in texts {
        let labels = taint::labels(text);
        for (label, rule) in &labels {
            *hits.entry(format!("{label} (first by `{rule}`)")).or_default() += 1;
        }
        if labels.is_empty() == injected {
            let rules: Vec<&str> = labels.iter().map(|(_, rule)| *rule).collect();
            wrong.push(format!(
                "{}{}",
                shown(text),
                if injected { String::new() } else { format!(" [{}]", rules.join(", ")) }
            ));
        }
    }
    let right = texts.len() - wrong.len();
    let labelled = if injected { right } else { wrong.len() };
    println!("{name}: {labelled} of {} have a label", texts.len());
    hits.iter().for_each(|(label, count)| println!("  {label}: {count}"));
    wrong.iter().for_each(|text| println!("  {}: {text}", if injected { "missed" } else { "false hit" }));
}

fn shown(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match flat.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", flat.get(..end).unwrap_or_default()),
        None => flat,
    }
}

/// What was said in the recorded runs, by role.
fn airline(path: &Path) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
    let text = fs::read_to_string(path).with_context(|| format!("failed to read `{}`", path.display()))?;
    let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines() {
        let run = Json::parse(line.as_bytes())?;
        let messages =
            run.as_object().and_then(|run| run.get("messages")?.as_array()).context("`messages` is missing")?;
        for message in messages.iter().filter_map(Json::as_object) {
            let member = |name: &str| message.get(name).and_then(Json::as_str);
            if let (Some(role), Some(content)) = (member("role"), member("content")) {
                said.entry(role.to_owned()).or_default().insert(content.to_owned());
            }
        }
    }
    Ok(said)
}
