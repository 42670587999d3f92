//! What the command `proofmark` takes: from start to end, for one suite, and for a file of receipts.
//!
//! Where the variable `PROOFMARK_BASE` names another build of `proofmark`, it takes its turns beside this one.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use measure::{Contender, TURNS, Table, Turn, in_turns};
use proofmark_checks::Language;
use proofmark_sandbox::Host;
use tempfile::TempDir;
use xtask::step::{cargo, run as run_step};

/// How long a contender's turn is at least, where it is short.
const LEAST: Duration = Duration::from_secs(1);

/// The tests of the suite, and the lines of the file.
const TESTS: usize = 2_000;
const LINES: usize = 100_000;

/// How many different receipts the file has; the rest are repetitions.
const RECEIPTS: usize = 1_000;

/// A build of `proofmark`, with a home of its own.
struct Build {
    /// What stands behind the name of its contenders.
    mark: &'static str,
    binary: PathBuf,
    home: PathBuf,
    path: OsString,
}

/// The builds, and the folder in which their homes are.
struct Builds {
    folder: TempDir,
    builds: Vec<Build>,
}

impl Builds {
    /// This build, and that of `PROOFMARK_BASE`. They find `python` before every other interpreter, which spares them the
    /// scripts that choose one.
    fn new(python: &Path) -> anyhow::Result<Builds> {
        run_step(&mut cargo(&["build", "--quiet", "--release", "--package", "proofmark-cli"]))?;
        let own = std::env::current_exe()?.with_file_name("proofmark");
        let base = std::env::var_os("PROOFMARK_BASE").map(PathBuf::from);
        let folder = tempfile::tempdir()?;
        let mut path = python.parent().map(Path::as_os_str).unwrap_or_default().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let build = |(mark, binary)| Build { mark, binary, home: folder.path().join(mark), path: path.clone() };
        let builds = [("", own)].into_iter().chain(base.map(|base| (" (base)", base))).map(build).collect();
        Ok(Builds { folder, builds })
    }

    fn file(&self, name: &str, content: &str) -> anyhow::Result<String> {
        let path = self.folder.path().join(name);
        fs::write(&path, content)?;
        Ok(path.display().to_string())
    }
}

impl Build {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).env("PROOFMARK_HOME", &self.home).env("PATH", &self.path);
        command
    }
}

/// One suite on one worker and on two.
pub(crate) fn suite() -> anyhow::Result<()> {
    let builds = Builds::new(&python()?)?;
    let file = builds.file("suite.json", &request(TESTS))?;
    println!(
        "`verify --no-store` of a suite of {TESTS} checks in Python. Compare the checks a second, on a quiet machine: the"
    );
    println!("system does not count the processor time of a warm interpreter that ends with its sandbox.\n");
    let mut contenders = Vec::new();
    for build in &builds.builds {
        for jobs in ["1", "2"] {
            let command = build.command(&["verify", &file, "--no-store", "--jobs", jobs]);
            contenders.push(starting(format!("--jobs {jobs}{}", build.mark), TESTS as u64, command)?);
        }
    }
    show(contenders, "--jobs 1", "checks")
}

/// The command from start to end.
pub(crate) fn start() -> anyhow::Result<()> {
    let python = python()?;
    let builds = Builds::new(&python)?;
    let one = builds.file("suite.json", &request(1))?;
    let constraint = r#"{"output": {"content": "hello"}, "verification": {"kind": "schema_check",
        "checks": [{"name": "short", "constraint": "length <= 10"}]}}"#;
    let constraint = builds.file("constraint.json", constraint)?;
    println!("`verify` of one request, from start to end\n");
    let mut contenders = Vec::new();
    for build in &builds.builds {
        let mark = build.mark;
        contenders.push(starting(format!("one check{mark}"), 1, build.command(&["verify", &one]))?);
        let unstored = build.command(&["verify", &one, "--no-store"]);
        contenders.push(starting(format!("one check, not stored{mark}"), 1, unstored)?);
        contenders.push(starting(format!("one constraint{mark}"), 1, build.command(&["verify", &constraint]))?);
    }
    let mut bare = Command::new(python);
    bare.args(["-I", "-S", "-c", "pass"]);
    contenders.push(starting(BARE.to_owned(), 1, bare)?);
    show(contenders, BARE, "runs")
}

const BARE: &str = "python3 -I -S -c pass";

/// A large file of receipts on one core, and on all.
pub(crate) fn receipt_file() -> anyhow::Result<()> {
    let builds = Builds::new(Path::new("/usr/bin/python3"))?;
    let requests = vec![request_of_constraints(); RECEIPTS].join("\n");
    let requests = builds.file("requests.jsonl", &requests)?;
    let first = builds.builds.first().context("there is no build")?;
    let made = first.command(&["verify", &requests, "--no-store", "--json"]).output()?;
    let receipts = String::from_utf8(made.stdout)?;
    let file = builds.file("receipts.jsonl", &receipts.repeat(LINES / RECEIPTS))?;
    let cores = std::thread::available_parallelism()?;
    println!("`receipt verify` of a file of {LINES} receipts, {cores} cores\n");
    let mut contenders = Vec::new();
    for build in &builds.builds {
        let arguments = ["receipt", "verify", &file, "--trust", "default"];
        // The key that signed is in the home of the first build.
        let verify = |mut command: Command| {
            command.env("PROOFMARK_HOME", &first.home);
            command
        };
        contenders.push(starting(format!("all cores{}", build.mark), LINES as u64, verify(build.command(&arguments)))?);
        let binary = build.binary.display().to_string();
        let mut pinned = super::pinned(&binary, &arguments);
        pinned.env("PATH", &build.path);
        contenders.push(starting(format!("one core{}", build.mark), LINES as u64, verify(pinned))?);
    }
    show(contenders, "one core", "receipts")
}

/// A contender that runs the command, which does so many units and must succeed, again and again. It has run once before.
fn starting(name: String, units: u64, mut command: Command) -> anyhow::Result<Contender<'static>> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut run = move || match command.status()?.success() {
        true => Ok(units),
        false => bail!("failed to run {command:?}"),
    };
    run()?;
    Ok(Contender::new(name, move || Turn::of(LEAST, &mut run)))
}

fn show(contenders: Vec<Contender<'_>>, reference: &str, unit: &str) -> anyhow::Result<()> {
    let rows = in_turns(TURNS, contenders)?;
    println!("{}", Table::beside(reference, unit).show(&rows));
    for row in rows.iter().filter(|row| row.wall_micros() >= 1e3) {
        println!(
            "{}: {:.1} ms wall, {:.1} ms processor each",
            row.name,
            row.wall_micros() / 1e3,
            row.processor_micros / 1e3
        );
    }
    Ok(())
}

/// The interpreter that the sandbox uses.
fn python() -> anyhow::Result<PathBuf> {
    let python = Host::untested(None).runtimes().into_iter().find(|runtime| runtime.language == Language::Python);
    Ok(python.context("there is no python3")?.path)
}

/// A request with so many tests.
fn request(tests: usize) -> String {
    let test = |x| format!(r#"{{"name": "t{x}", "input": [[{x}, 3, 1]], "expected_output": {:?}}}"#, sorted(x));
    let tests: Vec<String> = (0..tests).map(test).collect();
    format!(
        r#"{{"output": {{"content": "def f(xs):\n    return sorted(xs)\n"}}, "verification": {{"kind": "test_suite",
            "language": "python", "mode": "call", "entrypoint": "f", "tests": [{}]}}}}"#,
        tests.join(", ")
    )
}

fn sorted(x: usize) -> [usize; 3] {
    let mut list = [x, 3, 1];
    list.sort_unstable();
    list
}

fn request_of_constraints() -> String {
    let check = |index| format!(r#"{{"name": "short{index}", "constraint": "length <= {}"}}"#, 10 + index);
    let checks: Vec<String> = (0..5).map(check).collect();
    format!(
        r#"{{"output": {{"content": "hello"}}, "verification": {{"kind": "schema_check", "checks": [{}]}}}}"#,
        checks.join(", ")
    )
}
