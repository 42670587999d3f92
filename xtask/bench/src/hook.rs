//! What a hook takes from its start to its answer: where it decides itself, and where a server decides that it asks by a socket.
//!
//! Beside it: the bare start of the program, and the bare commit of a store.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use measure::{Contender, TURNS, Table, Turn, in_turns, of_this_process_and_descendants};
use proofmark_store::Store;
use tempfile::TempDir;
use xtask::step::{cargo, run as run_step};

use crate::guard::{COMMIT, commits, waits_of};

/// How many events a turn has: half of them before a call, half after it.
const EVENTS: u64 = 50;
/// How many entries the sessions have at the beginning.
const FEW: u64 = 10;
const MANY: u64 = 1_000;

const START: &str = "the bare start";

/// It lets every command pass.
const POLICY: &str = "\
version: 1
tools: [{tool: shell, class: system_change}]
boundaries: [{id: commands, match: {action_class: system_change}}]
";

/// The program, and the folder in which everything is.
struct Place {
    folder: TempDir,
    proofmark: PathBuf,
}

/// Who decides.
#[derive(Clone, Copy)]
enum Decides<'a> {
    Hook,
    Server(&'a Path),
}

/// A session of a coding agent.
struct Session<'a> {
    place: &'a Place,
    decides: Decides<'a>,
    name: String,
    events: Cell<u64>,
}

pub(crate) fn run() -> anyhow::Result<()> {
    run_step(&mut cargo(&["build", "--quiet", "--release", "--package", "proofmark-cli"]))?;
    let own = std::env::current_exe()?;
    let place = Place { folder: tempfile::tempdir()?, proofmark: own.with_file_name("proofmark") };
    fs::write(place.at("policy.yaml"), POLICY)?;
    let server = Server::start(&place)?;
    let store = Store::open(place.at("commits.db"))?;
    println!(
        "A hook of a coding agent, from its start to its answer, on every core. Events are before and after a call by turns, so each
adds an entry to its session. A session of {FEW} entries is new in each turn, one of {MANY} goes on. Processor time is without that of the
server.\n"
    );
    let places = [("decides itself", Decides::Hook), ("by a socket", Decides::Server(&server.socket))];
    let mut contenders = vec![Contender::new(START, || turn(EVENTS, &|| place.start(&["--version"], "")))];
    for (how, decides) in places {
        let next = Cell::new(0);
        let place = &place;
        contenders.push(Contender::new(format!("{how}, from {FEW} entries"), move || {
            next.set(next.get() + 1);
            let session = Session::filled(place, decides, format!("few-{}", next.get()), FEW)?;
            turn(EVENTS, &|| session.event())
        }));
    }
    for (how, decides) in places {
        let session = Session::filled(&place, decides, "many".to_owned(), MANY)?;
        contenders
            .push(Contender::new(format!("{how}, from {MANY} entries"), move || turn(EVENTS, &|| session.event())));
    }
    contenders.push(Contender::new(COMMIT, || commits(&store)));
    print!("{}", Table::beside(START, "events").show(&in_turns(TURNS, contenders)?));
    Ok(())
}

impl Place {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn proofmark(&self, home: &str) -> Command {
        let mut command = Command::new(&self.proofmark);
        command.env("PROOFMARK_HOME", self.at(home)).current_dir(self.folder.path());
        command
    }

    /// Starts the program with this input, which it must answer without an objection.
    fn start(&self, words: &[&str], input: &str) -> anyhow::Result<()> {
        let mut command = self.proofmark("home");
        let mut child =
            command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        child.stdin.take().context("it has no standard input")?.write_all(input.as_bytes())?;
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() || said.contains("deny") {
            bail!("it ended with {}: {said}", output.status);
        }
        Ok(())
    }
}

impl<'a> Session<'a> {
    /// A session that has had so many events.
    fn filled(place: &'a Place, decides: Decides<'a>, name: String, events: u64) -> anyhow::Result<Self> {
        let session = Self { place, decides, name, events: Cell::new(0) };
        (0..events).try_for_each(|_| session.event())?;
        Ok(session)
    }

    /// The next event: before a call, or after the same.
    fn event(&self) -> anyhow::Result<()> {
        let number = self.events.replace(self.events.get() + 1);
        let (call, name) = (number / 2, &self.name);
        let (kind, more) = match number % 2 {
            0 => ("PreToolUse", ""),
            _ => {
                ("PostToolUse", r#","tool_response":{"stdout":"done","stderr":"","interrupted":false,"isImage":false}"#)
            }
        };
        let event = format!(
            r#"{{"session_id":"{name}","transcript_path":"/none","cwd":"/tmp","permission_mode":"default",
                "hook_event_name":"{kind}","tool_name":"Bash","tool_input":{{"command":"echo {call}"}},"tool_use_id":"toolu_{call}"{more}}}"#
        );
        let policy = self.place.at("policy.yaml").display().to_string();
        match self.decides {
            Decides::Hook => self.place.start(&["hook", "claude", "--policy", &policy], &event),
            Decides::Server(socket) => {
                self.place.start(&["hook", "claude", "--server", &format!("unix:{}", socket.display())], &event)
            }
        }
    }
}

/// A server that decides by a socket, with a store of its own. It ends when this is dropped.
struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn start(place: &Place) -> anyhow::Result<Self> {
        let socket = place.at("socket");
        let mut command = place.proofmark("server-home");
        command.args(["serve", "--no-verify", "--policy"]).arg(place.at("policy.yaml")).arg("--socket").arg(&socket);
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut server = Self { child, socket };
        while UnixStream::connect(&server.socket).is_err() {
            if let Some(status) = server.child.try_wait()? {
                bail!("the server ended with {status}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A turn of work that is done so many times.
fn turn(times: u64, work: &dyn Fn() -> anyhow::Result<()>) -> anyhow::Result<Turn> {
    let mut waits = Vec::new();
    let (before, started) = (of_this_process_and_descendants()?, Instant::now());
    for _ in 0..times {
        let since = Instant::now();
        work()?;
        waits.push(since.elapsed());
    }
    let (wall, after) = (started.elapsed(), of_this_process_and_descendants()?);
    Ok(Turn { done: times, wall, processor: after.saturating_sub(before), waits: waits_of(waits) })
}
