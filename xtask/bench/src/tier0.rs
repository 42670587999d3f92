//! Python cases a second on one core.

mod group;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use measure::{Contender, TURNS, Table, Turn, in_turns};
use proofmark_checks::{Caps, Format, Language, Request};
use proofmark_receipt::{Json, Status, Verdict};
use proofmark_sandbox::Host;
use proofmark_verifier::{Batch, Issuer};

use super::mbpp::{self, Task};
use group::Group;
use xtask::machine;

/// How long each contender is measured in a turn, at least.
const LEAST: Duration = Duration::from_secs(2);

/// How many cases cold interpreters run before the clock is looked at.
const COLD_CASES: usize = 20;

/// What a cold interpreter is given: the solution, and the expression to print.
const COLD: &str =
    "import sys;code,_,case=sys.stdin.read().partition('\\0');scope={};exec(code,scope);print(repr(eval(case,scope)))";

/// A warm interpreter without isolation: it reads a solution and an expression from each line, and forks a child that compiles
/// and runs them and writes what it got.
const FORKING: &str = include_str!("tier0/forking.py");

const SANDBOX: &str = "sandbox";
const FORK: &str = "bare fork of a warm python3";

pub(crate) fn run() -> anyhow::Result<()> {
    let tasks = mbpp::tasks()?;
    let host = Host::probe(None);
    let level = host.level().map_err(|lacking| anyhow::anyhow!("{lacking}"))?;
    let python = host.runtimes().into_iter().find(|runtime| runtime.language == Language::Python);
    let python = python.context("there is no python3")?;
    println!("{} tasks of MBPP, {} {} on one core, isolation level {level}", tasks.len(), python.name, python.version);
    let read = |task: &Task| Request::read(task.request().as_bytes(), Format::Json, None);
    let requests = tasks.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    explain_failures(&host, &tasks, &requests)?;

    let group = Group::enter()?;
    let turn = |work: &dyn Fn() -> anyhow::Result<u64>| Turn::of_processes(LEAST, || group.used(), work);
    let walled = machine::provide_program("bwrap", "bubblewrap");
    let cases: Vec<_> = tasks
        .iter()
        .flat_map(|task| task.tests.iter().map(|(input, _)| (task.code.as_str(), input.as_str())))
        .collect();
    let few = cases.get(..COLD_CASES).unwrap_or(&cases);
    let mut contenders = vec![
        Contender::new(SANDBOX, || turn(&|| sandboxed(&host, &cases, &requests))),
        Contender::new(FORK, || turn(&|| forked(&python.path, &cases))),
        Contender::new("cold python3", || turn(&|| cold(few, &|| Command::new(&python.path)))),
    ];
    if walled {
        let bubblewrap = || bubblewrap(&python.path);
        contenders.push(Contender::new("bubblewrap + cold python3", move || turn(&|| cold(few, &bubblewrap))));
    }
    let rows = in_turns(TURNS, contenders)?;
    println!("{}", Table::beside(SANDBOX, "cases").show(&rows));
    println!("The processor time is that of all processes: supervisor, interpreter and children.");
    Ok(())
}

/// A solution, and an expression to evaluate with it.
type Case<'a> = (&'a str, &'a str);

/// Every task verified and its receipt made, on one worker; how many cases.
fn sandboxed(host: &Host, cases: &[Case<'_>], requests: &[Request]) -> anyhow::Result<u64> {
    let (caps, issuer) = (Caps::default(), Issuer::new(None, None));
    let batch = Batch::new(host, &caps, 1, &issuer);
    batch.run(requests, |_, receipt| receipt.map(drop).map_err(anyhow::Error::from))?;
    Ok(cases.len() as u64)
}

/// Every case in a child of one warm interpreter; how many.
fn forked(python: &Path, cases: &[Case<'_>]) -> anyhow::Result<u64> {
    let mut child = start(Command::new(python).args(["-I", "-S", "-B", "-c", FORKING]))?;
    let mut stdin = child.stdin.take().context("the interpreter has no standard input")?;
    let mut answers = BufReader::new(child.stdout.take().context("the interpreter has no standard output")?);
    let mut answer = String::new();
    for (code, input) in cases {
        let pair = Json::Array(vec![(*code).into(), (*input).into()]);
        stdin.write_all(format!("{}\n", pair.to_text()).as_bytes())?;
        answer.clear();
        if answers.read_line(&mut answer)? == 0 {
            bail!("the interpreter ended early");
        }
    }
    drop(stdin);
    match child.wait()? {
        status if status.success() => Ok(cases.len() as u64),
        status => bail!("the interpreter ended with {status}"),
    }
}

/// Correct solutions must pass; what does not is shown.
fn explain_failures(host: &Host, tasks: &[Task], requests: &[Request]) -> anyhow::Result<()> {
    let (caps, issuer) = (Caps::default(), Issuer::new(None, None));
    let mut passed = 0;
    Batch::new(host, &caps, 1, &issuer).run(requests, |index, receipt| {
        let receipt = receipt?;
        if receipt.verdict() == Verdict::Pass {
            passed += 1;
        } else if let Some(task) = tasks.get(index) {
            let bad = receipt.results().details.iter().find(|detail| detail.status != Status::Pass);
            println!("{} is {}: {bad:?}", task.id, receipt.verdict());
        }
        anyhow::Ok(())
    })?;
    println!("{passed} of {} correct solutions pass", tasks.len());
    Ok(())
}

/// A fresh interpreter for each case, its answer compared as text; how many cases.
fn cold(cases: &[Case<'_>], interpreter: &dyn Fn() -> Command) -> anyhow::Result<u64> {
    for (code, input) in cases {
        let mut child = start(interpreter().args(["-I", "-S", "-c", COLD]))?;
        let mut stdin = child.stdin.take().context("the interpreter has no standard input")?;
        write!(stdin, "{code}\0{input}")?;
        drop(stdin);
        let output = child.wait_with_output()?;
        if output.stdout.is_empty() && !output.status.success() && output.status.code() != Some(1) {
            bail!("the interpreter ended with {}", output.status);
        }
    }
    Ok(cases.len() as u64)
}

fn start(command: &mut Command) -> anyhow::Result<Child> {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().context("failed to start the interpreter")
}

fn bubblewrap(python: &Path) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--clearenv", "--ro-bind", "/", "/"]);
    command.args(["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]).arg(python);
    command
}
