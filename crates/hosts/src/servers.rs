//! How MCP servers are configured in programs that start them.

use proofmark_receipt::{Object, object};

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
