//! `proofmark policy replay`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use proofmark_decider::{Found, ReplayedRun, RunCall, RunRuling, replay_run};
use proofmark_evidence::trace::Trace;
use proofmark_receipt::document::counted;
use proofmark_receipt::{Json, Object, object};

use super::runs::{self, RunDetails};
use crate::config::Config;
use crate::document;
use crate::exit::Exit;
use crate::out;
use crate::paint::{Paint, printable};
use crate::policy_option;

/// Decide what recorded runs did by a policy, call by call
///
/// Every call of a run is decided on what a guard would have known: the calls before it and what they brought, signs of steering, what
/// the user asked for, and where each argument comes from. Nobody approves and no receipt is presented. Limits count each run for
/// itself. Nothing is executed or stored.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark policy replay --policy examples/runs/policy.yaml --runs examples/runs/good
  proofmark policy replay --policy examples/runs/policy.yaml --runs examples/runs/attacked --json

Exit codes: 0 every call is allowed; 1 a call is held or blocked; 2 a run could not be read.")]
pub(crate) struct Replay {
    /// The action policy [default: $PROOFMARK_POLICY, else `policy` in the proofmark.yaml of the current folder]
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Runs: a folder, with the folders in it, of .json and .jsonl files with one run each; or one such file
    #[arg(long, value_name = "DIR")]
    runs: PathBuf,
    #[command(flatten)]
    details: RunDetails,
    /// Show the calls that are allowed, too
    #[arg(short, long)]
    verbose: bool,
    /// Print one JSON object for each run, and one for all
    #[arg(long)]
    json: bool,
}

/// What became of all runs.
#[derive(Default)]
struct Totals {
    runs: u64,
    stopped: u64,
    unreadable: u64,
    /// Runs with calls whose record does not say what the user asked for.
    without_request: u64,
    calls: BTreeMap<RunRuling, u64>,
    /// The calls that are not allowed, by ruling, tool and the code of the reason.
    causes: BTreeMap<(RunRuling, String, String), u64>,
    micros: u64,
}

impl Replay {
    pub(super) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let path = policy_option::required(self.policy.clone(), "--policy FILE", config)?;
        let policy = document::action_policy(&path)?;
        let trusted = config.known_signers()?.trusted(&[])?;
        let settings = self.details.settings();
        let mut totals = Totals::default();
        for path in runs::files(&self.runs)? {
            let trace = match runs::read(&path, trusted.signers()) {
                Ok(trace) => trace,
                Err(error) => {
                    // The other runs are decided all the same, and the exit code says that one is missing.
                    out::report(&error);
                    totals.unreadable += 1;
                    continue;
                }
            };
            let replayed = replay_run(&policy, &settings, &trace);
            totals.add(&replayed);
            let mut out = out::stdout();
            if self.json {
                out.json(&as_json(&path, &trace, &replayed).to_text())?;
            } else {
                self.write(&mut out, &path, &trace, &replayed)?;
            }
        }
        let mut out = out::stdout();
        if self.json {
            out.json(&totals.as_json().to_text())?;
        } else {
            totals.write(&mut out)?;
            if totals.without_request > 0 && policy.asks_for_origins() {
                let runs = counted(totals.without_request, "run");
                out::note(format_args!(
                    "{runs}: the record does not say what the user asked for, so nothing comes from the request"
                ));
            }
        }
        Ok(match (totals.unreadable, totals.not_allowed()) {
            (0, 0) => Exit::Yes,
            (0, _) => Exit::No,
            (_, _) => Exit::NoAnswer,
        })
    }

    fn write(&self, out: &mut impl Write, path: &Path, trace: &Trace, run: &ReplayedRun) -> anyhow::Result<()> {
        let paint = Paint::for_stdout();
        let stopped = match run.stopped_at() {
            Some(number) => paint.bad(&format!("stopped at call {number}")),
            None => paint.good("not stopped"),
        };
        let (calls, form) = (counted(run.calls.len() as u64, "call"), trace.form.as_str());
        let counts = |ruling: RunRuling| format!("{} {}", run.count(ruling), ruling.as_str());
        let counts = [RunRuling::Allowed, RunRuling::Held, RunRuling::Blocked].map(counts).join(", ");
        writeln!(out, "{} ({form}): {calls}: {counts}; {stopped}", printable(&path.display().to_string()))?;
        for call in run.calls.iter().filter(|call| self.verbose || call.ruling != RunRuling::Allowed) {
            let why = call.reasons.first().map_or_else(String::new, |reason| {
                let detail = reason.detail.as_deref().unwrap_or(&reason.message);
                format!(": {}: {}", printable(&reason.code), printable(detail))
            });
            writeln!(out, "  {:>4} {} {}{why}", call.number, call.ruling.as_str(), printable(&call.tool))?;
            for found in &call.found {
                let places = found.calls.iter().map(|call| format!("call {} ({})", call.number, printable(&call.tool)));
                let places = places.collect::<Vec<_>>().join(", ");
                writeln!(out, "       `{}` stands within what came from {places}", printable(&found.at))?;
            }
        }
        Ok(())
    }
}

impl Totals {
    fn add(&mut self, run: &ReplayedRun) {
        self.runs += 1;
        self.stopped += u64::from(run.stopped_at().is_some());
        self.without_request += u64::from(run.requests == 0 && !run.calls.is_empty());
        for call in &run.calls {
            *self.calls.entry(call.ruling).or_default() += 1;
            self.micros = self.micros.saturating_add(call.micros);
            if let Some(reason) = call.reasons.first() {
                let cause = (call.ruling, call.tool.clone(), reason.code.clone());
                *self.causes.entry(cause).or_default() += 1;
            }
        }
    }

    fn count(&self, ruling: RunRuling) -> u64 {
        self.calls.get(&ruling).copied().unwrap_or(0)
    }

    fn all_calls(&self) -> u64 {
        self.calls.values().sum()
    }

    fn not_allowed(&self) -> u64 {
        self.count(RunRuling::Held) + self.count(RunRuling::Blocked)
    }

    fn micros_per_call(&self) -> u64 {
        self.micros / self.all_calls().max(1)
    }

    fn write(&self, out: &mut impl Write) -> anyhow::Result<()> {
        let (runs, calls) = (counted(self.runs, "run"), counted(self.all_calls(), "call"));
        let counts = |ruling: RunRuling| format!("{} {}", self.count(ruling), ruling.as_str());
        let counts = [RunRuling::Allowed, RunRuling::Held, RunRuling::Blocked].map(counts).join(", ");
        writeln!(out, "{runs}, {} stopped; {calls}: {counts}", self.stopped)?;
        for ((ruling, tool, code), count) in &self.causes {
            writeln!(out, "  {count:>6}  {} {}: {}", ruling.as_str(), printable(tool), printable(code))?;
        }
        writeln!(out, "{} µs a call, measured here", self.micros_per_call())?;
        if self.unreadable > 0 {
            writeln!(out, "{} could not be read", counted(self.unreadable, "run"))?;
        }
        Ok(())
    }

    fn as_json(&self) -> Json {
        let causes = self.causes.iter().map(|((ruling, tool, code), count)| {
            object! { "ruling": ruling.as_str(), "tool": tool.as_str(), "code": code.as_str(), "calls": *count }.into()
        });
        object! { "total": object! {
            "runs": self.runs,
            "stopped": self.stopped,
            "unreadable": self.unreadable,
            "without_request": self.without_request,
            "calls": self.all_calls(),
            "allowed": self.count(RunRuling::Allowed),
            "held": self.count(RunRuling::Held),
            "blocked": self.count(RunRuling::Blocked),
            "causes": causes.collect::<Vec<Json>>(),
            "measured_micros_per_call": self.micros_per_call(),
        } }
        .into()
    }
}

fn as_json(path: &Path, trace: &Trace, run: &ReplayedRun) -> Json {
    object! {
        "run": path.display().to_string(),
        "form": trace.form.as_str(),
        "requests": run.requests as u64,
        "allowed": run.count(RunRuling::Allowed),
        "held": run.count(RunRuling::Held),
        "blocked": run.count(RunRuling::Blocked),
        "stopped_at"?: run.stopped_at().map(|number| number as u64),
        "calls": run.calls.iter().map(|call| Json::Object(call_as_json(call))).collect::<Vec<_>>(),
    }
    .into()
}

fn call_as_json(call: &RunCall) -> Object {
    let reasons = call.reasons.iter().map(|reason| {
        Json::from(object! {
            "code": reason.code.as_str(),
            "message": reason.message.as_str(),
            "rule"?: reason.rule.as_deref(),
            "detail"?: reason.detail.as_deref(),
        })
    });
    object! {
        "call": call.number as u64,
        "tool": call.tool.as_str(),
        "server"?: call.server.as_deref(),
        "ruling": call.ruling.as_str(),
        "reasons": reasons.collect::<Vec<_>>(),
        "origins": call.origins.clone(),
        "found": call.found.iter().map(found_as_json).collect::<Vec<_>>(),
        "measured_micros": call.micros,
    }
}

fn found_as_json(found: &Found) -> Json {
    let calls =
        found.calls.iter().map(|call| object! { "call": call.number as u64, "tool": call.tool.as_str() }.into());
    object! { "at": found.at.as_str(), "calls": calls.collect::<Vec<Json>>() }.into()
}
