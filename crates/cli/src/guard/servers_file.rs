//! A host's file with MCP servers, wherever they stand in it.

use std::path::PathBuf;

use proofmark_hosts::{JsonText, Servers, Step};
use proofmark_receipt::{Json, Object};

use crate::config::Config;
use crate::error::with_help;
use crate::host_file::{HostFile, kept_at};
use crate::paint::printable;

/// The folder below the one of keys in which files are kept as they were. It is not in the project: what is there, an agent can write.
const KEPT: &str = "unguarded";
/// The member that names the program of a server.
const COMMAND: &str = "command";
/// The members by which a host connects to a server instead of starting it.
const ADDRESSES: [&str; 3] = ["url", "serverUrl", "httpUrl"];

/// A host's file with servers.
pub(super) struct ServersFile {
    file: HostFile,
    /// Where the unguarded file is kept.
    kept_at: PathBuf,
    pub(super) document: JsonText,
    /// Where the entries of servers are.
    pub(super) servers: Vec<Place>,
    /// What has a command, and is not where hosts have servers, or is not written as they write it.
    pub(super) others: Vec<String>,
    /// Whether there is a list of servers, even an empty one.
    has_list: bool,
}

/// Where an entry is: the names that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place(Vec<String>);

/// What becomes of a member of an entry: it gets a value, or goes.
pub(super) struct Edit {
    pub(super) path: Vec<&'static str>,
    pub(super) value: Option<Json>,
}

impl Place {
    /// What the server is called.
    pub(super) fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// What people find it by: its name, or all that leads to it where it is not at the top.
    pub(super) fn shown(&self) -> String {
        match self.0.as_slice() {
            [_, name] => printable(name),
            path => printable(&path.join(" ")),
        }
    }
}

impl ServersFile {
    /// Reads a file. Which host reads it is not known; one that has comments is of a host that takes them out.
    pub(super) fn read(path: &std::path::Path, config: &Config) -> anyhow::Result<Self> {
        let servers = Self::read_any(path, config)?;
        if servers.servers.is_empty() && servers.others.is_empty() && !servers.has_list {
            return Err(Self::refusal(&servers.file, "it has no servers"));
        }
        Ok(servers)
    }

    /// As [`ServersFile::read`], for a file that may have no servers.
    pub(super) fn read_any(path: &std::path::Path, config: &Config) -> anyhow::Result<Self> {
        let file = HostFile::read_existing(path, true)?;
        let absolute = std::path::absolute(path)?;
        let bytes = file.before().unwrap_or_default().to_vec();
        let kept_at = kept_at(config, KEPT, &absolute);
        Self::of(file, kept_at, &bytes)
    }

    fn of(file: HostFile, kept_at: PathBuf, bytes: &[u8]) -> anyhow::Result<Self> {
        let document = file.document_of(bytes).map_err(|error| Self::refusal(&file, &error.to_string()))?;
        let mut found = Found::default();
        found.look(document.json(), &mut Vec::new());
        if document.json().as_object().is_none() {
            return Err(Self::refusal(&file, "it is not an object"));
        }
        let Found { servers, others, has_list } = found;
        Ok(Self { file, kept_at, document, servers, others, has_list })
    }

    fn refusal(file: &HostFile, why: &str) -> anyhow::Error {
        with_help(
            format!("read the configuration `{}`: {why}", file.path().display()),
            "name a host's file with `mcpServers` or `servers`, as JSON",
        )
    }

    /// What the file was before its servers were guarded, where that is kept.
    pub(super) fn kept(&self) -> anyhow::Result<Option<Self>> {
        let Some(bytes) = HostFile::kept(&self.kept_at)? else { return Ok(None) };
        Self::of(HostFile::read(self.file.path(), true)?, self.kept_at.clone(), &bytes).map(Some)
    }

    /// Keeps this text as what the file was.
    pub(super) fn keep(&self, text: &str) -> anyhow::Result<()> {
        self.file.keep(&self.kept_at, text.as_bytes())
    }

    /// Removes what is kept.
    pub(super) fn forget(&self) -> anyhow::Result<()> {
        HostFile::forget(&self.kept_at)
    }

    pub(super) fn write(&self, text: &str) -> anyhow::Result<()> {
        self.file.write(text)
    }

    /// The entry at a place, if it is an object.
    pub(super) fn entry(&self, place: &Place) -> Option<&Object> {
        let steps: Vec<Step<'_>> = place.0.iter().map(|name| Step::Name(name)).collect();
        self.document.at(&steps)?.as_object()
    }

    /// Changes an entry, and leaves the rest of the text as it is.
    pub(super) fn edit(&mut self, place: &Place, edits: &[Edit]) -> anyhow::Result<()> {
        for Edit { path, value } in edits {
            let path: Vec<&str> = place.0.iter().map(String::as_str).chain(path.iter().copied()).collect();
            let changed = match value {
                Some(value) => self.document.put(&path, value),
                None => self.document.remove(&path.into_iter().map(Step::Name).collect::<Vec<_>>()),
            };
            changed.map_err(|why| {
                with_help(
                    format!("change the configuration: {}", printable(&why.to_string())),
                    "name the others with `--only`, and change this one by hand",
                )
            })?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Found {
    servers: Vec<Place>,
    others: Vec<String>,
    /// Whether there is a list of servers, even an empty one.
    has_list: bool,
}

impl Found {
    /// Looks for servers in a value, to which these names lead. Files have servers in several places: some at the top, those of a
    /// project below its path.
    fn look(&mut self, json: &Json, path: &mut Vec<String>) {
        let members: Vec<(String, &Json)> = match json {
            Json::Object(object) => object.iter().map(|(name, value)| (name.to_owned(), value)).collect(),
            Json::Array(items) => items.iter().enumerate().map(|(at, item)| (at.to_string(), item)).collect(),
            _ => return,
        };
        let is_list = json.as_object().is_some() && path.last().is_some_and(|name| is_list(name));
        // `servers` may be of something else, if it is further down.
        let is_only_servers = is_list && (path.len() == 1 || path.last().is_some_and(|name| name == "mcpServers"));
        self.has_list |= is_only_servers;
        for (name, value) in members {
            path.push(name);
            let entry = value.as_object();
            let commands = entry.map_or(0, |entry| entry.iter().filter(|(name, _)| is_command(name)).count());
            let is_plain = commands == 1 && entry.is_some_and(|entry| entry.contains(COMMAND));
            let is_remote = entry.is_some_and(|entry| ADDRESSES.iter().any(|name| entry.contains(name)));
            if is_list && (is_plain || (commands == 0 && (is_only_servers || is_remote))) {
                // No host has servers within a server.
                self.servers.push(Place(path.clone()));
            } else {
                if commands > 0 {
                    self.others.push(path.join(" "));
                }
                self.look(value, path);
            }
            path.pop();
        }
    }
}

/// Whether hosts have servers under this name.
fn is_list(name: &str) -> bool {
    Servers::all().iter().any(|servers| servers.member == name)
}

/// Whether a reader that does not look at letter case takes this name for that of the command.
fn is_command(name: &str) -> bool {
    name.to_lowercase() == COMMAND
}

/// Why an entry has no command that could be changed.
pub(super) enum NoCommand {
    /// The host connects to it; it starts no program.
    Remote,
    /// It has a form that is not known.
    Unknown(&'static str),
}

/// The command of an entry, with its arguments.
pub(super) fn command(entry: &Object) -> Result<Vec<String>, NoCommand> {
    let is_remote = ADDRESSES.iter().any(|name| entry.contains(name));
    let program = match entry.get(COMMAND) {
        None if is_remote => return Err(NoCommand::Remote),
        Some(Json::String(program)) if !is_remote => program.clone(),
        _ => return Err(NoCommand::Unknown("it has neither a `command` nor a URL alone")),
    };
    let arguments = match entry.get("args") {
        None => Vec::new(),
        Some(Json::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
            .ok_or(NoCommand::Unknown("its `args` are not a list of texts"))?,
        Some(_) => return Err(NoCommand::Unknown("its `args` are not a list of texts")),
    };
    Ok([vec![program], arguments].concat())
}
