//! `proofmark runs`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, Subcommand};
use proofmark_receipt::{Json, Object};
use proofmark_verifier::{StepRun, Tenant, chain_name, stored_state};

use crate::config::Config;
use crate::exit::{self, Exit};
use crate::out;
use crate::paint::tame;

/// List and show runs of workflow steps
#[derive(Subcommand)]
pub(crate) enum Runs {
    /// List the runs in the store, last changed first
    List(List),
    /// Show every step of a run and the receipts of its judgments
    Show(Show),
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark runs list")]
pub(crate) struct List {
    /// List this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

#[derive(Args)]
#[command(after_help = "Example:\n  proofmark runs show r1")]
pub(crate) struct Show {
    /// The run
    run: String,
    /// Of this tenant of a server
    #[arg(long, value_name = "NAME", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    /// Look in this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Print one JSON object a line
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
        let store = config.existing_store(self.store.as_deref())?;
        let mut out = out::stdout();
        let mut exit = Exit::Yes;
        for (tenant, run) in store.all_tenants_step_runs()? {
            // A state that cannot be read keeps nobody from seeing the others.
            if let Err(error) = line(&mut out, &tenant, &run, &[], self.json) {
                exit = exit::report(&error);
            }
        }
        Ok(exit)
    }
}

impl Show {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let store = config.existing_store(self.store.as_deref())?;
        let store = store.of(&self.tenant);
        let steps = store.step_runs(Some(&self.run))?;
        if steps.is_empty() {
            bail!(
                "show run `{}`: the store has none of that name; list what is there with `proofmark runs list`",
                self.run
            );
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
        let mut object = Object::new();
        object.insert("tenant", tenant.as_str());
        object.insert("run", run.run.as_str());
        object.insert("begun_by", run.begun_by.as_str());
        object.insert("step", run.step.as_str());
        object.insert("state", state.to_json());
        object.insert("receipts", receipts.iter().map(|id| Json::from(id.as_str())).collect::<Vec<_>>());
        writeln!(out, "{}", Json::from(object).to_text())?;
        return Ok(());
    }
    let whose = match *tenant == Tenant::LOCAL {
        true => String::new(),
        false => tame(&format!(" of {tenant}, begun by `{}`", run.begun_by)),
    };
    writeln!(out, "{} {} {}, attempt {}{whose}", run.run, run.step, state.as_str(), state.attempt())?;
    for id in receipts {
        writeln!(out, "  receipt {id}")?;
    }
    Ok(())
}
