//! Names of tools in facts and entries. Servers choose how their tools are called, and hosts have tools that are not known here: what
//! is called as one of [`COMMON_TOOLS`] is the host's own tool, and nothing else is.

/// The names that the own tools of all hosts have in common.
pub const COMMON_TOOLS: [&str; 17] = [
    "shell",
    "shell_input",
    "shell_output",
    "read_file",
    "write_file",
    "edit_file",
    "list_files",
    "find_files",
    "search_files",
    "web_fetch",
    "web_search",
    "subagent",
    "memory",
    "mcp_resource",
    "skill",
    "plan",
    "ask_user",
];

/// How the name of a host's tool begins that has no common name.
const OF_HOST: &str = "host:";
/// How the name of a server's tool begins that could be taken for another one.
const OF_SERVER: &str = "mcp:";

/// What a host's own tool is called that has none of the common names.
#[must_use]
pub fn unknown_tool(host_tool: &str) -> String {
    format!("{OF_HOST}{host_tool}")
}

/// What a tool of an MCP server is called: as on its server, or `mcp:SERVER:TOOL` where that is the name of a host's own tool or has
/// the form of such a name.
#[must_use]
pub fn server_tool(server: Option<&str>, tool: &str) -> String {
    let prefix = prefix(server.unwrap_or_default());
    if (COMMON_TOOLS.contains(&tool) || tool.contains(':')) && !tool.starts_with(&prefix) {
        format!("{prefix}{tool}")
    } else {
        tool.to_owned()
    }
}

/// What a tool is called on its server, from what [`server_tool`] made of it.
#[must_use]
pub fn name_on_server<'a>(server: Option<&str>, tool: &'a str) -> &'a str {
    tool.strip_prefix(&prefix(server.unwrap_or_default())).unwrap_or(tool)
}

/// The name of a server's tool with that of its server, `mcp:SERVER:TOOL`; `None` where the server is not known, or has a name that could
/// be taken for another one before it.
#[must_use]
pub fn qualified_name(server: Option<&str>, tool: &str) -> Option<String> {
    let server = server.filter(|server| !server.contains(':'))?;
    Some(format!("{}{}", prefix(server), name_on_server(Some(server), tool)))
}

fn prefix(server: &str) -> String {
    format!("{OF_SERVER}{server}:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_server_has_a_tool_with_the_name_of_another() {
        for name in COMMON_TOOLS.iter().copied().chain(["host:shell", "mcp:ci:shell", "mcp::shell", "shell"]) {
            for server in [None, Some("fake"), Some("host"), Some("")] {
                let called = server_tool(server, name);
                assert!(!COMMON_TOOLS.contains(&&*called), "{called}");
                assert!(!called.starts_with(OF_HOST) && !called.starts_with("mcp:ci:"), "{called}");
                assert_eq!(server_tool(server, &called), called, "it is called so from then on");
            }
        }
        assert_eq!(server_tool(Some("ci"), "run_tests"), "run_tests");
        assert_eq!(name_on_server(Some("ci"), &server_tool(Some("ci"), "shell")), "shell");
        assert_eq!(name_on_server(Some("toys"), "mcp:ci:shell"), "mcp:ci:shell");
        assert!(!COMMON_TOOLS.contains(&&*unknown_tool("shell")));
        for tool in ["shell", "mcp:ci:shell"] {
            assert_eq!(qualified_name(Some("ci"), tool).as_deref(), Some("mcp:ci:shell"));
        }
        assert_eq!(qualified_name(Some("ci:x"), "shell"), None);
        assert_eq!(qualified_name(None, "shell"), None);
    }
}
