//! A guarded server on standard input and output.
//!
//! One thread reads the client, one the server, and one writes to the server: a server that does not read keeps nobody from an answer
//! that needs no server. A message that goes on is written whole, by one thread at a time for each side. The server's standard input closes when the client's does, and when this process ends in any way; a server that goes on
//! all the same is ended ([`super::watch`]), so a server is never left without its guard.

use std::collections::VecDeque;
use std::io::{self, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use proofmark_decider::{Judge, Passage};
use proofmark_guard::MAX_MESSAGE_BYTES;
use rustix::process::{Pid, Signal, kill_process_group};

use super::lines::{self, Line};
use super::server_pipes::{Stderr, ToServer};
use super::watch::{GRACE, Watch, end_group};
use crate::error::with_help;
use crate::exit::Exit;
use crate::out;
use crate::paint::printable;
use crate::telling::Telling;

/// How often results are recorded that no decision has taken along, and what waits is looked at.
const ROUND: Duration = Duration::from_millis(200);
/// How often it is looked whether the server's list has come, once the client has closed its side.
const SHORT_ROUND: Duration = Duration::from_millis(10);
/// How long what is on its way may take, once the client has closed its side.
const PATIENCE: Duration = Duration::from_secs(30);
/// How many rounds are left out after one in which nothing could be recorded.
const ROUNDS_LEFT_OUT: u32 = 5;
/// How much is read at a time.
const BUFFER: usize = 256 << 10;
/// How much a pipe of results holds: the longer it is, the less often both of its sides wait for each other.
const PIPE: usize = 256 << 10;

/// Both sides of the connection, as far as they are written to.
struct Wires {
    client: Mutex<io::Stdout>,
    server: ToServer,
    /// Read while something is decided and moved; written to close the server's side, so that nothing is on its way then.
    moving: RwLock<()>,
}

/// Starts the server, and moves messages until it ends. `each_round` is called from time to time. The rest of `telling` is exported at the
/// end.
pub(super) fn run<J: Judge>(
    guard: J,
    each_round: impl FnMut(&J) + Send + 'static,
    command: &[String],
    telling: Option<Telling>,
) -> anyhow::Result<Exit> {
    let watch = Watch::start().context("start the process that ends the server if this one is killed")?;
    let mut server = start(command)?;
    let group = Pid::from_child(&server);
    if let Err(error) = watch.set_group(group) {
        let _gone = kill_process_group(group, Signal::KILL);
        return Err(error).context("watch the server");
    }
    let (guard, stdout) = (Arc::new(guard), server.stdout.take());
    // Where it is not a pipe, or may not be longer, it stays as it is.
    let _as_before = rustix::pipe::fcntl_setpipe_size(io::stdout(), PIPE);
    let _as_before = stdout.as_ref().map(|stdout| rustix::pipe::fcntl_setpipe_size(stdout, PIPE));
    let stderr = server.stderr.take().map(Stderr::pass_on).transpose()?;
    let wires = Arc::new(Wires {
        client: Mutex::new(io::stdout()),
        server: ToServer::new(server.stdin.take())?,
        moving: RwLock::default(),
    });
    // What the operator is told of the beginning.
    carry(&*guard, &wires, guard.tick());
    {
        let (guard, wires) = (Arc::clone(&guard), Arc::clone(&wires));
        // Not waited for: where the server ends first, it still reads from a client that says nothing.
        thread::Builder::new().name("client".to_owned()).spawn(move || {
            from_client(&*guard, &wires);
            end_group(group);
        })?;
    }
    {
        let (guard, wires) = (Arc::clone(&guard), Arc::clone(&wires));
        thread::Builder::new().name("rounds".to_owned()).spawn(move || rounds(&*guard, &wires, each_round))?;
    }
    if let Some(stdout) = stdout {
        from_server(&*guard, &wires, BufReader::with_capacity(BUFFER, stdout));
    }
    carry(&*guard, &wires, guard.server_ended());
    // What it started may hold on to what is not ours.
    let status = end(&mut server, group)?;
    watch.stop();
    stderr.into_iter().for_each(Stderr::wait);
    if let Err(error) = guard.close() {
        out::note(format_args!("failed to record the end of the session: {error}"));
        return Ok(Exit::NoAnswer);
    }
    drop(telling);
    std::process::exit(code(status))
}

fn start(command: &[String]) -> anyhow::Result<Child> {
    let (program, arguments) = command.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut server = Command::new(program);
    server.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C is for this process, which then ends the server in order.
    server.process_group(0);
    server.spawn().map_err(|error| {
        with_help(format!("start the server `{}`: {error}", printable(program)), "give its command after `--`")
    })
}

fn from_client(guard: &impl Judge, wires: &Wires) {
    let mut input = BufReader::with_capacity(BUFFER, io::stdin().lock());
    loop {
        match lines::next(&mut input, MAX_MESSAGE_BYTES) {
            Ok(Some(Line::Whole(line))) if line.trim_ascii().is_empty() => {}
            Ok(Some(Line::Whole(line))) if wires.server.is_full() => carry(guard, wires, guard.not_forwarded(line)),
            Ok(Some(Line::Whole(line))) => carry(guard, wires, guard.client_said(line)),
            // As a line that is no JSON: it has no id that could be read.
            Ok(Some(Line::TooLong)) => carry(guard, wires, guard.client_said(b"the line is too long".to_vec())),
            Ok(None) | Err(_) => break,
        }
    }
    carry(guard, wires, guard.client_ended());
    let since = Instant::now();
    loop {
        // What the client has sent before it closed its side is still decided. A side may read nothing more.
        let is_over = match wires.moving.try_write() {
            Ok(_nothing_moves) if guard.waits_for_list() => false,
            Ok(_nothing_moves) => true,
            Err(_) => since.elapsed() > PATIENCE,
        };
        if is_over {
            wires.server.close();
            return;
        }
        thread::sleep(SHORT_ROUND);
    }
}

fn from_server(guard: &impl Judge, wires: &Wires, mut output: impl io::BufRead) {
    loop {
        match lines::next(&mut output, MAX_MESSAGE_BYTES) {
            Ok(Some(Line::Whole(line))) if line.trim_ascii().is_empty() => {}
            Ok(Some(Line::Whole(line))) => moving(guard, wires, || guard.server_said(line)),
            Ok(Some(Line::TooLong)) => out::note("the server wrote a line that is too long; it is not forwarded"),
            Ok(None) | Err(_) => return,
        }
    }
}

/// Moves what follows from an event that is not the client's.
fn moving(guard: &impl Judge, wires: &Wires, follows: impl FnOnce() -> Vec<Passage>) {
    let _moving = wires.moving.read().unwrap_or_else(PoisonError::into_inner);
    carry(guard, wires, follows());
}

/// Moves what is to be moved. A side that cannot be written to has gone: its reader notices.
fn carry(guard: &impl Judge, wires: &Wires, passages: Vec<Passage>) {
    let mut passages = VecDeque::from(passages);
    while let Some(passage) = passages.pop_front() {
        match passage {
            Passage::ToClient(mut text) | Passage::Progress(mut text) => {
                text.push('\n');
                let mut client = wires.client.lock().unwrap_or_else(PoisonError::into_inner);
                let _gone = client.write_all(text.as_bytes()).and_then(|()| client.flush());
            }
            Passage::Moved(moving) => passages.extend(guard.moved(moving)),
            Passage::ToServer(text) | Passage::Ask(_, text) => wires.server.send(text),
            Passage::Of(_, passage) => passages.push_front(*passage),
            Passage::Log(text) => out::note(format_args!("proofmark guard: {}", printable(&text))),
        }
    }
}

/// Looks at what may have changed, goes on with what waits, and records, from time to time.
fn rounds<J: Judge>(guard: &J, wires: &Wires, mut each_round: impl FnMut(&J)) {
    let (mut is_failing, mut left_out) = (false, 0);
    loop {
        thread::sleep(ROUND);
        each_round(guard);
        moving(guard, wires, || guard.tick());
        if left_out > 0 {
            left_out -= 1;
            continue;
        }
        let recorded = guard.flush();
        match (&recorded, is_failing) {
            (Err(error), false) => {
                out::note(format_args!("failed to record the session: {error}; calls are blocked until it works"));
            }
            (Ok(()), true) => out::note("the session is recorded again"),
            (Err(_), true) | (Ok(()), false) => {}
        }
        is_failing = recorded.is_err();
        left_out = if is_failing { ROUNDS_LEFT_OUT } else { 0 };
    }
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
