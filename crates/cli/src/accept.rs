//! `proofmark accept`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow};
use clap::Args;
use proofmark_contract::response::MAX_RESPONSE_BYTES;
use proofmark_contract::{Outcome, State};
use proofmark_evidence::trace::MAX_TRACE_BYTES;
use proofmark_receipt::Json;
use proofmark_verifier::{Acceptance, Attempt, Issuer, Sender, Store, accept};

use crate::config::{self, Config};
use crate::document;
use crate::exit::Exit;
use crate::input;
use crate::out;
use crate::paint::{Paint, tame};

/// Judge an agent's response to a workflow step by the step's contract
///
/// The step is done when its evidence says so: fields of the result block, tool calls the orchestrator recorded, receipts.
/// Prose is never evidence. The judgment is a receipt, chained to those of the run's earlier attempts.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark accept examples/accept/workflow.yaml --step build --response response.md --trace trace.json --run r1
  proofmark accept workflow.yaml --step deploy --response - --receipts ./receipts --trust issuer.pem --json

Exit codes: 0 accepted; 1 rejected: retry or aborted; 2 nothing could be judged.")]
pub(crate) struct Accept {
    /// The workflow, in YAML or JSON
    workflow: PathBuf,
    /// The step that was worked on
    #[arg(long, value_name = "ID")]
    step: String,
    /// The agent's whole response, or - for standard input
    #[arg(long, value_name = "FILE|-")]
    response: PathBuf,
    /// The tool calls the orchestrator recorded; their form is detected
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// What the orchestrator knows, as a JSON object: conditions see it as `context`
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// The run this attempt belongs to; without it the judgment is a run of its own
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Which attempt this is [default: the one that is awaited]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// The policy the workflow must keep
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Receipts presented as evidence: a folder of .json and .jsonl files
    #[arg(long, value_name = "DIR")]
    receipts: Option<PathBuf>,
    /// Trust this signer: a signer id, or a public key file (PEM, JWK, JWK set)
    #[arg(long, value_name = "KEY")]
    trust: Vec<String>,
    /// Sign the judgment with this key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The passphrase of the key is in this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Keep runs and receipts in this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Accept {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let workflow = document::workflow(&self.workflow)?;
        let policy = self.policy.as_deref().map(document::policy).transpose()?;
        let response = match self.response == Path::new("-") {
            true => input::read_stdin(MAX_RESPONSE_BYTES as u64)?,
            false => input::read_limited(&self.response, MAX_RESPONSE_BYTES as u64)?,
        };
        let limited = |path: &PathBuf| input::read_limited(path, MAX_TRACE_BYTES as u64);
        let trace = self.trace.as_ref().map(limited).transpose()?;
        let context = self.context.as_deref().map(context).transpose()?;
        let trusted = config::trusted(&self.trust)?;
        let passphrase = config.passphrase(self.passphrase_file.as_deref())?;
        let key = config.signing_key(self.key.as_deref(), passphrase.as_ref())?;
        let store = Store::open(&config.store_path(self.store.as_deref()))?;
        let attempt = Attempt {
            workflow: &workflow,
            policy: policy.as_ref(),
            step: &self.step,
            sender: Sender::LOCAL,
            run: self.run.as_deref(),
            begun_by: None,
            number: self.attempt,
            response: &response,
            trace: trace.as_deref(),
            context: context.as_ref(),
            receipts: self.receipts.as_deref(),
            presented: &[],
            trusted: &trusted,
            stop: &AtomicBool::new(false),
        };
        let accepted = accept(&attempt, &Issuer::new(Some(key), Some(store)))?;
        let mut out = out::stdout();
        match self.json {
            true => writeln!(out, "{}", accepted.to_json().to_text())?,
            false => print(&mut out, &self.step, &accepted)?,
        }
        Ok(exit(&accepted.state))
    }
}

fn context(path: &Path) -> anyhow::Result<Json> {
    let bytes = input::read_limited(path, proofmark_receipt::json::MAX_BYTES as u64)?;
    let reading = || format!("read the context `{}`", path.display());
    let context = Json::parse(&bytes).with_context(reading)?;
    if context.as_object().is_none() {
        return Err(anyhow!("found {}; write an object", context.type_name())).with_context(reading);
    }
    // A number that conditions cannot hold would make all of the context unknown.
    proofmark_evidence::facts::value(&context).with_context(reading)?;
    Ok(context)
}

/// The exit code of a state.
pub(crate) fn exit(state: &State) -> Exit {
    match state {
        State::Accepted { .. } | State::AcceptedWithWarnings { .. } => Exit::Yes,
        State::Retry(_) | State::Aborted { .. } => Exit::No,
        State::Pending | State::Evaluating { .. } => Exit::NoAnswer,
    }
}

fn print(out: &mut impl Write, step: &str, accepted: &Acceptance) -> io::Result<()> {
    let paint = Paint::for_stdout();
    let state = accepted.state.as_str();
    let painted = if exit(&accepted.state) == Exit::Yes { paint.good(state) } else { paint.bad(state) };
    writeln!(out, "{painted} step {step}, attempt {} of run {}", accepted.attempt, accepted.run)?;
    if let Some(trace) = &accepted.trace {
        writeln!(out, "  trace {}", tame(trace))?;
    }
    for rule in &accepted.judgment.rules {
        let outcome = match rule.outcome {
            Outcome::Met => paint.good(rule.outcome.as_str()),
            Outcome::Unmet | Outcome::Unknown => paint.bad(rule.outcome.as_str()),
        };
        writeln!(out, "  {outcome} {} ({}): {}", tame(&rule.id), rule.status.as_str(), tame(&rule.message))?;
    }
    match &accepted.state {
        State::Retry(retry) => {
            writeln!(out, "  attempt {} may come; it is told:", retry.attempt)?;
            retry.prompt.lines().try_for_each(|line| writeln!(out, "    {}", tame(line)))?;
        }
        State::Aborted { action, .. } => writeln!(out, "  the workflow goes on with: {}", action.to_text())?,
        State::Pending | State::Evaluating { .. } | State::Accepted { .. } | State::AcceptedWithWarnings { .. } => {}
    }
    writeln!(out, "  {}", paint.faint(&format!("receipt {}", accepted.receipt.receipt_id())))
}
