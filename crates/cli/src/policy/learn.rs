//! `proofmark policy suggest --runs`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use proofmark_decider::{Estimate, LearnSettings, LearnedPolicy, learn_policy, learning_runs};
use proofmark_receipt::{Json, Object, object};

use super::runs::{self, RunDetails};
use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::out;
use crate::paint::printable;

/// The most runs that a policy is learned from, and the most bytes of them: all are in memory.
const MAX_RUNS: usize = 20_000;
const MAX_RUN_BYTES: u64 = 512 << 20;
/// The most runs, counted once for each part: each is decided some hundred times for each part.
const MAX_RUNS_IN_PARTS: usize = 10_000;

/// Runs to learn from.
#[derive(Args)]
pub(super) struct Learn {
    /// Learn from these runs: a folder, with the folders in it, of .json and .jsonl files with one run each; or one such file
    #[arg(long, value_name = "DIR", conflicts_with_all = ["session", "store"])]
    runs: Option<PathBuf>,
    #[command(flatten)]
    details: RunDetails,
    /// How many of 100 runs the policy may stop; more restrictions are left out, the lower it is
    #[arg(long, value_name = "PERCENT", default_value_t = 5, value_parser = clap::value_parser!(u8).range(0..=100), requires = "runs")]
    risk: u8,
    /// Into how many parts the runs are divided, each of which is held out once
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u8).range(2..=50), requires = "runs")]
    folds: u8,
}

impl Learn {
    pub(super) fn run(&self, config: &Config, json: bool) -> anyhow::Result<Exit> {
        let Some(folder) = &self.runs else { return Ok(Exit::NoAnswer) };
        let name = folder.display().to_string();
        let trusted = config.known_signers()?.trusted(&[])?;
        let files = runs::files(folder)?;
        let size = |file: &std::path::PathBuf| {
            file.metadata().with_context(|| format!("read the size of `{}`", file.display())).map(|known| known.len())
        };
        let bytes: u64 = files.iter().map(size).sum::<anyhow::Result<u64>>()?;
        if files.len() > MAX_RUNS || bytes > MAX_RUN_BYTES {
            let message = format!(
                "learn from the runs in `{name}`: these are more than {MAX_RUNS} runs or {MAX_RUN_BYTES} bytes"
            );
            return Err(with_help(message, "name a folder with fewer"));
        }
        if files.len() * usize::from(self.folds) > MAX_RUNS_IN_PARTS {
            let message = format!(
                "learn from the runs in `{name}`: {} runs in {} parts are more than {MAX_RUNS_IN_PARTS}",
                files.len(),
                self.folds
            );
            return Err(with_help(message, "name a folder with fewer runs, or a smaller number with `--folds`"));
        }
        let traces = files.iter().map(|file| runs::read(file, trusted.signers())).collect::<anyhow::Result<_>>()?;
        let settings = LearnSettings {
            run: self.details.settings(),
            risk: f64::from(self.risk) / 100.0,
            folds: usize::from(self.folds),
        };
        let learned = learn_policy(&name, &learning_runs(traces), &settings)?;
        let mut out = out::stdout();
        if json {
            out.json(&Json::Object(as_json(&name, &learned)).to_text())?;
        } else {
            write!(out, "{}", learned.suggestion.text)?;
            drop(out);
            learned.summary().iter().for_each(|line| out::note(printable(line)));
        }
        Ok(if learned.stopped == 0 { Exit::Yes } else { Exit::No })
    }
}

fn as_json(name: &str, learned: &LearnedPolicy) -> Object {
    let texts = |texts: &[String]| texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>();
    let freedom = &learned.freedom;
    let mut choices = Object::new();
    for (argument, sources) in &freedom.choices {
        choices.insert(argument.as_str(), texts(sources));
    }
    object! {
        "learned_from": name,
        "runs": learned.runs,
        "calls": learned.calls,
        "stopped": learned.stopped,
        "policy": learned.suggestion.document.clone(),
        "yaml": learned.suggestion.text.as_str(),
        "left_open": texts(&learned.suggestion.left_open),
        "held_out_by_run"?: learned.of_runs.as_ref().map(estimate),
        "held_out_by_request"?: learned.of_requests.as_ref().map(estimate),
        "attacker_can": object! {
            "call_at_any_time": texts(&freedom.free_tools),
            "give_any_value_of": texts(&freedom.steered),
            "lead_look_ups_of": texts(&freedom.look_ups),
            "choose_among": choices,
        },
    }
}

fn estimate(estimate: &Estimate) -> Object {
    let mut causes = Object::new();
    for (cause, runs) in &estimate.causes {
        causes.insert(cause.as_str(), *runs);
    }
    // A document has no fractions: shares are texts.
    let share = |share: f64| format!("{share:.4}");
    let [low, high] = estimate.interval;
    object! {
        "folds": estimate.folds as u64,
        "requests": estimate.requests as u64,
        "runs": estimate.runs,
        "stopped": estimate.stopped,
        "share": share(estimate.stopped as f64 / estimate.runs.max(1) as f64),
        "interval": object! { "method": "Clopper-Pearson", "confidence": "0.95", "low": share(low), "high": share(high) },
        "causes": causes,
    }
}
