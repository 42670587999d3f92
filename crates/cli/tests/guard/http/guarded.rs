//! A guard over HTTP with its server and a client, as processes and connections of a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::{INITIALIZE, LIST, METHOD, SERVER, VERSION, stateless};
use crate::{BINARY, PATIENCE, Place, call};

/// A process that says on a line where it listens, and is ended with the test.
pub(crate) struct Listening {
    pub(crate) child: Child,
    pub(crate) address: String,
}

/// A guarded server.
pub(super) struct Guarded {
    pub(super) guard: Listening,
    pub(super) server: Listening,
    pub(super) session: Option<String>,
}

/// What a client was answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Listening {
    /// Starts a process; `found` takes the address out of a line of the output that it names.
    pub(super) fn of(command: &mut Command, of_errors: bool, found: impl Fn(&str) -> Option<String>) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Node's programs start others.
        let mut child = command.process_group(0).spawn().unwrap();
        let (out, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (from, rest): (Box<dyn Read + Send>, Box<dyn Read + Send>) =
            if of_errors { (Box::new(errors), Box::new(out)) } else { (Box::new(out), Box::new(errors)) };
        std::thread::spawn(move || std::io::copy(&mut BufReader::new(rest), &mut std::io::sink()));
        let mut lines = BufReader::new(from);
        let mut all = String::new();
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it does not listen: {all}");
            if let Some(address) = found(line.trim()) {
                break address;
            }
            all.push_str(&line);
        };
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        Self { child, address }
    }

    pub(super) fn server(place: &Place, how: &[&str]) -> Self {
        let mut command = Command::new("python3");
        command.arg(SERVER).arg(place.at("effects")).args(how);
        Self::of(&mut command, false, |line| Some(format!("127.0.0.1:{line}")))
    }

    pub(super) fn guard(place: &Place, upstream: &str, options: &[&str]) -> Self {
        Self::guard_named(place, upstream, &[&["--name", "lenient"], options].concat())
    }

    pub(super) fn guard_named(place: &Place, upstream: &str, options: &[&str]) -> Self {
        let mut command = Command::new(BINARY);
        let (option, decides) = match &place.judge {
            Some(judge) => ("--server", judge.address.as_str()),
            None => ("--policy", "policy.yaml"),
        };
        command.args(["guard", option, decides, "--listen", "127.0.0.1:0"]);
        command.args(["--upstream", upstream]).args(options);
        command.current_dir(place.folder.path()).envs(place.home.variables());
        Self::of(&mut command, true, |line| {
            let (_, address) = line.split_once(" on http://")?;
            Some(address.split('/').next()?.to_owned())
        })
    }

    /// A server that decides for guards, by a socket.
    pub(super) fn judge(place: &Place, options: &[&str]) -> Self {
        let mut command = Command::new(BINARY);
        command.args(["serve", "--no-verify", "--policy", "policy.yaml", "--socket", "socket"]).args(options);
        command.current_dir(place.folder.path()).envs(place.home.variables());
        let address = format!("unix:{}", place.at("socket").display());
        Self::of(&mut command, true, |line| line.contains("deciding for guards and hooks").then(|| address.clone()))
    }

    /// Ends it as a supervisor of services does.
    pub(super) fn stop(&mut self) {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success() && self.child.wait().unwrap().success());
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(
            Command::new("kill").args(["-KILL", "--", &format!("-{}", self.child.id())]).stderr(Stdio::null()).status(),
        );
        drop(self.child.wait());
    }
}

impl Guarded {
    pub(super) fn start(place: &Place, how: &[&str]) -> Self {
        Self::with(place, how, &[])
    }

    pub(super) fn with(place: &Place, how: &[&str], options: &[&str]) -> Self {
        let server = Listening::server(place, how);
        let guard = Listening::guard(place, &format!("http://{}/mcp", server.address), options);
        Self { guard, server, session: None }
    }

    /// A session whose tools are listed.
    pub(super) fn listed(place: &Place, how: &[&str]) -> Self {
        let mut guarded = Self::start(place, how);
        guarded.begin();
        guarded
    }

    pub(super) fn begin(&mut self) {
        self.begin_with(INITIALIZE);
    }

    pub(super) fn begin_with(&mut self, initialize: &str) {
        self.session = None;
        let begun = self.post(initialize, &[]);
        assert_eq!(begun.status, 200, "{begun:?}");
        self.session = begun.header("mcp-session-id").map(str::to_owned);
        assert!(self.post(LIST, &[]).body.contains("does read"));
    }

    pub(super) fn post(&self, body: &str, headers: &[&str]) -> Answer {
        self.post_bytes(body.as_bytes(), headers)
    }

    pub(super) fn post_bytes(&self, body: &[u8], headers: &[&str]) -> Answer {
        self.ask("POST", "/mcp", headers, body)
    }

    /// A request with `Host`, `Content-Type` and the session, unless the headers have them.
    pub(super) fn ask(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut stream = self.send(method, path, headers, body);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::read(&bytes)
    }

    pub(super) fn send(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        let has = |name: &str| headers.iter().any(|header| header.to_lowercase().starts_with(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let session = self.session.as_ref().map(|session| format!("Mcp-Session-Id: {session}"));
        for (name, header) in [
            ("host:", Some(format!("Host: {}", self.guard.address))),
            ("content-type:", Some("Content-Type: application/json".to_owned())),
            ("content-length:", Some(format!("Content-Length: {}", body.len()))),
            ("mcp-session-id:", session),
        ] {
            if let (Some(header), false) = (header, has(name) || (name == "content-length:" && has("transfer-"))) {
                head.push_str(&format!("{header}\r\n"));
            }
        }
        headers.iter().for_each(|header| head.push_str(&format!("{header}\r\n")));
        stream.write_all(format!("{head}\r\n").as_bytes()).unwrap();
        stream.write_all(body).unwrap();
        stream
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.guard.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub(super) fn call(&self, id: u32, tool: &str) -> Answer {
        self.post(&call(id, tool), &[])
    }

    /// A call of the revision without sessions, with the headers that it has to have.
    pub(super) fn stateless(&self, id: u32, tool: &str) -> Answer {
        self.post(&stateless(id, tool), &[VERSION, METHOD, &format!("Mcp-Name: {tool}")])
    }

    /// Reads a stream until it has said something.
    pub(super) fn until(&self, stream: &mut TcpStream, what: &str) -> String {
        let mut all = Vec::new();
        let mut part = [0; 4096];
        loop {
            let read = stream.read(&mut part).unwrap();
            all.extend_from_slice(part.get(..read).unwrap());
            let said = String::from_utf8_lossy(&all).into_owned();
            assert!(read > 0 || said.contains(what), "no `{what}` in {said}");
            if said.contains(what) {
                return said;
            }
        }
    }
}

impl Answer {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|end| end == b"\r\n\r\n").unwrap_or_else(|| panic!("{bytes:?}"));
        let (head, body) = bytes.split_at(end + 4);
        let head = String::from_utf8_lossy(head).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { unchunked(body) } else { body.to_vec() };
        Self { status, head, body: String::from_utf8_lossy(&body).into_owned() }
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.lines().find(|line| line.to_lowercase().starts_with(&format!("{name}:")))?;
        Some(line.split_once(':')?.1.trim())
    }
}

fn unchunked(mut body: &[u8]) -> Vec<u8> {
    let mut whole = Vec::new();
    while let Some(end) = body.windows(2).position(|end| end == b"\r\n") {
        let (size, chunk) = body.split_at(end + 2);
        let size = usize::from_str_radix(std::str::from_utf8(size).unwrap().trim(), 16).unwrap();
        if size == 0 || chunk.len() < size + 2 {
            break;
        }
        let (chunk, rest) = chunk.split_at(size);
        whole.extend_from_slice(chunk);
        body = rest.split_at(2).1;
    }
    whole
}
