//! Clients that speak HTTP over real connections, from an address of their own.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, bind, connect, socket};

/// Longer than a server lets anybody wait.
const PATIENCE: Duration = Duration::from_secs(45);

/// A caller: where its connections come from, and its API key.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) address: Ipv4Addr,
    pub(crate) key: String,
}

/// A request of a caller.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    /// Further headers, each with its end of line.
    pub(crate) headers: String,
    pub(crate) body: Vec<u8>,
}

/// A connection that stays open.
#[derive(Debug)]
pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    host: String,
}

impl Request {
    pub(crate) fn get(path: &str) -> Self {
        Self { method: "GET", path: path.to_owned(), headers: String::new(), body: Vec::new() }
    }

    pub(crate) fn post(path: &str, body: &str) -> Self {
        let headers = "content-type: application/json\r\n".to_owned();
        Self { method: "POST", path: path.to_owned(), headers, body: body.as_bytes().to_vec() }
    }

    pub(crate) fn with(mut self, header: &str) -> Self {
        self.headers.push_str(header);
        self.headers.push_str("\r\n");
        self
    }
}

impl Client {
    pub(crate) fn connect(from: Ipv4Addr, to: SocketAddrV4) -> Result<Self> {
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None)?;
        bind(&socket, &SocketAddrV4::new(from, 0))?;
        connect(&socket, &to)?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self { reader: BufReader::new(stream), host: to.to_string() })
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        self.reader.get_mut()
    }

    /// Whether the server has closed the connection, which must not block. Nothing is read.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.stream().peek(&mut [0]) {
            Ok(read) => read == 0,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        }
    }

    /// Sends a request, whose answer nobody reads.
    pub(crate) fn send(&mut self, request: &Request, caller: &Caller) -> Result<()> {
        let Request { method, path, headers, body } = request;
        let (host, key, length) = (&self.host, &caller.key, body.len());
        let mut whole = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {key}\r\n{headers}content-length: {length}\r\n\r\n"
        )
        .into_bytes();
        whole.extend_from_slice(body);
        self.stream().write_all(&whole)
    }

    /// The status of the answer to a request, once all of it was read.
    pub(crate) fn ask(&mut self, request: &Request, caller: &Caller) -> Result<u16> {
        self.answer_to(request, caller).map(|(status, _, _)| status)
    }

    /// Status, head and body of the answer.
    pub(crate) fn answer_to(&mut self, request: &Request, caller: &Caller) -> Result<(u16, String, Vec<u8>)> {
        // A refusal may come before the body was taken, and it is an answer all the same.
        let sent = self.send(request, caller);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.reader.read_line(&mut head)? == 0 {
                sent?;
                return Err(Error::from(ErrorKind::UnexpectedEof));
            }
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(ErrorKind::InvalidData)?;
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        self.reader.read_exact(&mut body)?;
        sent?;
        Ok((status, head, body))
    }
}
