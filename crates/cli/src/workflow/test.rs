//! `proofmark workflow test`.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::Args;
use proofmark_contract::cases::{self, Case, CaseResponse};
use proofmark_contract::response::MAX_RESPONSE_BYTES;
use proofmark_evidence::trace::MAX_TRACE_BYTES;
use proofmark_verifier::{Attempt, Issuer, Sender, accept};

use crate::document::{self, read_as};
use crate::exit::Exit;
use crate::input;
use crate::report::Formatting;
use crate::table::Table;

/// Check recorded responses against the step states that a table of cases expects
///
/// A case names its files relative to the table: `workflow`, `step`, `response` or `responseText`, and optionally `policy`
/// (a workflow policy), `trace` and `context`. `state` is the expected state; `unmet` lists the rules expected to be unmet.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark workflow test examples/accept/cases.yaml --format junit

Exit codes: 0 every case passes; 1 some do not; 2 a file could not be read.")]
pub(crate) struct Test {
    /// The table of cases, in YAML or JSON
    cases: PathBuf,
    #[command(flatten)]
    formatting: Formatting,
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let cases = read_as(&self.cases, "table of cases", cases::read)?;
        let folder = self.cases.parent().unwrap_or(Path::new(""));
        let mut table = Table::new(&self.cases)?;
        for case in &cases {
            let result = run(case, folder).with_context(|| format!("run the case `{}`", case.name))?;
            table.add(&case.name, result.err());
        }
        table.write(self.formatting.format(), "workflow test")
    }
}

/// Whether the case passes, or how it differs.
fn run(case: &Case, folder: &Path) -> anyhow::Result<Result<(), String>> {
    let workflow = document::workflow(&folder.join(&case.workflow))?;
    let policy = case.policy.as_ref().map(|path| document::workflow_policy(&folder.join(path))).transpose()?;
    let response = match &case.response {
        CaseResponse::Text(text) => text.clone().into_bytes(),
        CaseResponse::File(path) => input::read_limited(&folder.join(path), MAX_RESPONSE_BYTES as u64)?,
    };
    let limited = |path: &String| input::read_limited(&folder.join(path), MAX_TRACE_BYTES as u64);
    let trace = case.trace.as_ref().map(limited).transpose()?;
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
        receipts: None,
        presented: &[],
        trusted: &[],
        stop: &AtomicBool::new(false),
    };
    // Without a key and a store: a test leaves nothing behind, and its receipts count nowhere.
    let accepted = accept(&attempt, &Issuer::new(None, None))?;
    let unmet: Vec<&str> = accepted.judgment.failed().map(|rule| rule.id.as_str()).collect();
    Ok(case.difference(accepted.state.as_str(), &unmet).map_or(Ok(()), Err))
}
