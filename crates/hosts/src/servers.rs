//! How MCP servers are configured in programs that start them.

use proofmark_receipt::{Object, object};

use crate::host::{Host, WITHOUT_HOOKS};

/// The form in which a program's file has its MCP servers.
pub struct Servers {
    /// The name of the program in commands.
    pub name: &'static str,
    /// The member that has the servers.
    pub member: &'static str,
    /// Whether the program's own reader takes comments out of its file.
    pub has_comments: bool,
    /// The type of a server that is started, where one is named.
    pub program_type: Option<&'static str>,
    /// A server at a URL, with its headers; `None` where the file only starts programs.
    pub address: Option<fn(url: &str, headers: Option<Object>) -> Object>,
    /// A variable of the program's environment, within a text.
    pub variable: fn(&str) -> String,
}

impl Servers {
    /// All forms, by the names of their programs.
    #[must_use]
    pub fn all() -> Vec<&'static Servers> {
        let mut all: Vec<_> = Host::all().filter_map(|host| host.servers.as_ref()).chain(WITHOUT_HOOKS).collect();
        all.sort_by_key(|servers| servers.name);
        all
    }

    /// The form of the program with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Servers> {
        Self::all().into_iter().find(|servers| servers.name == name)
    }
}

/// A server at a URL in the form of files that name the type of each server.
pub(crate) fn with_type(url: &str, headers: Option<Object>) -> Object {
    object! { "type": "http", "url": url, "headers"?: headers }
}

/// A variable as a shell writes it.
pub(crate) fn of_shell(name: &str) -> String {
    format!("${{{name}}}")
}

/// A variable as editors write it.
pub(crate) fn of_editor(name: &str) -> String {
    format!("${{env:{name}}}")
}
