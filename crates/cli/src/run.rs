//! `proofmark run`.

mod next;
mod reopen;

use std::io::{self, Write};

use clap::{Args, Subcommand};
use proofmark_contract::State;
use proofmark_contract::reopening::reopened;
use proofmark_receipt::{Json, Object, Receipt, Timestamp, object};
use proofmark_store::{ListedStep, StepRun, Store, Tenant, TenantStore};
use proofmark_verifier::{AcceptError, AwaitedApproval, StepSigners, chain_name, signed_state};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::listing::Listing;
use crate::options::{OfTenant, Paging, Since, StoreAt};
use crate::out;
use crate::paint::printable;

/// The word for what a key has signed that is not trusted for it.
const UNTRUSTED: &str = "untrusted";

/// List and show runs of workflow steps, say what is due in them, and reopen steps
#[derive(Subcommand)]
pub(crate) enum Run {
    /// List the runs in the store, most recently changed first
    List(List),
    /// Show the steps of a run and the receipts of their attempts, oldest first
    Show(Show),
    /// Say what is due in a run: the step, its attempt, what it has to prove, and the prompt for the agent
    Next(next::Next),
    /// Reopen a step of a run that was aborted, as a reviewer: one more attempt may follow
    Reopen(reopen::Reopen),
}

#[derive(Args)]
#[command(after_help = "Examples:\n  proofmark run list\n  proofmark run list --since 2h --json")]
pub(crate) struct List {
    #[command(flatten)]
    since: Since,
    #[command(flatten)]
    of: OfTenant,
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark run show r1")]
pub(crate) struct Show {
    /// The run
    run: String,
    /// The tenant of the run: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Run {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Run::List(command) => command.run(config),
            Run::Show(command) => command.run(config),
            Run::Next(command) => command.run(config),
            Run::Reopen(command) => command.run(config),
        }
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let mut page = match &self.of.tenant {
            Some(tenant) => store.of(tenant).runs(self.paging.limit, self.paging.after)?,
            None => store.all_tenants_runs(self.paging.limit, self.paging.after)?,
        };
        let trusted = config.known_signers()?.trusted(&[])?;
        let signers = StepSigners::without_workflow(trusted.signers(), None);
        let since = self.since.from.unwrap_or(i64::MIN);
        // Those that changed last come first, so the rest is older still.
        if let Some(older) = page.runs.iter().position(|run| run.iter().all(|step| step.changed_at < since)) {
            page.runs.truncate(older);
            page.next = None;
        }
        let mut exit = Exit::Yes;
        let mut runs = Vec::new();
        for run in page.runs {
            let mut rows = Vec::new();
            for step in run {
                match Row::of(step, &store, &signers)? {
                    // A state that cannot be read does not hide the others.
                    Err(error) => exit = out::report(&error.into()),
                    Ok(row) => {
                        exit = exit.max(row.exit());
                        rows.push(row);
                    }
                }
            }
            runs.push(rows);
        }
        if self.json {
            let mut out = out::stdout();
            let mut rows = runs.iter().flatten();
            rows.try_for_each(|row| out.json(&Json::from(row.object(&[])).to_text()))?;
        } else {
            listing(&runs).print("no runs: `proofmark workflow accept` begins them")?;
        }
        if let Some(next) = page.next {
            Paging::say_more(next);
        }
        Ok(exit)
    }
}

/// Runs, each with its steps below each other.
fn listing(runs: &[Vec<Row>]) -> Listing<6> {
    let mut listing = Listing::new(["CHANGED", "RUN", "WORKFLOW", "STEP", "STATE", "ATTEMPT"]);
    for rows in runs {
        for (place, row) in rows.iter().enumerate() {
            let (run, workflow) = if place == 0 { (row.run(), row.workflow()) } else { (String::new(), "") };
            listing.push([
                row.changed_at.as_str().into(),
                run.into(),
                workflow.into(),
                row.step.step.as_str().into(),
                row.state.as_ref().map_or(UNTRUSTED, State::as_str).into(),
                row.state.as_ref().map_or_else(|| "-".to_owned(), |state| state.attempt().to_string()).into(),
            ]);
        }
    }
    listing
}

impl Show {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let store = store.of(&self.tenant);
        let mut steps = Vec::new();
        for step in store.step_runs(&self.run)? {
            let receipts = store.chain(&chain_name(&step.begun_by, &step.run, &step.step))?;
            steps.push((step, receipts));
        }
        if steps.is_empty() {
            return Err(with_help(
                format!("show run `{}`: no run in the store has this name", self.run),
                "list the runs with `proofmark run list`",
            ));
        }
        // In the order in which they were first judged.
        steps.sort_by_key(|(_, receipts)| receipts.first().map(|receipt| receipt.verified_at().unix_millis()));
        let trusted = config.known_signers()?.trusted(&[])?;
        let signers = StepSigners::without_workflow(trusted.signers(), None);
        let (mut out, mut exit) = (out::stdout(), Exit::Yes);
        let mut shown = None;
        for (step, receipts) in steps {
            let state = trusted_state(signed_state(&step, &receipts, &signers))?;
            // A state changes when its receipt is issued, so the last one has the time.
            let changed_at = receipts.last().map(|receipt| receipt.verified_at().clone());
            let workflow = receipts.first().and_then(|receipt| metadata(receipt, "workflow"));
            let changed_at = changed_at.unwrap_or_else(|| Timestamp::from_unix_millis(0));
            let row = Row { tenant: self.tenant.clone(), step, state, changed_at, workflow };
            exit = exit.max(row.exit());
            if self.json {
                out.json(&Json::from(row.object(&receipts)).to_text())?;
                continue;
            }
            let (run, workflow) = (row.run(), row.workflow().to_owned());
            if shown.as_ref() != Some(&(run.clone(), workflow.clone())) {
                writeln!(out, "run {} of workflow {}", printable(&run), printable(&workflow))?;
                shown = Some((run, workflow));
            }
            row.print(&mut out, &receipts, &signers)?;
        }
        Ok(exit)
    }
}

/// A step of a run.
struct Row {
    tenant: Tenant,
    step: StepRun,
    /// `None` if the key that signed it is not trusted for that.
    state: Option<State>,
    changed_at: Timestamp,
    /// The name of the workflow, where a receipt of the step is stored.
    workflow: Option<String>,
}

impl Row {
    /// The row of a stored step, or why its state cannot be read.
    fn of(listed: ListedStep, store: &Store, signers: &StepSigners<'_>) -> anyhow::Result<Result<Row, AcceptError>> {
        let ListedStep { tenant, step, changed_at } = listed;
        let receipts = store.of(&tenant).chain(&chain_name(&step.begun_by, &step.run, &step.step))?;
        let state = match trusted_state(signed_state(&step, &receipts, signers)) {
            Ok(state) => state,
            Err(error) => return Ok(Err(error)),
        };
        let workflow = workflow_of(&store.of(&tenant), &step)?;
        Ok(Ok(Row { tenant, step, state, changed_at: Timestamp::from_unix_millis(changed_at), workflow }))
    }

    /// What a command answers that shows it.
    fn exit(&self) -> Exit {
        if self.state.is_some() { Exit::Yes } else { Exit::No }
    }

    /// What identifies the run: its name, and whose it is where it is not of the command line.
    fn run(&self) -> String {
        if self.tenant == Tenant::LOCAL {
            return self.step.run.clone();
        }
        format!("{} of {}, begun by `{}`", self.step.run, self.tenant, self.step.begun_by)
    }

    fn workflow(&self) -> &str {
        self.workflow.as_deref().unwrap_or("-")
    }

    fn object(&self, receipts: &[Receipt]) -> Object {
        let ids = receipts.iter().map(|receipt| Json::from(receipt.receipt_id().to_string()));
        object! {
            "tenant": self.tenant.as_str(),
            "run": self.step.run.as_str(),
            "begun_by": self.step.begun_by.as_str(),
            "workflow"?: self.workflow.as_deref(),
            "step": self.step.step.as_str(),
            "changed_at": self.changed_at.to_string(),
            "state"?: self.state.as_ref().map(State::to_json),
            "untrusted"?: self.state.is_none().then_some(true),
            "receipts": ids.collect::<Vec<_>>(),
        }
    }

    fn print(&self, out: &mut impl Write, receipts: &[Receipt], signers: &StepSigners<'_>) -> io::Result<()> {
        let step = printable(&self.step.step);
        let Some(state) = &self.state else {
            writeln!(
                out,
                "{step}: {UNTRUSTED}, its state is signed by a key that is not trusted to accept or reopen it"
            )?;
            return self.print_receipts(out, receipts, signers);
        };
        match state {
            State::Retry(retry) => writeln!(out, "{step}: retry, attempt {} is awaited", retry.attempt)?,
            State::AwaitingApproval { attempt, .. } => {
                let awaited = receipts.last().and_then(AwaitedApproval::read).unwrap_or_default();
                writeln!(out, "{step}: attempt {attempt} {}", printable(&awaited.words()))?;
            }
            state => writeln!(out, "{step}: {}", state.as_str())?,
        }
        self.print_receipts(out, receipts, signers)?;
        if let State::Retry(retry) = state {
            writeln!(out, "  the prompt of attempt {}:", retry.attempt)?;
            retry.prompt.lines().try_for_each(|line| writeln!(out, "    {}", printable(line)))?;
        }
        Ok(())
    }

    fn print_receipts(&self, out: &mut impl Write, receipts: &[Receipt], signers: &StepSigners<'_>) -> io::Result<()> {
        for receipt in receipts {
            let (at, id) = (receipt.verified_at(), receipt.receipt_id());
            let trust = if signers.count(receipt) { String::new() } else { format!("  {UNTRUSTED}") };
            if let Some((reviewer, note)) = reopened(receipt) {
                let (reviewer, note) = (printable(reviewer), printable(note));
                writeln!(out, "  {at}  reopened by {reviewer}: {note}  receipt {id}{trust}")?;
                continue;
            }
            // Of one attempt there are several where it waited for an approval.
            let number = receipt.metadata().get("attempt").map(Json::to_text).unwrap_or_default();
            let (number, state) = (printable(&number), metadata(receipt, "state").unwrap_or_default());
            writeln!(out, "  {at}  attempt {number}: {:<8}  receipt {id}{trust}", printable(&state))?;
        }
        Ok(())
    }
}

/// The state; `None` if the key that signed it is not trusted for that.
fn trusted_state(state: Result<State, AcceptError>) -> Result<Option<State>, AcceptError> {
    match state {
        Ok(state) => Ok(Some(state)),
        Err(AcceptError::OtherSigner { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The workflow that a step was judged by.
fn workflow_of(store: &TenantStore<'_>, step: &StepRun) -> anyhow::Result<Option<String>> {
    let first = store.chain_from(&chain_name(&step.begun_by, &step.run, &step.step), 0, 1)?;
    Ok(first.first().and_then(|receipt| metadata(receipt, "workflow")))
}

fn metadata(receipt: &Receipt, name: &str) -> Option<String> {
    receipt.metadata().get(name)?.as_str().map(str::to_owned)
}
