//! Python cases a second on one core.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use proofmark_receipt::{Status, Verdict};
use proofmark_verifier::{Batch, Caps, Format, Host, Issuer, Language, Request};

use super::mbpp::{self, Task};
use super::rate;
use xtask::machine;

/// How long each rival is measured.
const LEAST: Duration = Duration::from_secs(5);

/// What a cold interpreter is given: the solution, and the expression to print.
const COLD: &str =
    "import sys;code,_,case=sys.stdin.read().partition('\\0');scope={};exec(code,scope);print(repr(eval(case,scope)))";

pub(crate) fn run() -> anyhow::Result<()> {
    let tasks = mbpp::tasks()?;
    let host = Host::probe(None);
    let level = host.level().map_err(|lacking| anyhow::anyhow!("{lacking}"))?;
    let python = host.runtimes().into_iter().find(|runtime| runtime.language == Language::Python);
    let python = python.context("there is no python3")?;
    println!("{} tasks of MBPP, {} {} on one core, isolation level {level}", tasks.len(), python.name, python.version);

    let ours = sandboxed(&host, &tasks)?;
    println!("sandbox                  {ours:8.0} cases/s");
    let cold = cold_rate(&tasks, || Command::new(&python.path))?;
    println!("cold python3             {cold:8.0} cases/s   sandbox is {:.1} x", ours / cold);
    if !machine::provide_program("bwrap", "bubblewrap") {
        println!("bubblewrap + python3     not measured: bubblewrap cannot be installed here");
        return Ok(());
    }
    let walled = cold_rate(&tasks, || bubblewrap(&python.path))?;
    println!("bubblewrap + python3     {walled:8.0} cases/s   sandbox is {:.1} x", ours / walled);
    Ok(())
}

/// Every task verified and its receipt made, on one worker.
fn sandboxed(host: &Host, tasks: &[Task]) -> anyhow::Result<f64> {
    let read = |task: &Task| Request::read(task.request().as_bytes(), Format::Json, None);
    let requests = tasks.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let cases: usize = tasks.iter().map(|task| task.tests.len()).sum();
    explain_failures(host, tasks, &requests)?;
    let (caps, issuer) = (Caps::default(), Issuer::new(None, None));
    let batch = Batch::new(host, &caps, 1, &issuer);
    rate(LEAST, || {
        batch.run(&requests, |_, receipt| receipt.map(drop).map_err(anyhow::Error::from))?;
        Ok(cases as u64)
    })
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

/// A fresh interpreter for each case, its answer compared as text.
fn cold_rate(tasks: &[Task], start: impl Fn() -> Command) -> anyhow::Result<f64> {
    let mut cases = tasks.iter().flat_map(|task| task.tests.iter().map(|(input, _)| (&task.code, input))).cycle();
    rate(LEAST, || {
        let (code, input) = cases.next().context("the tasks have no cases")?;
        let mut command = start();
        command.args(["-I", "-S", "-c", COLD]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("failed to start the interpreter")?;
        let mut stdin = child.stdin.take().context("the interpreter has no standard input")?;
        write!(stdin, "{code}\0{input}")?;
        drop(stdin);
        let output = child.wait_with_output()?;
        if output.stdout.is_empty() && !output.status.success() && output.status.code() != Some(1) {
            bail!("the interpreter ended with {}", output.status);
        }
        Ok(1)
    })
}

fn bubblewrap(python: &PathBuf) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--clearenv", "--ro-bind", "/", "/"]);
    command.args(["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]).arg(python);
    command
}
