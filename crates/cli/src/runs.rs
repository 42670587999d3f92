//! `proofmark runs`.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use proofmark_contract::State;
use proofmark_receipt::{Json, Object, Receipt, Timestamp, object};
use proofmark_store::{ListedStep, StepRun, Tenant, TenantStore};
use proofmark_verifier::{chain_name, stored_state};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::printable;

/// List and show runs of workflow steps
#[derive(Subcommand)]
pub(crate) enum Runs {
    /// List the runs in the store, most recently changed first
    List(List),
    /// Show the steps of a run and the receipts of their attempts, oldest first
    Show(Show),
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark runs list")]
pub(crate) struct List {
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark runs show r1")]
pub(crate) struct Show {
    /// The run
    run: String,
    /// The tenant of the run: one of a server, or `local`, the command line
    #[arg(long, value_name = "NAME", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    #[command(flatten)]
    store: StoreAt,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

impl Runs {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Runs::List(command) => command.run(config),
            Runs::Show(command) => command.run(config),
        }
    }
}

impl List {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let mut rows: Vec<Row> = Vec::new();
        let mut exit = Exit::Yes;
        for listed in store.all_tenants_step_runs()? {
            let ListedStep { tenant, step, changed_at } = listed;
            let state = match stored_state(&step) {
                Ok(state) => state,
                Err(error) => {
                    // A state that cannot be read does not hide the other runs.
                    exit = out::report(&error.into());
                    continue;
                }
            };
            let workflow = workflow_of(&store.of(&tenant), &step)?;
            rows.push(Row { tenant, step, state, changed_at: Timestamp::from_unix_millis(changed_at), workflow });
        }
        let mut out = out::stdout();
        if self.json {
            rows.iter().try_for_each(|row| out.json(&Json::from(row.object(&[])).to_text()))?;
            return Ok(exit);
        }
        // Stable: the run that changed last comes first, and in it the step that changed last.
        let mut runs: Vec<(String, Vec<&Row>)> = Vec::new();
        for row in &rows {
            let name = row.run();
            match runs.iter_mut().find(|(run, _)| *run == name) {
                Some((_, steps)) => steps.push(row),
                None => runs.push((name, vec![row])),
            }
        }
        table(&mut out, &runs)?;
        Ok(exit)
    }
}

/// Writes runs, each with its steps below each other.
fn table(out: &mut impl Write, runs: &[(String, Vec<&Row>)]) -> io::Result<()> {
    let mut lines = vec![["CHANGED", "RUN", "WORKFLOW", "STEP", "STATE", "ATTEMPT"].map(str::to_owned)];
    for (run, steps) in runs {
        for (place, row) in steps.iter().enumerate() {
            let (run, workflow) = if place == 0 { (run.as_str(), row.workflow()) } else { ("", "") };
            let (changed, step) = (row.changed_at.to_string(), printable(&row.step.step));
            let (state, attempt) = (row.state.as_str().to_owned(), row.state.attempt().to_string());
            lines.push([changed, printable(run), printable(workflow), step, state, attempt]);
        }
    }
    let mut widths = [0; 6];
    for line in &lines {
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for line in &lines {
        let cells: Vec<_> = line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
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
                "list the runs with `proofmark runs list`",
            ));
        }
        // In the order in which they were first judged.
        steps.sort_by_key(|(_, receipts)| receipts.first().map(|receipt| receipt.verified_at().unix_millis()));
        let mut out = out::stdout();
        let mut shown = None;
        for (step, receipts) in steps {
            let state = stored_state(&step)?;
            // A state changes when its receipt is issued, so the last one has the time.
            let changed_at = receipts.last().map(|receipt| receipt.verified_at().clone());
            let workflow = receipts.first().and_then(|receipt| metadata(receipt, "workflow"));
            let changed_at = changed_at.unwrap_or_else(|| Timestamp::from_unix_millis(0));
            let row = Row { tenant: self.tenant.clone(), step, state, changed_at, workflow };
            if self.json {
                out.json(&Json::from(row.object(&receipts)).to_text())?;
                continue;
            }
            let (run, workflow) = (row.run(), row.workflow().to_owned());
            if shown.as_ref() != Some(&(run.clone(), workflow.clone())) {
                writeln!(out, "run {} of workflow {}", printable(&run), printable(&workflow))?;
                shown = Some((run, workflow));
            }
            row.print(&mut out, &receipts)?;
        }
        Ok(Exit::Yes)
    }
}

/// A step of a run.
struct Row {
    tenant: Tenant,
    step: StepRun,
    state: State,
    changed_at: Timestamp,
    /// The name of the workflow, where a receipt of the step is stored.
    workflow: Option<String>,
}

impl Row {
    /// What identifies the run: its name, and whose it is where it is not of the command line.
    fn run(&self) -> String {
        match self.tenant == Tenant::LOCAL {
            true => self.step.run.clone(),
            false => format!("{} of {}, begun by `{}`", self.step.run, self.tenant, self.step.begun_by),
        }
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
            "state": self.state.to_json(),
            "receipts": ids.collect::<Vec<_>>(),
        }
    }

    fn print(&self, out: &mut impl Write, receipts: &[Receipt]) -> io::Result<()> {
        let step = printable(&self.step.step);
        match &self.state {
            State::Retry(retry) => writeln!(out, "{step}: retry, attempt {} is awaited", retry.attempt)?,
            state => writeln!(out, "{step}: {}", state.as_str())?,
        }
        for (number, receipt) in (1..).zip(receipts) {
            let state = metadata(receipt, "state").unwrap_or_default();
            let (at, id) = (receipt.verified_at(), receipt.receipt_id());
            writeln!(out, "  {at}  attempt {number}: {:<8}  receipt {id}", printable(&state))?;
        }
        Ok(())
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
