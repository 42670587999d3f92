//! `proofmark workflow accept`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::Args;
use proofmark_contract::response::MAX_RESPONSE_BYTES;
use proofmark_contract::{NextStep, Retry, RuleOutcome, RuleResult, State};
use proofmark_decider::Decider;
use proofmark_evidence::trace::{self, MAX_TRACE_BYTES};
use proofmark_keys::TrustedSigners;
use proofmark_receipt::Timestamp;
use proofmark_receipt::document::Format as Notation;
use proofmark_verifier::{AcceptError, Acceptance, Attempt, Issuer, Purpose, Sender, accept};

use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::lint;
use crate::options::{Signing, StoreAt, Trusting};
use crate::out;
use crate::paint::{Paint, printable};
use crate::presenting::Presenting;
use crate::report::{Case, Format, Formatting, Group, Human, Places, Reporter, Status, Style, of_receipt};
use crate::session;
use crate::source::{Fault, STDIN, Source, in_presented};

/// Check an agent's response to a workflow step against the step's contract
///
/// A step is accepted on evidence: fields of the result block, tool calls that the orchestrator recorded, and receipts.
/// Prose is never evidence. The result is a receipt, chained to those of the run's earlier attempts.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark workflow accept examples/accept/workflow.yaml --step implement --run r1 --response examples/accept/attempt1.md \
--trace examples/accept/trace1.json
  proofmark workflow accept examples/accept/workflow.yaml --step implement --run r1 --response examples/accept/attempt2.md \
--trace examples/accept/trace2.json --dry-run

Exit codes: 0 accepted; 1 not accepted: it waits for an approval, may be retried, or is aborted; 2 the attempt could not be judged, and none was used up.")]
pub(crate) struct Accept {
    /// The workflow, in YAML or JSON
    workflow: PathBuf,
    /// The step that the response answers
    #[arg(long, value_name = "ID")]
    step: String,
    /// The agent's complete response, or - for standard input
    #[arg(long, value_name = "FILE|-")]
    response: PathBuf,
    /// The recorded tool calls: a file in a format that is detected, `-`, `session:NAME` for what `proofmark guard` or
    /// `proofmark hook` recorded, or `none` if no call was made
    #[arg(long, value_name = "TRACE")]
    trace: Option<PathBuf>,
    /// Facts of the orchestrator, which conditions read as `context`: an object in JSON, or the name of a file with one, also after @
    #[arg(long, value_name = "JSON|FILE|-")]
    context: Option<String>,
    /// The run that this attempt belongs to [default: a new run]
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// The number of this attempt [default: the next one]
    #[arg(long, value_name = "N")]
    attempt: Option<u32>,
    /// The workflow policy, which the workflow must follow
    #[arg(long, value_name = "FILE")]
    workflow_policy: Option<PathBuf>,
    #[command(flatten)]
    presenting: Presenting,
    /// Judge without storing anything: no attempt is used up, and there is no receipt
    #[arg(long)]
    dry_run: bool,
    /// Refuse the attempt unless a step that leads to this one was accepted in the same run
    #[arg(long, requires = "run")]
    in_order: bool,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    store: StoreAt,
    #[command(flatten)]
    formatting: Formatting,
}

/// The word of `--trace` that states that no call was made, and the trace that this is.
const NO_CALLS: (&str, &[u8]) = ("none", b"[]");

impl Accept {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        self.one_standard_input()?;
        let policy = self.workflow_policy.as_deref().map(document::workflow_policy).transpose()?;
        let workflow = lint::sound_workflow(&self.workflow, policy.as_ref())?;
        let response = read(&self.response, MAX_RESPONSE_BYTES)?;
        let trace = self.trace(config)?;
        let context = self.context.as_deref().map(document::context).transpose()?;
        let evidence = self.presenting.read(&self.store, config)?;
        if let (Some(proof), None) = (evidence.proof(), &workflow.log_policy) {
            return Err(with_help(
                format!("use the proof `{proof}`: the workflow does not say which logs count"),
                "do not present it, or write `logPolicy` in the workflow and `logged: true` in a rule about receipts",
            ));
        }
        // After the documents are read: key and store are created on first use, and an invalid document creates none.
        let (issuer, decider, trusted) = self.issuer(config)?;
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
            presented: evidence.presented(),
            trusted: trusted.signers(),
            in_order: self.in_order,
            purpose: if self.dry_run { Purpose::DryRun } else { Purpose::Attempt },
            // Nothing sets it: an interrupt ends the process, and the attempt is one write of the store or none.
            stop: &AtomicBool::new(false),
        };
        let accepted = accept(&attempt, &issuer, decider.as_ref().map(|decider| decider as _))
            .map_err(|error| self.explain(error))?;
        match self.formatting.format() {
            Format::Human => self.print(&mut out::stdout(), &accepted)?,
            format => self.report(format, &accepted)?,
        }
        Ok(exit(&accepted.state))
    }

    /// Writes the rules as cases of the step.
    fn report(&self, format: Format, accepted: &Acceptance) -> anyhow::Result<()> {
        let places = Places { request: Some((self.workflow.clone(), 1)), ..Places::default() };
        let passes = exit(&accepted.state) == Exit::Yes;
        let json = vec![accepted.to_json().to_text()];
        let group = match &accepted.receipt {
            Some(receipt) => of_receipt(&self.step, receipt, &places),
            // A dry run.
            None => Group::of_cases(&self.step, accepted.judgment.rules.iter().map(case).collect()),
        };
        let group = Group { json, ..group };
        let mut reporter = Reporter::new(format, "workflow accept", Human::new(Style::Verdicts));
        reporter.group(group.with_result(accepted.state.as_str(), passes))?;
        reporter.finish()
    }

    /// The bytes of the trace, which can be read.
    fn trace(&self, config: &Config) -> anyhow::Result<Option<Vec<u8>>> {
        let Some(path) = self.trace.as_deref() else { return Ok(None) };
        // Those of this user record sessions, and those that are named.
        let (known, named) = (config.known_signers()?.trusted(&[])?, self.trusting.signers(config)?);
        let trusted = known.signers().clone().and(named.signers());
        match path.to_str().and_then(|path| path.strip_prefix("session:")) {
            Some(name) => session::trace(&self.store.open_existing(config)?, name, &trusted).map(Some),
            None => {
                let trace = trace(path)?;
                session::check_export(&trace, &trusted)?;
                Ok(Some(trace))
            }
        }
    }

    /// Refuses two inputs from standard input, of which the second would be empty.
    fn one_standard_input(&self) -> anyhow::Result<()> {
        let context = self.context.as_deref().map(document::context_file);
        let named = [Some(&*self.response), self.trace.as_deref(), context];
        match named.into_iter().flatten().filter(|path| **path == *Path::new("-")).count() {
            0 | 1 => Ok(()),
            _ => Err(with_help(
                "read standard input: two of `--response`, `--trace` and `--context` are `-`",
                "write one of them to a file",
            )),
        }
    }

    /// Where the receipt is issued, what asks people for approvals, and whose receipts count. A dry run creates neither key nor store.
    fn issuer(&self, config: &Config) -> anyhow::Result<(Issuer, Option<Decider>, TrustedSigners)> {
        let trusted = self.trusting.signers(config)?;
        let key = if self.dry_run { self.signing.existing_key(config)? } else { Some(self.signing.key(config)?) };
        let trusted = key.iter().fold(trusted, |trusted, key| trusted.with_own(key.signer()));
        let store = if self.dry_run { self.store.open_if_there(config)? } else { Some(self.store.open(config)?) };
        Ok(match (key, store) {
            (Some(key), Some(store)) => {
                let decider = Decider::for_command_line(None, key, store, trusted.clone());
                (decider.issuer(), Some(decider), trusted)
            }
            (key, store) => (Issuer::new(key, store), None, trusted),
        })
    }

    /// The error with the place in the file that it is about, or with the option that is missing.
    fn explain(&self, error: AcceptError) -> anyhow::Error {
        let help = match &error {
            AcceptError::Response(fault) => {
                let fault = Fault::whole(fault.code(), fault.to_string(), fault.help().unwrap_or_default());
                let label = named(&self.response);
                let source = Source { label: &label, line: 1, text: &[], format: Notation::Json };
                return source.error("read the response", fault);
            }
            AcceptError::NoTrace(_) => {
                "name them with `--trace`; `--trace none` states that no call was made".to_owned()
            }
            AcceptError::NoContext { name, .. } => {
                format!(
                    "give `{name}` with `--context`, as in `--context '{{\"{name}\": …}}'`, or in a file that it names"
                )
            }
            _ => return in_presented(error),
        };
        with_help(error.to_string(), help)
    }

    fn print(&self, out: &mut impl Write, accepted: &Acceptance) -> io::Result<()> {
        let paint = Paint::for_stdout();
        if self.dry_run {
            writeln!(out, "{}", paint.dim("dry run: no attempt is used up, and nothing is stored"))?;
        }
        let state = accepted.state.as_str();
        let painted = if exit(&accepted.state) == Exit::Yes { paint.good(state) } else { paint.bad(state) };
        let step = printable(&self.step);
        writeln!(out, "{painted} step {step}, attempt {} of run {}", accepted.attempt, accepted.run)?;
        // Without a name, the run is a new one for this step alone.
        if accepted.out_of_order && self.run.is_some() {
            writeln!(out, "  {} no step that leads to {step} was accepted in this run", paint.bad("warning:"))?;
        }
        if let Some(trace) = &accepted.trace {
            writeln!(out, "  trace {}", printable(trace))?;
        }
        for rule in &accepted.judgment.rules {
            let outcome = match rule.outcome {
                RuleOutcome::Met => paint.good(rule.outcome.as_str()),
                RuleOutcome::Unmet | RuleOutcome::Unknown => paint.bad(rule.outcome.as_str()),
            };
            let (id, message) = (printable(&rule.id), printable(&rule.message));
            writeln!(out, "  {outcome} {id} ({}): {message}", rule.status.as_str())?;
        }
        if let State::Retry(retry) = &accepted.state {
            writeln!(out, "  {}, with the prompt:", when(retry, &accepted.judged_at))?;
            retry.prompt.lines().try_for_each(|line| writeln!(out, "    {}", printable(line)))?;
        }
        if let Some(awaits) = &accepted.awaits {
            writeln!(out, "  {}", printable(&awaits.words()))?;
        }
        if let Some(next) = &accepted.next {
            writeln!(out, "  {}", printable(&follows(next)))?;
        }
        match &accepted.receipt {
            Some(receipt) => writeln!(out, "  {}", paint.dim(&format!("receipt {}", receipt.receipt_id()))),
            None => Ok(()),
        }
    }
}

/// A rule as a case of its step, as the receipt of the judgment has it.
fn case(rule: &RuleResult) -> Case {
    let status = match rule.outcome {
        RuleOutcome::Met => return Case::new(&rule.id, Status::Pass),
        RuleOutcome::Unmet => Status::Fail,
        RuleOutcome::Unknown => Status::Error,
    };
    Case { message: Some(rule.message.clone()), ..Case::new(&rule.id, status) }
}

/// When the next attempt may come.
fn when(retry: &Retry, now: &Timestamp) -> String {
    let wait = retry.not_before_ms.saturating_sub(now.unix_millis());
    let wait = match u64::try_from(wait) {
        Ok(0) | Err(_) => return format!("attempt {} may come", retry.attempt),
        Ok(millis) if millis % 1_000 == 0 => format!("{} s", millis / 1_000),
        Ok(millis) => format!("{millis} ms"),
    };
    format!("attempt {} may come after {wait} (at {})", retry.attempt, Timestamp::from_unix_millis(retry.not_before_ms))
}

/// What follows the step.
fn follows(next: &NextStep) -> String {
    match next {
        NextStep::Step(step) => format!("next: {step}"),
        NextStep::End => "the workflow ends here".to_owned(),
        NextStep::Abort => "the workflow ends without success".to_owned(),
        NextStep::Unknown(missing) if missing.is_empty() => "next: unknown, since no branch applies".to_owned(),
        NextStep::Unknown(missing) => {
            let missing: Vec<_> = missing.iter().map(ToString::to_string).collect();
            format!("next: unknown, since {}", missing.join(", "))
        }
    }
}

fn read(path: &Path, limit: usize) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") { input::read_stdin(limit as u64) } else { input::read_limited(path, limit as u64) }
}

/// What messages call a file or standard input.
fn named(path: &Path) -> String {
    if path == Path::new("-") { STDIN.to_owned() } else { path.display().to_string() }
}

/// The bytes of a trace that can be read. It is parsed again when it is judged; a broken one is refused before a key and a
/// store are created for it.
fn trace(path: &Path) -> anyhow::Result<Vec<u8>> {
    let (word, no_calls) = NO_CALLS;
    if path == Path::new(word) {
        return Ok(no_calls.to_vec());
    }
    let text = read(path, MAX_TRACE_BYTES)?;
    let label = named(path);
    let source = Source { label: &label, line: 1, text: &text, format: Notation::Json };
    trace::read(&text).map_err(|error| source.error("read the trace", &error))?;
    Ok(text)
}

fn exit(state: &State) -> Exit {
    match state {
        State::Accepted { .. } | State::AcceptedWithWarnings { .. } => Exit::Yes,
        State::AwaitingApproval { .. } | State::Retry(_) | State::Aborted { .. } => Exit::No,
        // An attempt that was judged is in neither state.
        State::Pending | State::Evaluating { .. } => Exit::NoAnswer,
    }
}
