//! What `proofmark guard` adds to a server over standard streams: to calls that it allows and blocks, and to a long result.
//!
//! Beside it: the server alone, a program that only moves bytes, the bare commit of a store, and open proxies.

mod client;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use measure::{Contender, TURNS, Table, Turn, in_turns, of_this_process_and_descendants};
use proofmark_store::Store;
use tempfile::TempDir;
use xtask::machine;
use xtask::step::{cargo, run as run_step};

pub(crate) use client::waits_of;
use client::{Calls, turn};
pub(crate) use server::{copy, serve};

/// How many calls and commits a turn has.
const CALLS: u64 = 1_000;
const BIG_CALLS: u64 = 3;

/// The contenders that the others are compared with.
const COPIER: &str = "byte copier";
pub(crate) const COMMIT: &str = "a commit of the store";
/// A rival that is left out where results are long.
const SLOW: &str = "agentbelay, not durable";

/// It lets everything pass but `write`.
const POLICY: &str = "\
version: 1
tools:
  - {tool: [read, big], class: generic, reads: true}
  - {tool: write, class: record_mutation}
boundaries:
  - id: reads
    match: {action_class: generic}
  - id: writes
    match: {action_class: record_mutation}
    require:
      - fact: size(action.args.note) > 1000
";

/// The same for the rival.
const RIVAL_POLICY: &str = "\
version: 1
default: allow
rules:
  - {id: writes, action: deny, match: {tool: mcp__server__write}, message: blocked}
";

/// The programs, and the folder in which everything is.
struct Place {
    folder: TempDir,
    /// This program, which serves and copies.
    own: PathBuf,
    proofmark: PathBuf,
}

pub(crate) fn run() -> anyhow::Result<()> {
    run_step(&mut cargo(&["build", "--quiet", "--release", "--package", "proofmark-cli"]))?;
    let own = std::env::current_exe()?;
    let place = Place { folder: tempfile::tempdir()?, proofmark: own.with_file_name("proofmark"), own };
    fs::write(place.at("policy.yaml"), POLICY)?;
    fs::write(place.at("belay.yaml"), RIVAL_POLICY)?;
    let rivals = machine::python_of_rivals(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"));
    let rivals = rivals.as_deref().and_then(Path::parent);
    println!(
        "One client over standard streams, one call at a time, on every core. Guard decides, signs and stores each call before it
forwards it. Each turn is a new session. Processor time is that of client, server and what is between them."
    );
    place.calls("An allowed call", Calls { tool: "read", answer: "done", count: CALLS, units: 1 }, rivals)?;
    place.calls("A blocked call", Calls { tool: "write", answer: "Not executed", count: CALLS, units: 1 }, None)?;
    let mib = server::BIG as u64 >> 20;
    place.results("A result of 10 MiB", Calls { tool: "big", answer: "worker-7", count: BIG_CALLS, units: mib }, rivals)
}

impl Place {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn alone(&self) -> Command {
        let mut command = Command::new(&self.own);
        command.arg("guard-server");
        command
    }

    fn copied(&self) -> Command {
        let mut command = Command::new(&self.own);
        command.args(["guard-copier", "--"]).arg(&self.own).arg("guard-server");
        command
    }

    fn guarded(&self) -> Command {
        let mut command = self.proofmark();
        command.args(["guard", "--name", "bench", "--policy"]).arg(self.at("policy.yaml"));
        command.arg("--").arg(&self.own).arg("guard-server");
        command
    }

    fn proofmark(&self) -> Command {
        let mut command = Command::new(&self.proofmark);
        command.env("PROOFMARK_HOME", self.at("home")).current_dir(self.folder.path());
        command
    }

    /// The open proxies, from a folder of programs: one that passes everything on, and one that decides by rules.
    fn rivals(&self, programs: &Path) -> anyhow::Result<Vec<(&'static str, Command)>> {
        let own = self.own.display();
        let servers = format!(r#"{{"mcpServers":{{"server":{{"command":"{own}","args":["guard-server"]}}}}}}"#);
        fs::write(self.at("servers.json"), servers)?;
        let mut fastmcp = Command::new(programs.join("fastmcp"));
        fastmcp.args(["run", "--transport", "stdio", "--no-banner"]).arg(self.at("servers.json"));
        let mut belay = Command::new(programs.join("belay"));
        belay.args(["mcp", "--name", "server", "--policy"]).arg(self.at("belay.yaml"));
        belay.arg("--audit").arg(self.at("audit.jsonl")).arg("--").arg(&self.own).arg("guard-server");
        for command in [&mut fastmcp, &mut belay] {
            command.current_dir(self.folder.path()).env("FASTMCP_CHECK_FOR_UPDATES", "off");
        }
        Ok(vec![("FastMCP's proxy", fastmcp), (SLOW, belay)])
    }

    fn contenders(&self, calls: Calls, rivals: Option<&Path>) -> anyhow::Result<Vec<Contender<'_>>> {
        let mut commands = vec![("the server alone", self.alone()), (COPIER, self.copied()), ("guard", self.guarded())];
        let rivals = rivals.map(|programs| self.rivals(programs)).transpose()?.into_iter().flatten();
        // It takes seconds for a long result.
        commands.extend(rivals.filter(|(name, _)| calls.units == 1 || *name != SLOW));
        let contender = |(name, mut command): (&str, Command)| Contender::new(name, move || turn(&mut command, calls));
        Ok(commands.into_iter().map(contender).collect())
    }

    fn calls(&self, title: &str, calls: Calls, rivals: Option<&Path>) -> anyhow::Result<()> {
        println!("\n{title}:\n");
        let mut contenders = match calls.answer {
            "done" => self.contenders(calls, rivals)?,
            // What does not block answers otherwise.
            _ => {
                let mut command = self.guarded();
                vec![Contender::new("guard", move || turn(&mut command, calls))]
            }
        };
        let store = Store::open(self.at("commits.db"))?;
        let turn = move || commits(&store);
        contenders.push(Contender::new(COMMIT, turn));
        print!("{}", Table::beside(COMMIT, "calls").show(&in_turns(TURNS, contenders)?));
        Ok(())
    }

    fn results(&self, title: &str, calls: Calls, rivals: Option<&Path>) -> anyhow::Result<()> {
        println!("\n{title}:\n");
        print!("{}", Table::beside(COPIER, "MiB").show(&in_turns(TURNS, self.contenders(calls, rivals)?)?));
        Ok(())
    }
}

/// A turn of bare commits: what any durable record takes at least.
pub(crate) fn commits(store: &Store) -> anyhow::Result<Turn> {
    let mut waits = Vec::new();
    let (before, started) = (of_this_process_and_descendants()?, Instant::now());
    for _ in 0..CALLS {
        let since = Instant::now();
        store.probe()?;
        waits.push(since.elapsed());
    }
    let (wall, after) = (started.elapsed(), of_this_process_and_descendants()?);
    Ok(Turn { done: CALLS, wall, processor: after.saturating_sub(before), waits: waits_of(waits) })
}
