//! Where a server listens, and how a role of it connects.

use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener};

/// The role that tests connect as. It owns its databases, and has no other rights.
pub(super) const OWNER: &str = "proofmark";
/// The role that may do everything.
pub(super) const SUPERUSER: &str = "postgres";
/// The database that every server has.
pub(super) const FIRST_DATABASE: &str = "postgres";

/// Below the ports that systems give to outgoing connections: another program cannot get the port of a server that was stopped to be
/// started again.
const PORTS: std::ops::Range<u16> = 15_000..32_000;
/// How many ports are tried.
const MAX_TRIES: u32 = 100;

/// A port of the loopback, and the password of all roles of the server there.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) port: u16,
    pub(super) password: String,
}

impl Address {
    /// A free port, and a new password.
    pub(super) fn draw() -> io::Result<Self> {
        Ok(Self { port: free_port()?, password: random_hex()? })
    }

    pub(super) fn url(&self, role: &str, database: &str) -> String {
        format!("postgres://{role}:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    /// The address and the database of a URL of [`Address::url`].
    pub(super) fn of_url(url: &str) -> Option<(Self, &str)> {
        let (_role, rest) = url.strip_prefix("postgres://")?.split_once(':')?;
        let (password, rest) = rest.split_once("@127.0.0.1:")?;
        let (port, database) = rest.split_once('/')?;
        Some((Self { port: port.parse().ok()?, password: password.to_owned() }, database))
    }
}

/// 16 bytes that nobody can guess, as hex digits.
pub(super) fn random_hex() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

fn free_port() -> io::Result<u16> {
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
