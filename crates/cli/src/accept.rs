//! `proofmark accept`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::Args;
use proofmark_contract::response::MAX_RESPONSE_BYTES;
use proofmark_contract::{RuleOutcome, State};
use proofmark_evidence::trace::MAX_TRACE_BYTES;
use proofmark_receipt::Json;
use proofmark_verifier::{Acceptance, Attempt, Issuer, Sender, accept};

use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::options::{Signing, StoreAt, Trusting};
use crate::out;
use crate::paint::{Paint, printable};
use crate::report::{Format, Formatting, Group, Human, Places, Reporter, Style, of_receipt};

/// Check an agent's response to a workflow step against the step's contract
///
/// A step is accepted on evidence: fields of the result block, tool calls that the orchestrator recorded, and receipts.
/// Prose is never evidence. The result is a receipt, chained to those of the run's earlier attempts.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark accept examples/accept/workflow.yaml --step build --response response.md --trace trace.json --run r1
  proofmark accept workflow.yaml --step deploy --response - --receipts ./receipts --trust issuer.pem --json

Exit codes: 0 accepted; 1 rejected: retry or aborted; 2 the attempt could not be judged.")]
pub(crate) struct Accept {
    /// The workflow, in YAML or JSON
    workflow: PathBuf,
    /// The step that the response answers
    #[arg(long, value_name = "ID")]
    step: String,
    /// The agent's complete response, or - for standard input
    #[arg(long, value_name = "FILE|-")]
    response: PathBuf,
    /// The tool calls that the orchestrator recorded; their format is detected
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Facts of the orchestrator, as a JSON object: conditions read it as `context`
    #[arg(long, value_name = "FILE")]
    context: Option<PathBuf>,
    /// The run that this attempt belongs to [default: a new run]
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// The number of this attempt [default: the next one]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// The workflow policy, which the workflow must follow
    #[arg(long, alias = "policy", value_name = "FILE")]
    workflow_policy: Option<PathBuf>,
    /// Present the receipts in this folder of .json and .jsonl files as evidence
    #[arg(long, value_name = "DIR")]
    receipts: Option<PathBuf>,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    store: StoreAt,
    #[command(flatten)]
    formatting: Formatting,
}

impl Accept {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let workflow = document::workflow(&self.workflow)?;
        let policy = self.workflow_policy.as_deref().map(document::workflow_policy).transpose()?;
        let response = match self.response == Path::new("-") {
            true => input::read_stdin(MAX_RESPONSE_BYTES as u64)?,
            false => input::read_limited(&self.response, MAX_RESPONSE_BYTES as u64)?,
        };
        let limited = |path: &PathBuf| input::read_limited(path, MAX_TRACE_BYTES as u64);
        let trace = self.trace.as_ref().map(limited).transpose()?;
        let context = self.context.as_deref().map(context).transpose()?;
        let trusted = self.trusting.signers(config)?;
        // After the documents are read: key and store are created on first use, and an invalid document creates none.
        let key = self.signing.key(config)?;
        let trusted = trusted.with_own(key.signer());
        let store = self.store.open(config)?;
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
            trusted: trusted.signers(),
            // Nothing sets it: an interrupt ends the process, and the attempt is one write of the store or none.
            stop: &AtomicBool::new(false),
        };
        let accepted = accept(&attempt, &Issuer::new(Some(key), Some(store)))?;
        match self.formatting.format() {
            Format::Human => print(&mut out::stdout(), &self.step, &accepted)?,
            format => self.report(format, &accepted)?,
        }
        Ok(exit(&accepted.state))
    }
}

impl Accept {
    /// Writes the rules as cases of the step.
    fn report(&self, format: Format, accepted: &Acceptance) -> anyhow::Result<()> {
        let places = Places { request: Some((self.workflow.clone(), 1)), ..Places::default() };
        let passes = exit(&accepted.state) == Exit::Yes;
        let group = of_receipt(&self.step, &accepted.receipt, &places);
        let group = Group { json: vec![accepted.to_json().to_text()], ..group };
        let mut reporter = Reporter::new(format, "accept", Human::new(Style::Verdicts));
        reporter.group(group.with_result(accepted.state.as_str(), passes))?;
        reporter.finish()
    }
}

fn context(path: &Path) -> anyhow::Result<Json> {
    let bytes = input::read_limited(path, proofmark_receipt::json::MAX_BYTES as u64)?;
    let reading = || format!("read the context `{}`", path.display());
    let context = Json::parse(&bytes).with_context(reading)?;
    if context.as_object().is_none() {
        let found = format!("found {}", context.type_name());
        return Err(with_help(found, "write a JSON object")).with_context(reading);
    }
    // A number that conditions cannot represent would make all of the context unknown.
    proofmark_evidence::facts::value(&context).with_context(reading)?;
    Ok(context)
}

pub(crate) fn exit(state: &State) -> Exit {
    match state {
        State::Accepted { .. } | State::AcceptedWithWarnings { .. } => Exit::Yes,
        State::Retry(_) | State::Aborted { .. } => Exit::No,
        // An attempt that was judged is in neither state.
        State::Pending | State::Evaluating { .. } => Exit::NoAnswer,
    }
}

fn print(out: &mut impl Write, step: &str, accepted: &Acceptance) -> io::Result<()> {
    let paint = Paint::for_stdout();
    let state = accepted.state.as_str();
    let painted = if exit(&accepted.state) == Exit::Yes { paint.good(state) } else { paint.bad(state) };
    writeln!(out, "{painted} step {step}, attempt {} of run {}", accepted.attempt, accepted.run)?;
    if let Some(trace) = &accepted.trace {
        writeln!(out, "  trace {}", printable(trace))?;
    }
    for rule in &accepted.judgment.rules {
        let outcome = match rule.outcome {
            RuleOutcome::Met => paint.good(rule.outcome.as_str()),
            RuleOutcome::Unmet | RuleOutcome::Unknown => paint.bad(rule.outcome.as_str()),
        };
        writeln!(out, "  {outcome} {} ({}): {}", printable(&rule.id), rule.status.as_str(), printable(&rule.message))?;
    }
    match &accepted.state {
        State::Retry(retry) => {
            writeln!(out, "  attempt {} is next, with the prompt:", retry.attempt)?;
            retry.prompt.lines().try_for_each(|line| writeln!(out, "    {}", printable(line)))?;
        }
        State::Aborted { action, .. } => writeln!(out, "  the workflow continues with: {}", action.to_text())?,
        State::Pending | State::Evaluating { .. } | State::Accepted { .. } | State::AcceptedWithWarnings { .. } => {}
    }
    writeln!(out, "  {}", paint.dim(&format!("receipt {}", accepted.receipt.receipt_id())))
}
