//! A guarded server on standard input and output.
//!
//! One thread reads the client, one the server. A message that goes on is written whole, by one thread at a time for each
//! side. The server's standard input closes when the client's does, and when this process ends in any way, so a server is
//! never left without its guard.

use std::io::{self, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_verifier::{Guard, MAX_MESSAGE_BYTES, Passage};
use rustix::process::{Pid, Signal, kill_process_group};

use super::lines::{self, Line};
use crate::error::with_help;
use crate::exit::Exit;
use crate::out;
use crate::paint::printable;

/// How often results are recorded that no decision has taken along.
const FLUSH_EVERY: Duration = Duration::from_millis(200);
/// How long a server may go on after its standard input was closed.
const GRACE: Duration = Duration::from_secs(5);
/// How much is read at a time.
const BUFFER: usize = 64 << 10;

/// Both sides of the connection, as far as they are written to.
struct Wires {
    client: Mutex<io::Stdout>,
    /// `None` after the client has closed its side.
    server: Mutex<Option<ChildStdin>>,
}

/// Starts the server, and moves messages until it ends.
pub(super) fn run(guard: Guard, command: &[String]) -> anyhow::Result<Exit> {
    let mut server = start(command)?;
    let group = Pid::from_child(&server);
    let (guard, stdout) = (Arc::new(guard), server.stdout.take());
    let wires = Arc::new(Wires { client: Mutex::new(io::stdout()), server: Mutex::new(server.stdin.take()) });
    {
        let (guard, wires) = (Arc::clone(&guard), Arc::clone(&wires));
        // Not waited for: where the server ends first, it still reads from a client that says nothing.
        thread::Builder::new().name("client".to_owned()).spawn(move || {
            from_client(&guard, &wires);
            end_later(group);
        })?;
    }
    {
        let guard = Arc::clone(&guard);
        thread::Builder::new().name("record".to_owned()).spawn(move || record(&guard))?;
    }
    if let Some(stdout) = stdout {
        from_server(&guard, &wires, BufReader::with_capacity(BUFFER, stdout));
    }
    carry(&wires, guard.server_ended());
    // What it started may hold on to what is not ours.
    let status = end(&mut server, group)?;
    if let Err(error) = guard.close() {
        out::note(format_args!("failed to record the end of the session: {error}"));
        return Ok(Exit::NoAnswer);
    }
    std::process::exit(code(status))
}

fn start(command: &[String]) -> anyhow::Result<Child> {
    let (program, arguments) = command.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut server = Command::new(program);
    server.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    // Ctrl-C is for this process, which then ends the server in order.
    server.process_group(0);
    server.spawn().map_err(|error| {
        with_help(format!("start the server `{}`: {error}", printable(program)), "give its command after `--`")
    })
}

fn from_client(guard: &Guard, wires: &Wires) {
    let mut input = BufReader::with_capacity(BUFFER, io::stdin().lock());
    loop {
        match lines::next(&mut input, MAX_MESSAGE_BYTES) {
            Ok(Some(Line::Whole(line))) if line.trim_ascii().is_empty() => {}
            Ok(Some(Line::Whole(line))) => carry(wires, guard.from_client(&line)),
            // As a line that is no JSON: it has no id that could be read.
            Ok(Some(Line::TooLong)) => carry(wires, guard.from_client(b"the line is too long")),
            Ok(None) | Err(_) => break,
        }
    }
    drop(wires.server.lock().unwrap_or_else(PoisonError::into_inner).take());
}

fn from_server(guard: &Guard, wires: &Wires, mut output: impl io::BufRead) {
    loop {
        match lines::next(&mut output, MAX_MESSAGE_BYTES) {
            Ok(Some(Line::Whole(line))) if line.trim_ascii().is_empty() => {}
            Ok(Some(Line::Whole(line))) => carry(wires, guard.from_server(&line)),
            Ok(Some(Line::TooLong)) => out::note("the server wrote a line that is too long; it is not forwarded"),
            Ok(None) | Err(_) => return,
        }
    }
}

/// Moves what is to be moved. A side that cannot be written to has gone: its reader notices.
fn carry(wires: &Wires, passages: Vec<Passage>) {
    for passage in passages {
        match passage {
            Passage::ToClient(text) => {
                let mut client = wires.client.lock().unwrap_or_else(PoisonError::into_inner);
                let _gone = writeln!(client, "{text}").and_then(|()| client.flush());
            }
            Passage::ToServer(text) => {
                let mut server = wires.server.lock().unwrap_or_else(PoisonError::into_inner);
                let _gone = server.as_mut().map(|server| server.write_all(format!("{text}\n").as_bytes()));
            }
            Passage::Log(text) => out::note(format_args!("proofmark guard: {}", printable(&text))),
        }
    }
}

/// Records what waits, from time to time.
fn record(guard: &Guard) {
    loop {
        thread::sleep(FLUSH_EVERY);
        if let Err(error) = guard.flush() {
            out::note(format_args!("failed to record the session: {error}; calls are blocked until it works"));
        }
    }
}

/// Ends the server and what it started, if they go on after their standard input was closed.
fn end_later(group: Pid) {
    thread::sleep(GRACE);
    let _gone = kill_process_group(group, Signal::TERM);
    thread::sleep(GRACE);
    let _gone = kill_process_group(group, Signal::KILL);
}

/// Waits for the server, whose output has ended; kills it if it goes on without.
fn end(server: &mut Child, group: Pid) -> io::Result<ExitStatus> {
    let since = Instant::now();
    loop {
        if let Some(status) = server.try_wait()? {
            return Ok(status);
        }
        if since.elapsed() > GRACE {
            let _gone = kill_process_group(group, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// The server's exit code; for a signal what shells report.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(2)
}
