//! `proofmark run reopen`.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use proofmark_receipt::{Json, Status, object};
use proofmark_store::Tenant;
use proofmark_verifier::{Issuer, Reopen as ReopenedStep, Reopenable, Sender};

use crate::config::Config;
use crate::confirm::confirm;
use crate::document;
use crate::exit::Exit;
use crate::lint;
use crate::options::{StoreAt, Unlock};
use crate::out;
use crate::paint::printable;

/// Reopen a step of a run that was aborted, as a reviewer: one more attempt may follow
///
/// The workflow or its policy lists who may, under `reviewers`. The last attempt is printed first, on standard error, and on a
/// terminal you are asked; elsewhere `--yes` is needed. The note is signed with the reviewer's key, into the chain of the step.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark run reopen r1 --step implement --workflow workflow.yaml --key reviewer --note \"the browser was down\" --yes

Exit codes: 0 reopened; 1 not confirmed; 2 it cannot be reopened, or not by this key.")]
pub(crate) struct Reopen {
    /// The run
    run: String,
    /// The step that was aborted
    #[arg(long, value_name = "ID")]
    step: String,
    /// The workflow that the run follows, in YAML or JSON
    #[arg(long, value_name = "FILE")]
    workflow: PathBuf,
    /// The workflow policy, which the workflow must follow
    #[arg(long, value_name = "FILE")]
    workflow_policy: Option<PathBuf>,
    /// The reviewer's key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: String,
    /// The reason, which the agent reads at its next attempt
    #[arg(long, value_name = "TEXT")]
    note: String,
    /// Print the last attempt, and do not ask
    #[arg(short, long)]
    yes: bool,
    /// The tenant of the run: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    /// Who began the run, for that tenant: the id of an API key, or `local`
    #[arg(long, value_name = "ID", default_value = Sender::LOCAL.id)]
    begun_by: String,
    #[command(flatten)]
    unlock: Unlock,
    #[command(flatten)]
    store: StoreAt,
    /// Print the state and the receipt as JSON
    #[arg(long)]
    json: bool,
}

impl Reopen {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let policy = self.workflow_policy.as_deref().map(document::workflow_policy).transpose()?;
        let workflow = lint::sound_workflow(&self.workflow, policy.as_ref())?;
        let store = self.store.open_existing(config)?;
        let key = self.unlock.load(config, &self.key)?;
        let signer = key.signer();
        let issuer = Issuer::new(Some(key), Some(store));
        let trusted = config.known_signers()?.trusted(&[])?;
        let reopen = ReopenedStep {
            trusted: trusted.signers(),
            workflow: &workflow,
            policy: policy.as_ref(),
            tenant: &self.tenant,
            begun_by: &self.begun_by,
            run: &self.run,
            step: &self.step,
        };
        let found = reopen.find(&issuer)?;
        self.show(&mut io::stderr().lock(), &found).context("print the last attempt")?;
        if !confirm("reopen", &format!("the step `{}`", self.step), self.yes)? {
            return Ok(Exit::No);
        }
        let (state, receipt) = reopen.reopen(&found, &signer, &self.note, &issuer)?;
        let mut out = out::stdout();
        if self.json {
            let object = object! { "run": self.run.as_str(), "step": self.step.as_str(), "state": state.to_json(), "receipt": receipt.document().clone() };
            out.json(&Json::from(object).to_text())?;
        } else {
            let (step, run) = (printable(&self.step), printable(&self.run));
            writeln!(out, "reopened step {step} of run {run}: attempt {} is awaited", state.attempt())?;
            writeln!(out, "  receipt {}", receipt.receipt_id())?;
        }
        Ok(Exit::Yes)
    }

    /// What failed, and what the next attempt is judged by.
    fn show(&self, out: &mut impl Write, found: &Reopenable) -> io::Result<()> {
        let (step, run) = (printable(&self.step), printable(&self.run));
        let workflow = printable(&found.contract.workflow);
        writeln!(out, "step {step} of run {run}, workflow {workflow}, was aborted at attempt {}", found.attempt)?;
        writeln!(out, "  last receipt     {}, {}", found.last.receipt_id(), found.last.verified_at())?;
        writeln!(out, "  contract         {}", found.contract.digest())?;
        writeln!(out, "what was not accepted")?;
        for detail in found.last.results().details.iter().filter(|detail| detail.status != Status::Pass) {
            let message = detail.message.as_deref().unwrap_or_default();
            writeln!(out, "  {}: {}", printable(&detail.name), printable(message))?;
        }
        Ok(())
    }
}
