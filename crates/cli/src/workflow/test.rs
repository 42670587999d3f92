//! `proofmark workflow test`.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::Args;
use proofmark_contract::cases::{self, Case, CaseResponse};
use proofmark_contract::response::MAX_RESPONSE_BYTES;
use proofmark_evidence::Signers;
use proofmark_evidence::trace::MAX_TRACE_BYTES;
use proofmark_verifier::{AcceptError, Attempt, Issuer, Presented, Purpose, Sender, accept};

use crate::document;
use crate::error;
use crate::exit::Exit;
use crate::input;
use crate::lint;
use crate::report::Formatting;
use crate::table::{self, Table};

/// Check recorded responses against the step states that a table of cases expects
///
/// A case names its files relative to the table: `workflow`, `step`, `response` or `responseText`, and optionally `policy`
/// (a workflow policy), `trace` and `context`. `state` is the expected state; `unmet` lists the rules expected to be unmet.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark workflow test examples/accept/cases.yaml --format junit

Exit codes: 0 every case passes; 1 some do not; 2 the table, or a file of a case, could not be read.")]
pub(crate) struct Test {
    /// The table of cases, in YAML or JSON
    cases: PathBuf,
    #[command(flatten)]
    formatting: Formatting,
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let cases = table::read(&self.cases, cases::read)?;
        let folder = self.cases.parent().unwrap_or(Path::new(""));
        let mut table = Table::new(&self.cases)?;
        let mut worst = Exit::Yes;
        for case in &cases {
            // A case that cannot be judged fails, and the others are judged.
            let result = run(case, folder).unwrap_or_else(|error| {
                worst = Exit::NoAnswer;
                Err(format!("failed to {}", error::message(&error)))
            });
            table.add(&case.name, result.err());
        }
        Ok(worst.max(table.write(self.formatting.format(), "workflow test")?))
    }
}

/// Whether the case passes, or how it differs.
fn run(case: &Case, folder: &Path) -> anyhow::Result<Result<(), String>> {
    let policy = case.policy.as_ref().map(|path| document::workflow_policy(&folder.join(path))).transpose()?;
    let workflow = lint::sound_workflow(&folder.join(&case.workflow), policy.as_ref())?;
    let response = match &case.response {
        CaseResponse::Text(text) => text.clone().into_bytes(),
        CaseResponse::File(path) => input::read_limited(&folder.join(path), MAX_RESPONSE_BYTES as u64)?,
    };
    let trace = case.trace.as_ref().map(|path| input::read_limited(&folder.join(path), MAX_TRACE_BYTES as u64));
    let trace = trace.transpose()?;
    let attempt = Attempt {
        workflow: &workflow,
        policy: policy.as_ref(),
        step: &case.step,
        sender: Sender::LOCAL,
        // A run of its own for every case, so that no case depends on another or on what is stored.
        run: None,
        begun_by: None,
        number: None,
        response: &response,
        trace: trace.as_deref(),
        context: case.context.as_ref(),
        presented: Presented::default(),
        trusted: &Signers::default(),
        in_order: false,
        purpose: Purpose::Test,
        stop: &AtomicBool::new(false),
    };
    // Without a key and a store: a test leaves nothing behind.
    let accepted = match accept(&attempt, &Issuer::new(None, None), None) {
        // The step or its contract is wrong, which is what the case is there to find.
        Err(error @ AcceptError::Contract { .. }) => {
            let help = error.help().map_or_else(String::new, |help| format!("; {help}"));
            return Ok(Err(format!("failed to {error}{help}")));
        }
        accepted => accepted?,
    };
    let unmet: Vec<&str> = accepted.judgment.failed().map(|rule| rule.id.as_str()).collect();
    let Some(mut difference) = case.difference(accepted.state.as_str(), &unmet) else { return Ok(Ok(())) };
    for rule in accepted.judgment.failed() {
        difference.push_str(&format!("\n{}: {}", rule.id, rule.message));
    }
    Ok(Err(difference))
}
