//! Ports for programs that have to be told theirs.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};

/// Below the ports that systems give to outgoing connections: another program cannot get the port of a server that does not listen
/// yet, or that was stopped to be started again.
const PORTS: std::ops::Range<u16> = 15_000..32_000;
/// How many ports are tried.
const MAX_TRIES: u32 = 100;

/// A free port of the loopback.
pub(crate) fn draw() -> io::Result<u16> {
    for _ in 0..MAX_TRIES {
        let mut bytes = [0; 2];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let port = PORTS.start + u16::from_be_bytes(bytes) % (PORTS.end - PORTS.start);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return Ok(port);
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}
