//! Programs whose interpreter starts for each case: the sandbox beside the bare start of the same interpreter.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use measure::{Contender, TURNS, Table, Turn, in_turns, of_this_process, of_this_process_and_descendants};
use proofmark_checks::{Caps, End, Format, Job, Language, Request};
use proofmark_receipt::json::Json;
use proofmark_receipt::object;
use proofmark_sandbox::Host;
use rustix::process::WaitOptions;

use xtask::machine;

/// How long a turn is at the least.
const LEAST: Duration = Duration::from_secs(1);

/// The cases of a suite.
const CASES: usize = 20;

const INPUT: &str = "21\n";
const ANSWER: &str = "42\n";

/// What every program finds in its environment, as in the sandbox.
const VARIABLES: [(&str, &str); 9] = [
    ("PATH", "/usr/bin:/bin"),
    ("HOME", "/tmp"),
    ("TMPDIR", "/tmp"),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("TZ", "UTC"),
    ("PYTHONHASHSEED", "0"),
    ("UV_THREADPOOL_SIZE", "1"),
    ("OPENSSL_CONF", "/dev/null"),
];

const BARE: &str = "bare start";

/// A program that doubles the number it reads, and how its interpreter is started in the sandbox.
struct Program {
    language: Language,
    source: &'static str,
    arguments: &'static [&'static str],
}

const PROGRAMS: [Program; 4] = [
    Program { language: Language::Bash, source: "read x\necho $((x * 2))\n", arguments: &["--noprofile", "--norc"] },
    Program { language: Language::Python, source: "print(int(input()) * 2)\n", arguments: &["-I", "-S", "-B"] },
    Program {
        language: Language::JavaScript,
        source: "console.log(Number(require('fs').readFileSync(0, 'utf8')) * 2)\n",
        arguments: &["--no-warnings", "--preserve-symlinks-main"],
    },
    Program { language: Language::Ruby, source: "puts gets.to_i * 2\n", arguments: &["--disable=all", "-EUTF-8"] },
];

pub(crate) fn run() -> anyhow::Result<()> {
    let host = Host::probe(None);
    let level = host.level().map_err(|lacking| anyhow::anyhow!("{lacking}"))?;
    println!("Whole programs on one core, isolation level {level}, {CASES} cases a suite");
    // bubblewrap does not wait for the first process of its namespace, whose time would be missing.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let has_bubblewrap = machine::provide_program("bwrap", "bubblewrap");
    if !has_bubblewrap {
        println!("bubblewrap is not measured: it cannot be installed here");
    }
    let runtimes = host.runtimes();
    let folder = tempfile::tempdir()?;
    for program in &PROGRAMS {
        let Some(runtime) = runtimes.iter().find(|runtime| runtime.language == program.language) else {
            println!("\n{} is not measured: it is not installed here", program.language);
            continue;
        };
        let file = folder.path().join("submission");
        std::fs::write(&file, program.source)?;
        let job = program.job(&runtime.version)?;
        let mut contenders = vec![
            Contender::new("sandbox", || sandboxed(&host, &job)),
            Contender::new(BARE, || {
                Turn::of_processes(LEAST, of_this_process, || once(command(&runtime.path, program, &file)))
            }),
        ];
        if has_bubblewrap {
            contenders.push(Contender::new("bubblewrap", || {
                Turn::of_processes(LEAST, of_this_process, || {
                    let done = once(bubblewrap(&runtime.path, program, &file))?;
                    reap_orphans();
                    Ok(done)
                })
            }));
        }
        println!(
            "\n{} {}\n\n{}",
            runtime.name,
            runtime.version,
            Table::beside(BARE, "cases").show(&in_turns(TURNS, contenders)?)
        );
    }
    Ok(())
}

impl Program {
    /// A suite of the program, as the sandbox runs it.
    fn job(&self, version: &str) -> anyhow::Result<Job> {
        let test = Json::from(object! { "input": INPUT, "expected_output": ANSWER });
        let request = object! {
            "output": object! { "content": self.source },
            "verification": object! {
                "kind": "test_suite",
                "language": self.language.to_string(),
                "mode": "stdio",
                "runtime": version,
                "tests": vec![test; CASES],
            },
        };
        let request = Request::read(Json::from(request).to_text().as_bytes(), Format::Json, None)?;
        request.plan(&Caps::default())?.submission.context("the suite has no job")
    }
}

/// Suites on one worker, whose cell is warm. What descends from it is not waited for while the worker lives.
fn sandboxed(host: &Host, job: &Job) -> anyhow::Result<Turn> {
    let mut worker = host.worker();
    let mut suite = || {
        let outcome = worker.run(job);
        match outcome.cases.iter().find(|case| case.end != End::Text(ANSWER.as_bytes().to_vec())) {
            Some(case) => bail!("a case ended with {:?}", case.end),
            None => Ok(outcome.cases.len() as u64),
        }
    };
    suite()?;
    Turn::of_processes(LEAST, of_this_process_and_descendants, suite)
}

/// One start, with pipes for its input and both its outputs.
fn once(mut command: Command) -> anyhow::Result<u64> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().context("failed to start the interpreter")?;
    let mut stdin = child.stdin.take().context("the interpreter has no standard input")?;
    stdin.write_all(INPUT.as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    if output.stdout != ANSWER.as_bytes() {
        bail!("the interpreter ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(1)
}

fn reap_orphans() {
    while let Ok(Some(_)) = rustix::process::wait(WaitOptions::empty()) {}
}

fn command(interpreter: &Path, program: &Program, file: &Path) -> Command {
    let mut command = Command::new(interpreter);
    command.args(program.arguments).arg(file).env_clear().envs(VARIABLES).current_dir("/");
    command
}

fn bubblewrap(interpreter: &PathBuf, program: &Program, file: &Path) -> Command {
    let mut command = Command::new("bwrap");
    command.args(["--unshare-all", "--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/"]);
    command.args(["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--ro-bind"]).arg(file).arg("/tmp/submission");
    command.arg(interpreter).args(program.arguments).arg("/tmp/submission").env_clear().envs(VARIABLES);
    command
}
