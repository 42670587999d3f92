//! `proofmark run next`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use proofmark_contract::{
    AttemptEvidence, Contract, Due, Retry, RuleResult, State, Workflow, WorkflowPolicy, due, evaluate, response,
    reviewers,
};
use proofmark_evidence::Evidence;
use proofmark_receipt::{Json, Object, Timestamp, object};
use proofmark_store::{Store, Tenant};
use proofmark_verifier::{AwaitedApproval, Sender, StepSigners, due_in_run, now, now_in, stored_step};

use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::lint;
use crate::options::StoreAt;
use crate::out;
use crate::paint::{Paint, printable};

/// Say what is due in a run: the step, its attempt, what it has to prove, and the prompt for the agent
///
/// The steps are followed from the first one by their signed judgments. A run that nobody began is at the first step.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark run next r2 --workflow workflow.yaml
  proofmark run next r2 --workflow workflow.yaml --json

Exit codes: 0 an attempt is due; 1 the run has ended; 2 what is due is not known.")]
pub(crate) struct Next {
    /// The run
    run: String,
    /// The workflow that it follows, in YAML or JSON
    #[arg(long, value_name = "FILE")]
    workflow: PathBuf,
    /// The workflow policy, which the workflow must follow
    #[arg(long, value_name = "FILE")]
    workflow_policy: Option<PathBuf>,
    /// The tenant of the run: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    /// Who began the run, for that tenant: the id of an API key, or `local`
    #[arg(long, value_name = "ID", default_value = Sender::LOCAL.id)]
    begun_by: String,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// An attempt that is due.
struct Attempt<'a> {
    run: &'a str,
    contract: Contract,
    state: State,
    /// The text for the agent, where the workflow or the judgment before has one.
    prompt: Option<String>,
    rules: Vec<RuleResult>,
    /// The approval that it waits for.
    awaits: Option<AwaitedApproval>,
    now: Timestamp,
}

impl Next {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let policy = self.workflow_policy.as_deref().map(document::workflow_policy).transpose()?;
        let workflow = lint::sound_workflow(&self.workflow, policy.as_ref())?;
        // A run that nobody began needs no store.
        let store = self.store.open_if_there(config)?;
        let trusted = config.known_signers()?.trusted(&[])?;
        let reviewers = Some(reviewers(&workflow, policy.as_ref()));
        let signers = StepSigners { accepting: trusted.signers(), own: None, reviewers };
        let due = match &store {
            Some(store) => due_in_run(&store.of(&self.tenant), &self.begun_by, &self.run, &workflow, &signers)?,
            None => due(&workflow, |_| anyhow::Ok(None))?,
        };
        match due {
            Due::Attempt { step, state } => {
                let attempt = self.attempt(&workflow, policy.as_ref(), (&step, state), store.as_ref(), &signers)?;
                let mut out = out::stdout();
                if self.json {
                    out.json(&Json::from(attempt.object()).to_text())?;
                } else {
                    attempt.print(&mut out)?;
                }
                Ok(Exit::Yes)
            }
            Due::Ended(step) => self.ended("ended", &workflow, &step),
            Due::Aborted(step) => self.ended("aborted", &workflow, &step),
            Due::Unknown(step) => Err(with_help(
                format!(
                    "say what is due in run `{}`: what follows step `{step}` was not recorded, or is done already",
                    self.run
                ),
                "look at `next` in the result of its last attempt",
            )),
        }
    }

    fn ended(&self, word: &str, workflow: &Workflow, step: &str) -> anyhow::Result<Exit> {
        let mut out = out::stdout();
        if self.json {
            let object = object! { "run": self.run.as_str(), "workflow": workflow.name.as_str(), "due": false, "state": word, "step": step };
            out.json(&Json::from(object).to_text())?;
        } else {
            let said = if word == "ended" {
                "the workflow ended after step"
            } else {
                "the workflow ended without success at step"
            };
            writeln!(
                out,
                "run {} of workflow {}: {said} {}",
                printable(&self.run),
                printable(&workflow.name),
                printable(step)
            )?;
        }
        Ok(Exit::No)
    }

    fn attempt(
        &self,
        workflow: &Workflow,
        policy: Option<&WorkflowPolicy>,
        (step, state): (&str, State),
        store: Option<&Store>,
        signers: &StepSigners<'_>,
    ) -> anyhow::Result<Attempt<'_>> {
        let now = store.map_or_else(|| Ok(now()), now_in)?;
        let contract = Contract::of(workflow, step, policy, now.unix_millis()).map_err(|error| {
            with_help(format!("say what step `{step}` has to prove: {error}"), error.help().unwrap_or_default())
        })?;
        let prompt = match &state {
            State::Retry(Retry { contract: before, .. }) | State::AwaitingApproval { contract: before, .. }
                if *before != contract.digest() =>
            {
                return Err(with_help(
                    format!(
                        "say what is due in run `{}`: the contract of step `{step}` changed between attempts",
                        self.run
                    ),
                    "give the workflow and the policy that it began with, or start another run",
                ));
            }
            State::Retry(retry) => Some(retry.prompt.clone()),
            // The agent has answered: the same response comes again.
            State::AwaitingApproval { .. } => None,
            _ => workflow.step(step).and_then(|step| step.prompt.clone()),
        };
        // What an empty attempt misses is what the contract asks for.
        let (payload, receipts) = (response::extract(b""), Evidence::default());
        let nothing = AttemptEvidence { payload: &payload, trace: None, receipts: &receipts, now: &now, context: None };
        let rules = evaluate(&contract, &nothing).rules;
        let awaits = match (&state, store) {
            (State::AwaitingApproval { .. }, Some(store)) => {
                let stored = stored_step(&store.of(&self.tenant), &self.begun_by, &self.run, step, signers)?;
                stored.and_then(|stored| AwaitedApproval::read(stored.receipts.last()?))
            }
            _ => None,
        };
        Ok(Attempt { run: &self.run, contract, state, prompt, rules, awaits, now })
    }
}

impl Attempt<'_> {
    /// The earliest time of the attempt, where it is still to come.
    fn not_before(&self) -> Option<Timestamp> {
        match &self.state {
            State::Retry(retry) if retry.not_before_ms > self.now.unix_millis() => {
                Some(Timestamp::from_unix_millis(retry.not_before_ms))
            }
            _ => None,
        }
    }

    fn object(&self) -> Object {
        let rules =
            self.rules.iter().map(|rule| Json::from(object! { "id": rule.id.as_str(), "rule": rule.rule.as_str() }));
        object! {
            "run": self.run,
            "workflow": self.contract.workflow.as_str(),
            "due": true,
            "state": self.state.as_str(),
            "step": self.contract.step.as_str(),
            "attempt": u64::from(self.state.attempt()),
            "max_attempts": u64::from(self.contract.on_failure.max_attempts),
            "awaits"?: self.awaits.as_ref().map(AwaitedApproval::to_json),
            "not_before"?: self.not_before().map(|time| time.to_string()),
            "agent"?: self.contract.agent.as_deref(),
            "class": self.contract.class.as_str(),
            "contract_digest": self.contract.digest().to_string(),
            "rules": rules.collect::<Vec<_>>(),
            "prompt"?: self.prompt.as_deref(),
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        let (contract, paint) = (&self.contract, Paint::for_stdout());
        let (run, workflow, step) = (printable(self.run), printable(&contract.workflow), printable(&contract.step));
        let (attempt, most) = (self.state.attempt(), contract.on_failure.max_attempts);
        writeln!(out, "run {run} of workflow {workflow}: step {step}, attempt {attempt} of {most}")?;
        let when = self.not_before().map_or_else(String::new, |time| format!(", not before {time}"));
        match &self.awaits {
            Some(awaits) => writeln!(out, "  {}; then send the same response again", printable(&awaits.words()))?,
            None => writeln!(out, "  waits for   a response{when}")?,
        }
        if let Some(agent) = &contract.agent {
            writeln!(out, "  agent       {}", printable(agent))?;
        }
        writeln!(out, "  contract    {} ({})", contract.digest(), contract.class.as_str())?;
        for rule in &self.rules {
            writeln!(out, "    {}: {}", printable(&rule.id), printable(&rule.rule))?;
        }
        match (&self.prompt, &self.awaits) {
            (Some(prompt), _) => {
                writeln!(out, "  prompt:")?;
                prompt.lines().try_for_each(|line| writeln!(out, "    {}", printable(line)))
            }
            (None, Some(_)) => Ok(()),
            (None, None) => writeln!(out, "  {}", paint.dim("the workflow has no prompt for this step")),
        }
    }
}
