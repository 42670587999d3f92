//! Calls of a JavaScript function: forked off a warm node, started for each in the sandbox, and started bare.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use measure::{Contender, TURNS, Table, Turn, in_turns, of_this_process, of_this_process_and_descendants};
use proofmark_checks::{Caps, End, Format, Job, Language, Request};
use proofmark_receipt::json::Json;
use proofmark_receipt::object;
use proofmark_sandbox::Host;

/// How long a turn is at the least.
const LEAST: Duration = Duration::from_secs(2);

/// The cases of a suite, and those of one too short for a warm node.
const CASES: usize = 100;
const FEW: usize = 3;

const SOURCE: &str =
    "const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2)\nfunction f (n) { return { n, fib: fib(n) } }\n";
const ANSWER: &str = r#"{"d":[["n",15],["fib",610]]}"#;
const PRINT: &str = ";process.stdout.write(JSON.stringify(f(15)))";
const PRINTED: &str = r#"{"n":15,"fib":610}"#;

const BARE: &str = "bare start of node";

pub(crate) fn run() -> anyhow::Result<()> {
    let host = Host::probe(None);
    let level = host.level().map_err(|lacking| anyhow::anyhow!("{lacking}"))?;
    let runtimes = host.runtimes();
    for language in [Language::JavaScript, Language::TypeScript] {
        let Some(runtime) = runtimes.iter().find(|runtime| runtime.language == language) else {
            println!("\n{language} is not measured: it is not installed here");
            continue;
        };
        let (many, few) = (job(language, CASES)?, job(language, FEW)?);
        let mut worker = host.worker();
        let contenders = vec![
            Contender::new("forked off a warm node in the sandbox", || {
                Turn::of_processes(LEAST, of_this_process_and_descendants, || answered(worker.run(&many).cases))
            }),
            Contender::new("started in the sandbox", || {
                // What they have used is counted as long as they live.
                let mut workers = Vec::new();
                Turn::of_processes(LEAST, of_this_process_and_descendants, || {
                    let mut worker = host.worker();
                    let cases = worker.run(&few).cases;
                    workers.push(worker);
                    answered(cases)
                })
            }),
            Contender::new(BARE, || Turn::of_processes(LEAST, of_this_process, || bare(&runtime.path))),
        ];
        let rows = in_turns(TURNS, contenders)?;
        println!("{language}, {} {} on one core, isolation level {level}\n", runtime.name, runtime.version);
        println!("{}", Table::beside(BARE, "cases").show(&rows));
    }
    Ok(())
}

/// A suite of calls, as the sandbox runs it.
fn job(language: Language, cases: usize) -> anyhow::Result<Job> {
    let test = Json::from(object! { "input": vec![Json::from(15)], "expected": PRINTED });
    let request = object! {
        "output": object! { "content": SOURCE },
        "verification": object! {
            "kind": "test_suite",
            "language": language.to_string(),
            "entrypoint": "f",
            "tests": vec![test; cases],
        },
    };
    let request = Request::read(Json::from(request).to_text().as_bytes(), Format::Json, None)?;
    request.plan(&Caps::default())?.submission.context("the suite has no job")
}

fn answered(cases: Vec<proofmark_checks::CaseOutcome>) -> anyhow::Result<u64> {
    match cases.iter().find(|case| case.end != End::Value(ANSWER.as_bytes().to_vec())) {
        Some(case) => bail!("a case ended with {:?}", case.end),
        None => Ok(cases.len() as u64),
    }
}

fn bare(node: &Path) -> anyhow::Result<u64> {
    let mut command = Command::new(node);
    command.args(["-e", &format!("{SOURCE}{PRINT}")]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = command.output().context("failed to start node")?;
    if output.stdout != PRINTED.as_bytes() {
        bail!("node ended with {}", output.status);
    }
    Ok(1)
}
