//! `proofmark test`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::Context;
use clap::{Args, ValueEnum};
use proofmark_contract::response::MAX_RESPONSE_BYTES;
use proofmark_evidence::trace::MAX_TRACE_BYTES;
use proofmark_receipt::Json;
use proofmark_receipt::document::{DocumentError, Field};
use proofmark_verifier::{Attempt, Issuer, Sender, accept};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::document::{self, read_as};
use crate::exit::Exit;
use crate::input;
use crate::out;
use crate::paint::{Paint, tame};

/// Run a table of cases against workflows: contract, response, trace, and the state that must come of it
///
/// A case names its files relative to the table: `workflow`, `step`, `response` or `responseText`, and optionally
/// `policy`, `trace`, `context`. `state` is what must come of it; `unmet` lists the rules that must not be met.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark test examples/accept/cases.yaml --format junit

Exit codes: 0 every case comes out as it says; 1 some do not; 2 something could not be read.")]
pub(crate) struct Test {
    /// The table, in YAML or JSON
    cases: PathBuf,
    /// How the results are written
    #[arg(long, value_enum, default_value_t = Form::Human)]
    format: Form,
}

#[derive(Clone, Copy, ValueEnum)]
enum Form {
    /// For people
    Human,
    /// JUnit's XML
    Junit,
    /// The Test Anything Protocol, version 14
    Tap,
}

struct Case {
    name: String,
    workflow: String,
    step: String,
    policy: Option<String>,
    response: Response,
    trace: Option<String>,
    context: Option<Json>,
    state: String,
    unmet: Option<Vec<String>>,
}

enum Response {
    File(String),
    Text(String),
}

impl Test {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let cases = read_as(&self.cases, "table of cases", read)?;
        let folder = self.cases.parent().unwrap_or(Path::new(""));
        let mut results = Vec::new();
        for case in &cases {
            let came = case.run(folder).with_context(|| format!("run the case `{}`", case.name))?;
            results.push((case.name.as_str(), came));
        }
        let failed = results.iter().filter(|(_, came)| came.is_err()).count();
        write(&mut out::stdout(), self.format, &results)?;
        Ok(if failed == 0 { Exit::Yes } else { Exit::No })
    }
}

impl Case {
    /// Whether it comes out as it says, and what came instead.
    fn run(&self, folder: &Path) -> anyhow::Result<Result<(), String>> {
        let workflow = document::workflow(&folder.join(&self.workflow))?;
        let policy = self.policy.as_ref().map(|path| document::policy(&folder.join(path))).transpose()?;
        let response = match &self.response {
            Response::Text(text) => text.clone().into_bytes(),
            Response::File(path) => input::read_limited(&folder.join(path), MAX_RESPONSE_BYTES as u64)?,
        };
        let limited = |path: &String| input::read_limited(&folder.join(path), MAX_TRACE_BYTES as u64);
        let trace = self.trace.as_ref().map(limited).transpose()?;
        let attempt = Attempt {
            workflow: &workflow,
            policy: policy.as_ref(),
            step: &self.step,
            sender: Sender::LOCAL,
            run: None,
            begun_by: None,
            number: None,
            response: &response,
            trace: trace.as_deref(),
            context: self.context.as_ref(),
            receipts: None,
            presented: &[],
            trusted: &[],
            stop: &AtomicBool::new(false),
        };
        let accepted = accept(&attempt, &Issuer::new(None, None))?;
        let unmet: Vec<&str> = accepted.judgment.failed().map(|rule| rule.id.as_str()).collect();
        if accepted.state.as_str() != self.state {
            return Ok(Err(format!(
                "the state is {}, not {} (not met: {})",
                accepted.state.as_str(),
                self.state,
                unmet.join(", ")
            )));
        }
        Ok(match &self.unmet {
            Some(due) if *due != unmet => Err(format!("not met are [{}], not [{}]", unmet.join(", "), due.join(", "))),
            Some(_) | None => Ok(()),
        })
    }
}

fn read(document: &Json) -> Result<Vec<Case>, DocumentError> {
    let fields = Field::root(document).fields()?;
    fields.only(&["cases"])?;
    fields.need("cases", "write at least one case")?.items()?.iter().map(read_case).collect()
}

fn read_case(field: &Field<'_>) -> Result<Case, DocumentError> {
    let fields = field.fields()?;
    fields.only(&[
        "name",
        "workflow",
        "step",
        "policy",
        "response",
        "responseText",
        "trace",
        "context",
        "state",
        "unmet",
    ])?;
    let text = |name: &str| fields.get(name).map(|field| field.text().map(str::to_owned)).transpose();
    let need = |name: &str, mend: &str| fields.need(name, mend)?.text().map(str::to_owned);
    let response = match (text("response")?, text("responseText")?) {
        (Some(path), None) => Response::File(path),
        (None, Some(text)) => Response::Text(text),
        (_, _) => return Err(fields.missing("response", "name its file, or write it as `responseText`, and not both")),
    };
    let words = [
        ("accepted", "accepted"),
        ("accepted_with_warnings", "accepted_with_warnings"),
        ("retry", "retry"),
        ("aborted", "aborted"),
    ];
    let names = |field: Field<'_>| field.items()?.iter().map(|item| item.text().map(str::to_owned)).collect();
    Ok(Case {
        name: need("name", "name the case")?,
        workflow: need("workflow", "name the workflow's file")?,
        step: need("step", "name the step")?,
        policy: text("policy")?,
        response,
        trace: text("trace")?,
        context: fields.get("context").map(|field| field.json.clone()),
        state: fields.need("state", "write the state that must come of it")?.choice(&words)?.to_owned(),
        unmet: fields.get("unmet").map(names).transpose()?,
    })
}

fn write(out: &mut impl Write, form: Form, results: &[(&str, Result<(), String>)]) -> anyhow::Result<()> {
    match form {
        Form::Human => human(out, results)?,
        Form::Tap => tap(out, results)?,
        Form::Junit => junit(results).serialize(&mut *out)?,
    }
    Ok(())
}

fn human(out: &mut impl Write, results: &[(&str, Result<(), String>)]) -> io::Result<()> {
    let paint = Paint::for_stdout();
    for (name, came) in results {
        match came {
            Ok(()) => writeln!(out, "{} {}", paint.good("ok"), tame(name))?,
            Err(why) => writeln!(out, "{} {}: {}", paint.bad("failed"), tame(name), tame(why))?,
        }
    }
    let failed = results.iter().filter(|(_, came)| came.is_err()).count();
    writeln!(out, "{} of {} cases come out as they say", results.len() - failed, results.len())
}

fn tap(out: &mut impl Write, results: &[(&str, Result<(), String>)]) -> io::Result<()> {
    writeln!(out, "TAP version 14\n1..{}", results.len())?;
    for (index, (name, came)) in results.iter().enumerate() {
        let name = name.replace('#', "\\#");
        match came {
            Ok(()) => writeln!(out, "ok {} - {name}", index + 1)?,
            Err(why) => writeln!(
                out,
                "not ok {} - {name}\n  ---\n  message: {}\n  ...",
                index + 1,
                Json::from(why.as_str()).to_text()
            )?,
        }
    }
    Ok(())
}

fn junit(results: &[(&str, Result<(), String>)]) -> Report {
    let mut suite = TestSuite::new("contracts");
    for (name, came) in results {
        let status = match came {
            Ok(()) => TestCaseStatus::success(),
            Err(why) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                status.set_message(why.as_str());
                status
            }
        };
        suite.add_test_case(TestCase::new(*name, status));
    }
    let mut report = Report::new("proofmark");
    report.add_test_suite(suite);
    report
}
