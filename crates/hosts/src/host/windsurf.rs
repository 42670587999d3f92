//! Windsurf, which starts MCP servers; of its hooks nothing is known here.

use proofmark_receipt::{Object, object};

use crate::servers::{self, Servers};

pub(super) static SERVERS: Servers = Servers {
    name: "windsurf",
    member: "mcpServers",
    has_comments: false,
    program_type: None,
    address: Some(address),
    variable: servers::of_editor,
};

fn address(url: &str, headers: Option<Object>) -> Object {
    object! { "serverUrl": url, "headers"?: headers }
}
