//! The client of a server that runs as a process: one request at a time.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use measure::{Turn, Waits, of_this_process_and_descendants};

/// How many calls go before those that are measured.
const WARM_UP: u64 = 20;
/// How much the client reads at a time.
const BUFFER: usize = 64 << 10;

/// A connection to a server.
pub(super) struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    next: u64,
    line: Vec<u8>,
}

impl Client {
    /// Starts the command, and says what clients say first.
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("failed to start {command:?}"))?;
        let stdin = server.stdin.take();
        let stdout = server.stdout.take().context("the server has no standard output")?;
        let stdout = BufReader::with_capacity(BUFFER, stdout);
        let mut client = Self { server, stdin, stdout, next: 0, line: Vec::new() };
        client.ask(
            "initialize",
            r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#,
        )?;
        client.say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        client.ask("tools/list", "{}")?;
        Ok(client)
    }

    /// Calls a tool; the answer's line.
    pub(super) fn call(&mut self, tool: &str) -> anyhow::Result<&[u8]> {
        let number = self.next;
        self.ask("tools/call", &format!(r#"{{"name":"{tool}","arguments":{{"note":"note {number}"}}}}"#))
    }

    fn ask(&mut self, method: &str, params: &str) -> anyhow::Result<&[u8]> {
        let id = self.next;
        self.next += 1;
        self.say(&format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"))?;
        loop {
            self.line.clear();
            if self.stdout.read_until(b'\n', &mut self.line)? == 0 {
                bail!("the server ended before it answered `{method}`");
            }
            // A proxy may notify, and ask in its turn.
            let head = self.line.get(..self.line.len().min(200)).unwrap_or_default();
            let tail = self.line.get(self.line.len().saturating_sub(200)..).unwrap_or_default();
            if [head, tail].iter().any(|part| has(part, b"\"id\":") || has(part, b"\"id\": ")) {
                return Ok(&self.line);
            }
        }
    }

    fn say(&mut self, line: &str) -> anyhow::Result<()> {
        Ok(self.stdin.as_mut().context("the connection is closed")?.write_all(line.as_bytes())?)
    }

    /// Closes the connection and waits for the server.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        drop(self.stdin.take());
        self.server.wait()?;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It has ended, or an error ends the benchmark.
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

/// What a turn does: so many calls of a tool, whose answers have this text, each of so many units.
#[derive(Clone, Copy)]
pub(super) struct Calls {
    pub(super) tool: &'static str,
    pub(super) answer: &'static str,
    pub(super) count: u64,
    pub(super) units: u64,
}

/// A turn of a fresh process. The processor time is that of client, server and what is between them.
pub(super) fn turn(command: &mut Command, calls: Calls) -> anyhow::Result<Turn> {
    let mut client = Client::start(command)?;
    for _ in 0..WARM_UP.min(calls.count) {
        let answer = client.call(calls.tool)?;
        if !has(answer.get(..answer.len().min(1_000)).unwrap_or_default(), calls.answer.as_bytes()) {
            bail!("{command:?} answered otherwise: {}", String::from_utf8_lossy(answer));
        }
    }
    let mut waits = Vec::new();
    let (before, started) = (of_this_process_and_descendants()?, Instant::now());
    for _ in 0..calls.count {
        let since = Instant::now();
        client.call(calls.tool)?;
        waits.push(since.elapsed());
    }
    let wall = started.elapsed();
    let processor = of_this_process_and_descendants()?.saturating_sub(before);
    client.end()?;
    Ok(Turn { done: calls.count * calls.units, wall, processor, waits: waits_of(waits) })
}

/// The median and the 99th percentile.
pub(crate) fn waits_of(mut waits: Vec<Duration>) -> Option<Waits> {
    waits.sort_unstable();
    let (median, p99) = (*waits.get(waits.len() / 2)?, *waits.get(waits.len() * 99 / 100)?);
    Some(Waits { median, p99 })
}

fn has(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
