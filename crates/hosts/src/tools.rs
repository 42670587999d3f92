//! Tools that hosts have of their own, under names that all hosts have in common, so that one policy fits all of them.

use proofmark_receipt::Json;

use crate::message::Call;
use crate::paths;

/// A name that a policy uses for the tools of all hosts that do the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonTool {
    pub name: &'static str,
    /// The class of an action, where the policy says nothing else.
    pub class: &'static str,
    pub description: &'static str,
}

/// All common names.
pub const COMMON_TOOLS: [CommonTool; 17] = [
    SHELL,
    SHELL_INPUT,
    SHELL_OUTPUT,
    READ_FILE,
    WRITE_FILE,
    EDIT_FILE,
    LIST_FILES,
    FIND_FILES,
    SEARCH_FILES,
    WEB_FETCH,
    WEB_SEARCH,
    SUBAGENT,
    MEMORY,
    MCP_RESOURCE,
    SKILL,
    PLAN,
    ASK_USER,
];

const fn common(name: &'static str, class: &'static str, description: &'static str) -> CommonTool {
    CommonTool { name, class, description }
}

pub(crate) const SHELL: CommonTool = common("shell", "system_change", "Runs a command: `args.command`");
pub(crate) const SHELL_INPUT: CommonTool =
    common("shell_input", "system_change", "Types into a command that runs, or ends it");
pub(crate) const SHELL_OUTPUT: CommonTool =
    common("shell_output", "generic", "Reads what commands print that run, or lists them");
pub(crate) const READ_FILE: CommonTool = common("read_file", "generic", "Reads a file");
pub(crate) const WRITE_FILE: CommonTool = common("write_file", "record_mutation", "Writes a whole file");
pub(crate) const EDIT_FILE: CommonTool = common("edit_file", "record_mutation", "Changes parts of files");
pub(crate) const LIST_FILES: CommonTool = common("list_files", "generic", "Lists a folder");
pub(crate) const FIND_FILES: CommonTool = common("find_files", "generic", "Finds files by their names");
pub(crate) const SEARCH_FILES: CommonTool = common("search_files", "generic", "Finds text in files");
pub(crate) const WEB_FETCH: CommonTool =
    common("web_fetch", "webhook_call", "Calls a URL, which can carry data out: `action.target`");
pub(crate) const WEB_SEARCH: CommonTool = common("web_search", "generic", "Searches the web");
pub(crate) const SUBAGENT: CommonTool = common("subagent", "system_change", "Starts another agent");
pub(crate) const MEMORY: CommonTool = common("memory", "memory_write", "Writes what later sessions read");
pub(crate) const MCP_RESOURCE: CommonTool =
    common("mcp_resource", "generic", "Lists or reads resources of MCP servers");
pub(crate) const SKILL: CommonTool = common("skill", "generic", "Loads instructions that the user has installed");
pub(crate) const PLAN: CommonTool = common("plan", "generic", "Keeps a plan or a list of tasks");
pub(crate) const ASK_USER: CommonTool = common("ask_user", "generic", "Asks the user");

/// A row of a host's table: the host's name of a tool, the common one, and which argument is the target.
pub(crate) struct Tool(pub(crate) &'static str, pub(crate) CommonTool, pub(crate) Target);

/// Where a call's arguments say what it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// They do not say it in a way that is known, as the text of a command.
    Unknown,
    /// No file.
    NoFile,
    /// No file, but a text as it is.
    Text(&'static str),
    /// A file, or several, under any of these names: which one the host takes is not always known.
    File(&'static [&'static str]),
    /// A folder, or several; where none is named, the one that the agent works in.
    Folder(&'static [&'static str]),
    /// As a folder, with a pattern under the second name that may lead out of it.
    Pattern(&'static [&'static str], &'static str),
    /// The files of a patch.
    Patch(&'static [&'static str]),
}

impl Target {
    /// The target, and the files among it where they are known. Of several files none is the target.
    pub(crate) fn of(self, args: &Json, cwd: Option<&str>) -> (Option<String>, Option<Vec<String>>) {
        let text = |name: &str| args.as_object()?.get(name)?.as_str();
        let absolute = |path: &str| paths::absolute(path, cwd);
        match self {
            Self::Unknown => (None, None),
            Self::NoFile => (None, Some(Vec::new())),
            Self::Text(name) => (text(name).map(str::to_owned), Some(Vec::new())),
            Self::File(names) => {
                let Some(paths) = named(args, names) else { return (None, None) };
                // One path that is not known makes the whole list unknown: a rule about paths must not see the others alone.
                let files = paths.iter().copied().map(absolute).collect::<Option<Vec<_>>>();
                (only(&paths), files.filter(|files| !files.is_empty()))
            }
            Self::Folder(names) => {
                let Some(paths) = named(args, names) else { return (None, None) };
                // Every host looks in the folder that the agent works in, where none is named.
                let folders = if paths.is_empty() { &["."][..] } else { &paths };
                (only(&paths), folders.iter().copied().map(absolute).collect())
            }
            Self::Pattern(names, pattern) => match text(pattern) {
                Some(pattern) if paths::may_leave(pattern) => (Some(pattern.to_owned()), None),
                _ => Self::Folder(names).of(args, cwd),
            },
            Self::Patch(names) => {
                let files = names.iter().find_map(|name| text(name)).map(paths::of_patch).unwrap_or_default();
                let target = only(&files);
                // A list that lacks a file would say that the call is about the others only.
                let files: Option<Vec<_>> = files.into_iter().map(absolute).collect();
                (target, files.filter(|files| !files.is_empty()))
            }
        }
    }
}

/// The texts under these names, each a text or a list of texts, without repetitions; `None` where one is neither.
fn named<'a>(args: &'a Json, names: &[&str]) -> Option<Vec<&'a str>> {
    let mut texts = Vec::new();
    let given = names.iter().filter_map(|name| args.as_object()?.get(name)).filter(|given| !given.is_null());
    for given in given {
        // Of two names the host may take either, so both count.
        let list = given.as_array().unwrap_or(std::slice::from_ref(given));
        for text in list {
            let text = text.as_str()?;
            if !texts.contains(&text) {
                texts.push(text);
            }
        }
    }
    Some(texts)
}

/// The only one of these.
fn only(paths: &[&str]) -> Option<String> {
    match paths {
        [path] => Some((*path).to_owned()),
        _ => None,
    }
}

/// A call of a tool that the host has of its own.
pub(crate) fn own(table: &[Tool], host_tool: &str, args: Json, cwd: Option<&str>) -> Call {
    match table.iter().find(|Tool(name, ..)| *name == host_tool) {
        Some(Tool(_, tool, target)) => {
            let (target, paths) = target.of(&args, cwd);
            let call = Call { class: Some(tool.class), target, paths, ..Call::unknown(host_tool, args) };
            Call { tool: tool.name.to_owned(), ..call }
        }
        // It has no class, and no name that a tool of the table has.
        None => Call::unknown(host_tool, args),
    }
}

/// Server and tool of a name such as `mcp__server__tool`.
pub(crate) fn of_mcp(name: &str) -> Option<(&str, &str)> {
    let (server, tool) = name.strip_prefix("mcp__")?.split_once("__")?;
    // `mcp____x` and `mcp__x__` have the form, and name no tool of any server.
    (!server.is_empty() && !tool.is_empty()).then_some((server, tool))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_names_are_those_that_no_server_can_have() {
        assert_eq!(COMMON_TOOLS.map(|tool| tool.name), proofmark_session::COMMON_TOOLS);
    }
}
