//! A model that says what a script says: it asks for one call, and then is done.
use crate::hook::HostName;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use proofmark_receipt::json::Limits;
use proofmark_receipt::{Json, Object, object};

/// The most bytes of a request's head, and of its body.
const MAX_HEAD: u64 = 64 << 10;
const MAX_BODY: u64 = 32 << 20;
/// How long a connection may say nothing.
const IDLE: Duration = Duration::from_secs(60);
/// The id of the call.
const CALL: &str = "call_proofmark_doctor";

/// A scripted model on this machine.
pub(super) struct Model {
    address: String,
    heard: Arc<Mutex<Heard>>,
}

/// What the host has said so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard {
    /// Whether it has asked for anything.
    pub(super) asked: bool,
    /// Whether it was told to make the call.
    pub(super) called: bool,
    /// What it says came of the call.
    pub(super) result: Option<String>,
}

struct Script {
    host: HostName,
    command: String,
    /// A part of the address that only the host was told: other programs of this machine cannot speak for it.
    secret: String,
    heard: Arc<Mutex<Heard>>,
}

impl Model {
    /// Starts a model that asks the host for this shell command.
    pub(super) fn start(host: HostName, command: &str, secret: &str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}/{secret}", listener.local_addr()?);
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (command, secret) = (command.to_owned(), secret.to_owned());
        let script = Arc::new(Script { host, command, secret, heard: Arc::clone(&heard) });
        // It ends with the process.
        thread::Builder::new().name("model".to_owned()).spawn(move || {
            for stream in listener.incoming().flatten() {
                let script = Arc::clone(&script);
                // A connection that cannot be served is one that the host tries again.
                drop(thread::Builder::new().spawn(move || script.serve(&stream)));
            }
        })?;
        Ok(Self { address, heard })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    pub(super) fn heard(&self) -> Heard {
        lock(&self.heard).clone()
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Script {
    /// Answers one request, and closes the connection.
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(IDLE))?;
        stream.set_write_timeout(Some(IDLE))?;
        let mut reader = BufReader::new(stream);
        let (target, body) = request(&mut reader)?;
        let (kind, text) = match target.strip_prefix(&format!("/{}/", self.secret)) {
            None => return respond(stream, "404 Not Found", "application/json", "{}"),
            Some(path) => self.answer(path, &body),
        };
        respond(stream, "200 OK", kind, &text)
    }

    fn answer(&self, path: &str, body: &[u8]) -> (&'static str, String) {
        let path = path.split('?').next().unwrap_or_default();
        let streams = ["/responses", ":streamGenerateContent", "/messages", "/chat/completions"];
        if !streams.iter().any(|end| path.ends_with(end)) {
            return ("application/json", r#"{"models":[],"data":[],"candidates":[],"totalTokens":1}"#.to_owned());
        }
        let limits = Limits { max_bytes: body.len(), max_depth: 256 };
        let asked = Json::parse_with(body, limits).unwrap_or(Json::Null);
        let result = match self.host {
            HostName::Claude => claude_result(&asked),
            HostName::Gemini => gemini_result(&asked),
            HostName::Copilot | HostName::Opencode => completions_result(&asked),
            HostName::Codex | HostName::Vscode | HostName::Cursor => codex_result(&asked),
        };
        let mut heard = lock(&self.heard);
        heard.asked = true;
        if heard.result.is_none() {
            heard.result = result;
        }
        let call = (!heard.called).then(|| self.call(&asked)).flatten();
        heard.called |= call.is_some();
        let text = match self.host {
            HostName::Claude => claude_events(call),
            HostName::Gemini => gemini_events(call),
            HostName::Copilot | HostName::Opencode => completions_events(call),
            HostName::Codex | HostName::Vscode | HostName::Cursor => codex_events(call),
        };
        ("text/event-stream", text)
    }

    /// The call, by the name that the host's shell tool has; `None` if it offers none.
    fn call(&self, asked: &Json) -> Option<(String, Object)> {
        let command = self.command.as_str();
        let tools = tool_names(asked);
        let has = |name: &str| tools.iter().any(|tool| tool == name);
        let words = || ["bash", "-c", command].map(Json::from).to_vec();
        [
            ("exec_command", object! { "cmd": command }),
            ("shell_command", object! { "command": command }),
            ("shell", object! { "command": words() }),
            ("run_shell_command", object! { "command": command, "description": "proofmark hook doctor" }),
            ("Bash", object! { "command": command, "description": "proofmark hook doctor" }),
            ("bash", object! { "command": command, "description": "proofmark hook doctor" }),
        ]
        .into_iter()
        .find(|(name, _)| has(name))
        .map(|(name, arguments)| (name.to_owned(), arguments))
    }
}

/// The names of the tools that a request offers, in the forms of all hosts.
fn tool_names(asked: &Json) -> Vec<String> {
    let tools = asked.as_object().and_then(|asked| asked.get("tools")?.as_array()).unwrap_or_default();
    let name = |tool: &Json| tool.as_object().and_then(|tool| tool.get("name")?.as_str().map(str::to_owned));
    let function = |tool: &Json| name(tool.as_object()?.get("function")?);
    let declared = |tool: &Json| {
        let list = tool.as_object().and_then(|tool| tool.get("functionDeclarations")?.as_array());
        list.unwrap_or_default().iter().filter_map(name).collect::<Vec<_>>()
    };
    tools.iter().flat_map(|tool| name(tool).into_iter().chain(function(tool)).chain(declared(tool))).collect()
}

fn codex_result(asked: &Json) -> Option<String> {
    let input = asked.as_object()?.get("input")?.as_array()?;
    let output = input
        .iter()
        .filter_map(Json::as_object)
        .find(|item| item.get("call_id").and_then(Json::as_str) == Some(CALL) && item.contains("output"))?;
    let output = output.get("output")?;
    Some(output.as_str().map_or_else(|| output.to_text(), str::to_owned))
}

fn gemini_result(asked: &Json) -> Option<String> {
    let contents = asked.as_object()?.get("contents")?.as_array()?;
    let parts = contents.iter().filter_map(|content| content.as_object()?.get("parts")?.as_array()).flatten();
    let response = parts.filter_map(Json::as_object).find_map(|part| part.get("functionResponse"))?;
    Some(response.to_text())
}

fn messages(asked: &Json) -> impl Iterator<Item = &Object> {
    let messages = asked.as_object().and_then(|asked| asked.get("messages")?.as_array());
    messages.unwrap_or_default().iter().filter_map(Json::as_object)
}

fn claude_result(asked: &Json) -> Option<String> {
    let blocks = messages(asked).filter_map(|message| message.get("content")?.as_array()).flatten();
    let is_result = |block: &&Object| block.get("tool_use_id").and_then(Json::as_str) == Some(CALL);
    let content = blocks.filter_map(Json::as_object).find(is_result)?.get("content")?;
    Some(content.as_str().map_or_else(|| content.to_text(), str::to_owned))
}

fn completions_result(asked: &Json) -> Option<String> {
    let is_result = |message: &&Object| message.get("tool_call_id").and_then(Json::as_str) == Some(CALL);
    let content = messages(asked).find(is_result)?.get("content")?;
    Some(content.as_str().map_or_else(|| content.to_text(), str::to_owned))
}

fn claude_events(call: Option<(String, Object)>) -> String {
    let (block, delta, reason) = match call {
        Some((name, arguments)) => (
            object! { "type": "tool_use", "id": CALL, "name": name, "input": Object::new() },
            object! { "type": "input_json_delta", "partial_json": Json::from(arguments).to_text() },
            "tool_use",
        ),
        None => (object! { "type": "text", "text": "" }, object! { "type": "text_delta", "text": "done" }, "end_turn"),
    };
    let usage = object! { "input_tokens": 1, "output_tokens": 1 };
    let message = object! {
        "id": "message_1", "type": "message", "role": "assistant", "model": "proofmark-doctor", "content": Vec::<Json>::new(),
        "stop_reason": Json::Null, "stop_sequence": Json::Null, "usage": usage.clone(),
    };
    let stop = object! { "stop_reason": reason, "stop_sequence": Json::Null };
    events(&[
        object! { "type": "message_start", "message": message },
        object! { "type": "content_block_start", "index": 0, "content_block": block },
        object! { "type": "content_block_delta", "index": 0, "delta": delta },
        object! { "type": "content_block_stop", "index": 0 },
        object! { "type": "message_delta", "delta": stop, "usage": usage },
        object! { "type": "message_stop" },
    ])
}

fn completions_events(call: Option<(String, Object)>) -> String {
    let (delta, reason) = match call {
        Some((name, arguments)) => {
            let function = object! { "name": name, "arguments": Json::from(arguments).to_text() };
            let call = object! { "index": 0, "id": CALL, "type": "function", "function": function };
            (object! { "role": "assistant", "tool_calls": vec![Json::from(call)] }, "tool_calls")
        }
        None => (object! { "role": "assistant", "content": "done" }, "stop"),
    };
    let chunk = |delta: Object, reason: Json| {
        let choice = object! { "index": 0, "delta": delta, "finish_reason": reason };
        let chunk = object! {
            "id": "chunk_1", "object": "chat.completion.chunk", "created": 1, "model": "proofmark-doctor",
            "choices": vec![Json::from(choice)],
        };
        format!("data: {}\n\n", Json::from(chunk).to_text())
    };
    [chunk(delta, Json::Null), chunk(Object::new(), reason.into()), "data: [DONE]\n\n".to_owned()].concat()
}

/// A stream of events that are named by their type.
fn events(events: &[Object]) -> String {
    let event = |event: &Object| {
        let name = event.get("type").and_then(Json::as_str).unwrap_or_default();
        format!("event: {name}\ndata: {}\n\n", Json::from(event.clone()).to_text())
    };
    events.iter().map(event).collect()
}

fn codex_events(call: Option<(String, Object)>) -> String {
    let item = match call {
        Some((name, arguments)) => object! {
            "type": "function_call", "id": "item_1", "call_id": CALL, "name": name,
            "arguments": Json::from(arguments).to_text(),
        },
        None => object! {
            "type": "message", "id": "item_2", "role": "assistant", "status": "completed",
            "content": vec![Json::from(object! { "type": "output_text", "text": "done", "annotations": Vec::<Json>::new() })],
        },
    };
    let usage = object! { "input_tokens": 1, "output_tokens": 1, "total_tokens": 2 };
    events(&[
        object! { "type": "response.created", "response": object! { "id": "response_1" } },
        object! { "type": "response.output_item.done", "output_index": 0, "item": item },
        object! { "type": "response.completed", "response": object! { "id": "response_1", "usage": usage } },
    ])
}

fn gemini_events(call: Option<(String, Object)>) -> String {
    let part = match call {
        Some((name, arguments)) => object! { "functionCall": object! { "name": name, "args": arguments } },
        None => object! { "text": "done" },
    };
    let content = object! { "role": "model", "parts": vec![Json::from(part)] };
    let candidate = object! { "content": content, "finishReason": "STOP", "index": 0 };
    let usage = object! { "promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2 };
    let event = object! { "candidates": vec![Json::from(candidate)], "usageMetadata": usage };
    format!("data: {}\n\n", Json::from(event).to_text())
}

/// Reads one request: its target and its body.
fn request(reader: &mut BufReader<&TcpStream>) -> io::Result<(String, Vec<u8>)> {
    let mut head = reader.by_ref().take(MAX_HEAD);
    let mut line = String::new();
    head.read_line(&mut line)?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let (mut length, mut chunked) = (0, false);
    loop {
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 || line.trim_end().is_empty() {
            break;
        }
        let Some((name, value)) = line.split_once(':') else { continue };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "transfer-encoding" => chunked = value.to_ascii_lowercase().contains("chunked"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    match chunked {
        true => chunks(reader, &mut body)?,
        false => drop(reader.take(u64::min(length, MAX_BODY)).read_to_end(&mut body)?),
    }
    Ok((target, body))
}

fn chunks(reader: &mut BufReader<&TcpStream>, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let mut line = String::new();
        reader.by_ref().take(MAX_HEAD).read_line(&mut line)?;
        let size = line.trim_end().split(';').next().unwrap_or_default();
        let size = u64::from_str_radix(size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
        if size == 0 {
            return Ok(());
        }
        if size + body.len() as u64 > MAX_BODY {
            return Err(io::ErrorKind::InvalidData.into());
        }
        reader.by_ref().take(size).read_to_end(body)?;
        reader.by_ref().take(2).read_line(&mut line)?;
    }
}

fn respond(mut stream: &TcpStream, status: &str, kind: &str, text: &str) -> io::Result<()> {
    let length = text.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
    )
}
