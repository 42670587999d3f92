//! Where a server listens, and how a role of it connects.

use std::fs::File;
use std::io::{self, Read};

use crate::port;

/// The role that tests connect as. It owns its databases, and has no other rights.
pub(super) const OWNER: &str = "proofmark";
/// The role that may do everything.
pub(super) const SUPERUSER: &str = "postgres";
/// The database that every server has.
pub(super) const FIRST_DATABASE: &str = "postgres";

/// A port of the loopback, and the password of all roles of the server there.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) port: u16,
    pub(super) password: String,
}

impl Address {
    /// A free port, and a new password.
    pub(super) fn draw() -> io::Result<Self> {
        Ok(Self { port: port::draw()?, password: random_hex()? })
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
