//! `proofmark runs`.

use std::io::Write;

use clap::{Args, Subcommand};
use proofmark_receipt::{Json, object};
use proofmark_verifier::{StepRun, Tenant, chain_name, stored_state};

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
    /// Show every step of a run, and its receipts
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
        let mut out = out::stdout();
        let mut exit = Exit::Yes;
        for (tenant, run) in store.all_tenants_step_runs()? {
            // A state that cannot be read does not hide the other runs.
            if let Err(error) = line(&mut out, &tenant, &run, &[], self.json) {
                exit = out::report(&error);
            }
        }
        Ok(exit)
    }
}

impl Show {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = self.store.open_existing(config)?;
        let store = store.of(&self.tenant);
        let steps = store.step_runs(Some(&self.run))?;
        if steps.is_empty() {
            return Err(with_help(
                format!("show run `{}`: no run in the store has this name", self.run),
                "list the runs with `proofmark runs list`",
            ));
        }
        let mut out = out::stdout();
        for step in steps {
            let receipts = store.chain(&chain_name(&step.begun_by, &step.run, &step.step))?;
            let ids: Vec<String> = receipts.iter().map(|receipt| receipt.receipt_id().to_string()).collect();
            line(&mut out, &self.tenant, &step, &ids, self.json)?;
        }
        Ok(Exit::Yes)
    }
}

fn line(out: &mut impl Write, tenant: &Tenant, run: &StepRun, receipts: &[String], json: bool) -> anyhow::Result<()> {
    let state = stored_state(run)?;
    if json {
        let object = object! {
            "tenant": tenant.as_str(),
            "run": run.run.as_str(),
            "begun_by": run.begun_by.as_str(),
            "step": run.step.as_str(),
            "state": state.to_json(),
            "receipts": receipts.iter().map(|id| Json::from(id.as_str())).collect::<Vec<_>>(),
        };
        writeln!(out, "{}", Json::from(object).to_text())?;
        return Ok(());
    }
    let owner = match *tenant == Tenant::LOCAL {
        true => String::new(),
        false => printable(&format!(" of {tenant}, begun by `{}`", run.begun_by)),
    };
    writeln!(out, "{} {} {}, attempt {}{owner}", run.run, run.step, state.as_str(), state.attempt())?;
    for id in receipts {
        writeln!(out, "  receipt {id}")?;
    }
    Ok(())
}
