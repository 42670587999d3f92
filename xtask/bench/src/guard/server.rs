//! The server that is guarded, and the program that only moves bytes. Both run as processes of their own.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::Context;
use proofmark_receipt::{Json, Object, object};

/// The length of the text that the tool `big` answers, in bytes.
pub(super) const BIG: usize = 10 << 20;
/// How much the copier moves at a time, as `guard` does.
const BUFFER: usize = 64 << 10;
/// What the long text repeats: words, quotes that JSON escapes, and a line's end.
const LINE: &str = "2026-11-22T08:32:00Z worker-7 \"GET /items/4711\" took 12 ms and returned 200 OK\n";

/// Answers requests until standard input ends.
pub(crate) fn serve() -> anyhow::Result<()> {
    let big = Json::from(object! { "content": vec![text(&LINE.repeat(BIG.div_ceil(LINE.len())))] }).to_text();
    let mut out = io::stdout().lock();
    for line in BufReader::new(io::stdin().lock()).lines() {
        let message = Json::parse(line?.as_bytes())?;
        let message = message.as_object().context("the message is no object")?;
        let Some(id) = message.get("id") else { continue };
        let result = match message.get("method").and_then(Json::as_str) {
            Some("initialize") => initialized(message).to_text(),
            Some("tools/list") => tools().to_text(),
            Some("tools/call") if tool_of(message) == Some("big") => big.clone(),
            Some("tools/call") => Json::from(object! { "content": vec![text("done")] }).to_text(),
            _ => "{}".to_owned(),
        };
        out.write_all(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n", id.to_text()).as_bytes())?;
        out.flush()?;
    }
    Ok(())
}

fn tool_of(message: &Object) -> Option<&str> {
    message.get("params")?.as_object()?.get("name")?.as_str()
}

fn text(text: &str) -> Json {
    object! { "type": "text", "text": text }.into()
}

fn initialized(message: &Object) -> Json {
    let asked = message.get("params").and_then(|params| params.as_object()?.get("protocolVersion"));
    let version = asked.cloned().unwrap_or_else(|| "2025-06-18".into());
    object! {
        "protocolVersion": version,
        "capabilities": object! { "tools": Object::new() },
        "serverInfo": object! { "name": "bench", "version": "1" },
    }
    .into()
}

fn tools() -> Json {
    let tool = |name: &str| {
        Json::from(object! { "name": name, "inputSchema": object! { "type": "object", "properties": Object::new() } })
    };
    object! { "tools": ["read", "write", "big"].map(tool).to_vec() }.into()
}

/// Moves bytes between this process's streams and those of a command, and looks at none of them.
pub(crate) fn copy(command: &[String]) -> anyhow::Result<()> {
    let (program, arguments) = command.split_first().context("give the command of a server")?;
    let mut server = Command::new(program).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let stdin = server.stdin.take().context("the server has no standard input")?;
    let stdout = server.stdout.take().context("the server has no standard output")?;
    thread::spawn(move || moved(io::stdin().lock(), stdin));
    moved(stdout, io::stdout().lock())?;
    server.wait()?;
    Ok(())
}

fn moved(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let length = from.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(buffer.get(..length).unwrap_or_default())?;
        to.flush()?;
    }
}
