//! `cargo xtask bench <name>`: figures side by side in one run. They gate nothing, because machines are noisy.

mod accept;
mod agentdojo;
mod cold;
mod command_line;
mod flow;
mod guard;
mod hook;
mod hostile_tenants;
mod install;
mod log;
mod mbpp;
mod node;
mod projects;
mod receipt;
mod record;
mod rivals;
mod taint;
mod tier0;
mod worth;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use clap::{Parser, Subcommand};
use xtask::step::succeeds;

/// Measure, beside rivals, in one run.
#[derive(Parser)]
#[command(name = "cargo xtask bench", bin_name = "cargo xtask bench")]
struct Arguments {
    /// Put what is printed into bench/RESULTS.md, with the machine, the date and the commit
    #[arg(long, global = true)]
    record: bool,
    #[command(subcommand)]
    bench: Bench,
}

#[derive(Subcommand)]
enum Bench {
    /// Python cases a second on one core: the sandbox, a bare fork of a warm python3, a cold one, bubblewrap with a cold one
    Tier0,
    /// The strength of suites of MBPP and of suites that see nothing, and mutants a second on one core
    Worth,
    /// Public projects that ship their tests, judged by their own runner and by `verify` as `init` sets it up
    Projects,
    /// Whole programs of bash, Python, node and Ruby on one core: the sandbox, the bare start, bubblewrap
    Cold,
    /// Calls of a JavaScript function on one core: forked off a warm node, started in the sandbox, started bare
    Node,
    /// Receipts verified a second on one core: whole, the bare signature, Python; and a cold start
    Receipt,
    /// A file of receipts verified on one core and on all
    ReceiptFile,
    /// One suite of 2,000 checks on one worker and on two
    Suite,
    /// `verify` of one request from start to end, beside the start of python3
    Start,
    /// The packages of the binary: their size, and the seconds from nothing to the first receipt
    Install,
    /// Recorded agents judged by contracts: failed runs accepted, good runs rejected
    Accept,
    /// Recorded tool calls decided by the example policies: attacks stopped, benign calls hindered
    Agentdojo,
    /// AgentDojo played through `guard` by a worst-case agent: tasks that get through, attacks that reach their goal, questions
    Flow {
        /// Only these ways to decide: nothing, taint, todo, suites, all, scope, prose, knowing, knowing-scope, cost
        rows: Vec<String>,
    },
    /// Texts probed for signs of steering: injected goals that get a label, ordinary texts that get one
    Taint,
    /// Requests decided by 20 boundaries on one core, from JSON text to a signed receipt, beside cedar-policy
    Decide,
    /// Requests decided by 20 rules on one core, from JSON text: the predicate language, cel, cedar-policy
    Predicate,
    /// Verifications a second over HTTP beside the command line
    Serve,
    /// Receipts brought to a server, one by one and in batches, beside SQLite alone and their signatures alone
    ServeReceipts,
    /// The transparency log: receipts stored with and without it, appends and proofs at 10^3, 10^5 and 10^6 entries, beside signatures
    Log,
    /// How long a page of a list takes in stores of a thousand rows to a million
    Lists,
    /// The pages for people in stores of a thousand rows and of a million: milliseconds, bytes, and in a browser
    Page,
    /// Decisions a second over HTTP, signed and on disk, beside the same in memory, SQLite alone and the binary PROOFMARK_BASE
    ServeDecisions,
    /// Receipts and decisions a second with one server and several on PostgreSQL, beside SQLite and bare inserts, and jobs
    Scale {
        /// Only these parts: receipts, decisions, sizes, network, jobs, claims
        parts: Vec<String>,
    },
    /// What `guard` adds to calls and results over standard streams, beside a byte copier and other proxies
    Guard,
    /// What a hook takes that decides itself or asks a server by a socket, in short and long sessions, beside the bare start
    Hook,
    /// The server that `guard` measures with
    #[command(hide = true)]
    GuardServer,
    /// The program that only moves bytes, which `guard` is measured beside
    #[command(hide = true)]
    GuardCopier {
        #[arg(last = true)]
        command: Vec<String>,
    },
    /// What a tenant notices of another one that takes what it can get: its waits beside each attack and alone, and the server's memory
    HostileTenants {
        /// Only these attacks
        attacks: Vec<String>,
    },
    /// Resident memory of a server: at the start, at most, and after 64 clients have gone
    Memory {
        /// How long the clients come
        #[arg(long, default_value = "1")]
        minutes: String,
    },
}

/// Set in the process that runs on one core alone.
const PINNED: &str = "PROOFMARK_BENCH_PINNED";

fn main() -> anyhow::Result<()> {
    let Arguments { record, bench } = Arguments::parse();
    if record {
        return record::run();
    }
    match bench {
        Bench::Tier0 => on_one_core("tier0", tier0::run),
        Bench::Worth => on_one_core("worth", worth::run),
        Bench::Projects => projects::run(),
        Bench::Cold => on_one_core("cold", cold::run),
        Bench::Node => on_one_core("node", node::run),
        Bench::Receipt => on_one_core("receipt", receipt::run),
        Bench::ReceiptFile => command_line::receipt_file(),
        Bench::Suite => command_line::suite(),
        Bench::Start => command_line::start(),
        Bench::Install => install::run(),
        Bench::Accept => accept::run(),
        Bench::Agentdojo => agentdojo::run(),
        Bench::Flow { rows } => flow::run(&rows),
        Bench::Taint => taint::run(),
        Bench::Decide => rivals::run("decide"),
        Bench::Predicate => rivals::run("predicate"),
        Bench::Serve => rivals::run_server(&["work"]),
        Bench::ServeReceipts => rivals::run_server(&["receipts"]),
        Bench::Log => on_one_core("log", log::run),
        Bench::Lists => rivals::run_server(&["lists"]),
        Bench::Page => rivals::run_server(&["page"]),
        Bench::ServeDecisions => rivals::run_server(&["decisions"]),
        Bench::Scale { parts } => {
            rivals::run_server(&std::iter::once("scale").chain(parts.iter().map(String::as_str)).collect::<Vec<_>>())
        }
        Bench::Guard => guard::run(),
        Bench::Hook => hook::run(),
        Bench::GuardServer => guard::serve(),
        Bench::GuardCopier { command } => guard::copy(&command),
        Bench::HostileTenants { attacks } => hostile_tenants::run(&attacks),
        Bench::Memory { minutes } => rivals::run_server(&["memory", &minutes]),
    }
}

fn on_one_core(name: &str, work: fn() -> anyhow::Result<()>) -> anyhow::Result<()> {
    match std::env::var_os(PINNED) {
        Some(_) => work(),
        None => run_pinned(name),
    }
}

fn run_pinned(name: &str) -> anyhow::Result<()> {
    let status = pinned("cargo", &["run", "--quiet", "--release", "--package", "xtask-bench", "--", name])
        .env(PINNED, "1")
        .status()
        .context("failed to start the benchmark")?;
    match status.success() {
        true => Ok(()),
        false => bail!("the benchmark `{name}` ended with {status}"),
    }
}

/// The program on one core, where `taskset` is there to bind it.
fn pinned(program: &str, arguments: &[&str]) -> Command {
    if !succeeds(Command::new("taskset").arg("--version")) {
        eprintln!("bench: `taskset` is missing, so this runs on every core");
        let mut command = Command::new(program);
        command.args(arguments);
        return command;
    }
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0", program]).args(arguments);
    command
}

/// The folder of conformance data: `$PROOFMARK_CONFORMANCE`, else beside the project.
fn conformance() -> anyhow::Result<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let folder = std::env::var_os("PROOFMARK_CONFORMANCE").map_or_else(beside, PathBuf::from);
    match folder.is_dir() {
        true => Ok(folder),
        false => bail!("there is no conformance data; name its folder in PROOFMARK_CONFORMANCE"),
    }
}
