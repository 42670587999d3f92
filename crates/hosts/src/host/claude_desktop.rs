//! Claude Desktop, which starts MCP servers and asks no hooks.

use crate::servers::{self, Servers};

pub(super) static SERVERS: Servers = Servers {
    name: "claude-desktop",
    member: "mcpServers",
    has_comments: false,
    program_type: None,
    address: None,
    variable: servers::of_shell,
};
