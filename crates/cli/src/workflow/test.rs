//! `proofmark workflow test`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};
use proofmark_contract::cases::{self, Case, CaseResponse};
use proofmark_contract::response::MAX_RESPONSE_BYTES;
use proofmark_evidence::trace::MAX_TRACE_BYTES;
use proofmark_receipt::Json;
use proofmark_verifier::{AcceptError, Attempt, Issuer, Purpose, Sender, accept};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::document::{self, read_as};
use crate::error;
use crate::exit::Exit;
use crate::input;
use crate::lint;
use crate::out;
use crate::paint::{Paint, printable};

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
    /// The format of the output
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// Text for people
    Human,
    /// JUnit XML
    Junit,
    /// The Test Anything Protocol, version 14
    Tap,
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let cases = read_as(&self.cases, "table of cases", cases::read)?;
        let folder = self.cases.parent().unwrap_or(Path::new(""));
        let (mut results, mut exit) = (Vec::new(), Exit::Yes);
        for case in &cases {
            // A case that cannot be judged fails, and the others are judged.
            let result = run(case, folder).unwrap_or_else(|error| {
                exit = Exit::NoAnswer;
                Err(format!("failed to {}", error::message(&error)))
            });
            exit = exit.max(if result.is_ok() { Exit::Yes } else { Exit::No });
            results.push((case.name.as_str(), result));
        }
        write(&mut out::stdout(), self.format, &results)?;
        Ok(exit)
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
        in_order: false,
        purpose: Purpose::Test,
        stop: &AtomicBool::new(false),
    };
    // Without a key and a store: a test leaves nothing behind.
    let accepted = match accept(&attempt, &Issuer::new(None, None)) {
        // The step or its contract is wrong, which is what the case is there to find.
        Err(error @ AcceptError::Contract { .. }) => {
            let help = error.help().map_or_else(String::new, |help| format!("; {help}"));
            return Ok(Err(format!("failed to {error}{help}")));
        }
        accepted => accepted?,
    };
    let unmet: Vec<&str> = accepted.judgment.failed().map(|rule| rule.id.as_str()).collect();
    Ok(case.difference(accepted.state.as_str(), &unmet).map_or(Ok(()), Err))
}

fn write(out: &mut impl Write, format: Format, results: &[(&str, Result<(), String>)]) -> anyhow::Result<()> {
    match format {
        Format::Human => human(out, results)?,
        Format::Tap => tap(out, results)?,
        Format::Junit => junit(results).serialize(&mut *out)?,
    }
    Ok(())
}

fn human(out: &mut impl Write, results: &[(&str, Result<(), String>)]) -> io::Result<()> {
    let paint = Paint::for_stdout();
    for (name, result) in results {
        match result {
            Ok(()) => writeln!(out, "{} {}", paint.good("ok"), printable(name))?,
            Err(difference) => writeln!(out, "{} {}: {}", paint.bad("failed"), printable(name), printable(difference))?,
        }
    }
    let failed = results.iter().filter(|(_, result)| result.is_err()).count();
    writeln!(out, "{} of {} cases passed", results.len() - failed, results.len())
}

fn tap(out: &mut impl Write, results: &[(&str, Result<(), String>)]) -> io::Result<()> {
    writeln!(out, "TAP version 14\n1..{}", results.len())?;
    for (index, (name, result)) in results.iter().enumerate() {
        // `#` begins a directive such as `# SKIP`, which would hide a failure.
        let name = name.replace('#', "\\#");
        match result {
            Ok(()) => writeln!(out, "ok {} - {name}", index + 1)?,
            Err(difference) => writeln!(
                out,
                "not ok {} - {name}\n  ---\n  message: {}\n  ...",
                index + 1,
                Json::from(difference.as_str()).to_text()
            )?,
        }
    }
    Ok(())
}

fn junit(results: &[(&str, Result<(), String>)]) -> Report {
    let mut suite = TestSuite::new("contracts");
    for (name, result) in results {
        let status = match result {
            Ok(()) => TestCaseStatus::success(),
            Err(difference) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(difference.as_str());
                status
            }
        };
        suite.add_test_case(TestCase::new(*name, status));
    }
    let mut report = Report::new("proofmark");
    report.add_test_suite(suite);
    report
}
