//! The hosts, each in a file of its own.

mod claude;
mod claude_desktop;
mod codex;
mod copilot;
mod copilot_files;
mod cursor;
mod gemini;
mod opencode;
mod vscode;
mod windsurf;

use std::fmt;

use thiserror::Error;

use crate::answer::Answers;
use crate::event::Events;
use crate::gap::Gap;
use crate::installation::Installation;
use crate::message::Message;
use crate::record::Record;
use crate::servers::Servers;

/// A program that runs agents and asks hooks: everything that is known of it.
pub struct Host {
    /// Its name in commands, sessions and receipts.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The program that a person starts; none for an editor.
    pub program: Option<Program>,
    pub events: Events,
    pub answers: Answers,
    /// Its own record of a session.
    pub record: Record,
    pub installation: Installation,
    /// What it does without asking.
    pub gaps: &'static [Gap],
    /// How its MCP servers are configured, where that is known.
    servers: Option<Servers>,
}

/// The program of a host.
pub struct Program {
    pub name: &'static str,
    /// The version that the tests of Proofmark run.
    pub tested: &'static str,
    /// The oldest version whose hooks stop a call; none where all do.
    pub oldest: Option<Oldest>,
}

/// The oldest version of a host that can be used.
pub struct Oldest {
    pub version: &'static [u64],
    /// What versions before it do.
    pub before: &'static str,
    pub help: &'static str,
}

static ALL: [&Host; 7] =
    [&claude::HOST, &codex::HOST, &gemini::HOST, &copilot::HOST, &vscode::HOST, &cursor::HOST, &opencode::HOST];

/// How MCP servers are configured for programs that ask no hooks.
const WITHOUT_HOOKS: [&Servers; 2] = [&claude_desktop::SERVERS, &windsurf::SERVERS];

impl Host {
    /// All hosts, in the order in which messages list them.
    pub fn all() -> impl Iterator<Item = &'static Host> {
        ALL.iter().copied()
    }

    /// The host of this name.
    pub fn named(name: &str) -> Option<&'static Host> {
        Self::all().find(|host| host.name == name)
    }

    /// Reads an event.
    ///
    /// # Errors
    /// [`ReadError`] for what is not one JSON object, is too large or too deep, lacks what a decision needs, or is an event that
    /// is not known.
    pub fn read(&'static self, bytes: &[u8]) -> Result<Message, ReadError> {
        self.events.read(bytes).map_err(|reason| ReadError { host: self, reason })
    }
}

/// Why an event cannot be read. It is to be answered as a call that is not allowed, because it may be one.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("read the event of `{host}`: {reason}")]
pub struct ReadError {
    pub host: &'static Host,
    pub reason: String,
}

impl Servers {
    /// All forms, by the names of their programs.
    #[must_use]
    pub fn all() -> Vec<&'static Servers> {
        let mut all: Vec<_> = Host::all().filter_map(|host| host.servers.as_ref()).chain(WITHOUT_HOOKS).collect();
        // Help and messages list them, and nobody knows in which order hosts were added here.
        all.sort_by_key(|servers| servers.name);
        all
    }

    /// The form of the program with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Servers> {
        Self::all().into_iter().find(|servers| servers.name == name)
    }
}

/// A name stands for one row.
impl PartialEq for Host {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Host {}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
