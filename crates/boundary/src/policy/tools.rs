//! How a policy classes the tools of servers and hosts that do not say what their calls do.

use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::glob::Globs;
use proofmark_receipt::{Json, Object, object};
use proofmark_session::{COMMON_TOOLS, name_on_server, server_tool};

use super::arguments;
use super::text::text;
use super::{ActionPolicy, Matching, Mode, Unmatched};
use crate::request::Request;

/// The most entries of `tools`.
const MAX_TOOLS: usize = 1_024;
/// The class of a tool that no entry names. Nothing is known about it, so it may do anything.
pub(crate) const UNCLASSED: &str = "system_change";

/// The class of what has no effect that another class names.
const GENERIC: &str = "generic";

/// An entry of `tools`.
#[derive(Debug)]
pub(crate) struct ToolClass {
    tool: Globs,
    server: Option<Globs>,
    class: String,
    reads: bool,
    target: Option<ArgumentPath>,
    recipient: Option<ArgumentPath>,
    amount: Option<ArgumentPath>,
    currency: Option<ArgumentPath>,
    command: Option<ArgumentPath>,
    paths: Option<ArgumentPath>,
    dispatches: Option<Dispatch>,
}

/// Where the arguments of a call that calls another tool hold its name and its arguments.
#[derive(Debug)]
struct Dispatch {
    tool: ArgumentPath,
    args: Option<ArgumentPath>,
}

/// The place of an argument, as in `to` or `message.to`.
#[derive(Debug)]
struct ArgumentPath(Vec<String>);

/// A call as a host or a server names it.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'a> {
    pub tool: &'a str,
    /// The name of the server that has the tool.
    pub server: Option<&'a str>,
    pub args: &'a Json,
    /// Whether the server says of the tool that it changes something. The server is not trusted, so this can only make the
    /// class stricter.
    pub said_to_change: bool,
}

/// What a host says of a tool of its own.
#[derive(Clone, Copy, Debug)]
pub struct HostTool<'a> {
    /// The host's own name of the tool, by which a policy can name it as well.
    pub name: &'a str,
    /// Its class, where no entry of `tools` names it. Without one, the tool is not known.
    pub class: Option<&'a str>,
    /// What it is about, where no entry of `tools` says which argument that is.
    pub target: Option<&'a str>,
}

/// Reads `tools`.
pub(super) fn read(field: &Field<'_>) -> Result<Vec<ToolClass>, DocumentError> {
    let items = field.items()?;
    if items.len() > MAX_TOOLS {
        return Err(field.error(Cause::TooMany, format!("more than {MAX_TOOLS} entries")).with_help("join some"));
    }
    items.iter().map(entry).collect()
}

fn entry(field: &Field<'_>) -> Result<ToolClass, DocumentError> {
    let fields = field.fields()?;
    fields.only(&[
        "tool",
        "server",
        "class",
        "reads",
        "target",
        "recipient",
        "amount",
        "currency",
        "command",
        "paths",
        "dispatches",
    ])?;
    let path = |name| fields.get(name).map(|field| argument_path(&field)).transpose();
    Ok(ToolClass {
        tool: Globs::read(&fields.need("tool", "name the tools, as in `tool: write_*`")?)?,
        server: fields.get("server").map(|field| Globs::read(&field)).transpose()?,
        class: text(&fields.need("class", "name the class, as in `record_mutation`")?)?.to_owned(),
        reads: fields.get("reads").map(|field| field.boolean()).transpose()?.unwrap_or(false),
        target: path("target")?,
        recipient: path("recipient")?,
        amount: path("amount")?,
        currency: path("currency")?,
        command: path("command")?,
        paths: path("paths")?,
        dispatches: fields.get("dispatches").map(|field| dispatch(&field)).transpose()?,
    })
}

fn dispatch(field: &Field<'_>) -> Result<Dispatch, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["tool", "args"])?;
    Ok(Dispatch {
        tool: argument_path(&fields.need("tool", "name the argument that holds the name of the tool")?)?,
        args: fields.get("args").map(|field| argument_path(&field)).transpose()?,
    })
}

fn argument_path(field: &Field<'_>) -> Result<ArgumentPath, DocumentError> {
    let path: Vec<String> = text(field)?.split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        Err(field.error(Cause::InvalidValue, "an empty name in the path").with_help("write it as in `message.to`"))
    } else {
        Ok(ArgumentPath(path))
    }
}

impl ArgumentPath {
    fn of<'a>(&self, args: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(args, |value, name| value.as_object()?.get(name))
    }
}

impl ToolClass {
    /// Whether it names the tool, by the name in the call or by the host's.
    fn names_either(&self, call: &ToolCall<'_>, host: Option<&HostTool<'_>>) -> bool {
        // A host's own name may be the common name of another tool.
        let own = host.filter(|host| !COMMON_TOOLS.contains(&host.name));
        self.names(call) || own.is_some_and(|host| self.names(&ToolCall { tool: host.name, ..*call }))
    }

    /// Whether it names the tool, as it is called in facts or on its server. An entry that declares a tool to be without effect names
    /// a tool with the name of a host's own only beside its server.
    fn names(&self, call: &ToolCall<'_>) -> bool {
        let bare = || self.tool.matches(name_on_server(call.server, call.tool));
        match (&self.server, call.server) {
            (None, _) => self.tool.matches(call.tool) || (!self.is_weak() && bare()),
            (Some(globs), Some(server)) => globs.matches(server) && (self.tool.matches(call.tool) || bare()),
            (Some(_), None) => false,
        }
    }

    /// Whether it names the tool of some server.
    pub(super) fn may_name(&self, tool: &str) -> bool {
        self.tool.matches(tool)
    }

    /// The servers whose tool of this name it names.
    pub(super) fn servers_of(&self, tool: &str) -> impl Iterator<Item = &str> {
        self.server.iter().filter(move |_| self.tool.matches(tool)).flat_map(Globs::texts)
    }

    /// Whether it names the tool of every server.
    pub(super) fn names_everywhere(&self, tool: &str) -> bool {
        self.tool.matches(tool) && self.server.as_ref().is_none_or(Globs::match_all)
    }

    /// Whether the entry declares its tools to be without effect, and does not say that they run other tools.
    pub(super) fn is_weak(&self) -> bool {
        (self.reads || self.class == GENERIC) && self.dispatches.is_none()
    }

    /// Its globs.
    pub(super) fn globs(&self) -> impl Iterator<Item = &Globs> {
        [&self.tool].into_iter().chain(&self.server)
    }

    /// Whether it names every tool that the other one names.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let servers = match (&self.server, &other.server) {
            (None, _) => true,
            (Some(own), Some(other)) => own.cover(other),
            (Some(_), None) => false,
        };
        // An entry that calls its tools harmless names fewer: those with names of hosts' own tools only beside a server.
        servers && self.tool.cover(&other.tool) && (!self.is_weak() || other.is_weak())
    }

    pub(super) fn class(&self) -> &str {
        &self.class
    }
}

impl ActionPolicy {
    /// The action that a call of a server's tool is, as the facts of a request have it: `tool` ([`server_tool`]), `class`, `args`, and
    /// what the policy says of the tool. The first entry of `tools` that names the tool counts; a tool that none names is a `system_change`.
    ///
    /// A call that calls another tool is an action of that tool, with the tool that was called as `via`.
    #[must_use]
    pub fn action_of(&self, call: &ToolCall<'_>) -> Object {
        let tool = server_tool(call.server, call.tool);
        self.action(&ToolCall { tool: &tool, ..*call }, None)
    }

    /// As [`ActionPolicy::action_of`], of a tool that a host has of its own.
    #[must_use]
    pub fn action_of_host(&self, call: &ToolCall<'_>, host: &HostTool<'_>) -> Object {
        self.action(call, Some(host))
    }

    fn action(&self, call: &ToolCall<'_>, host: Option<&HostTool<'_>>) -> Object {
        let entry = self.tools.iter().find(|entry| entry.names_either(call, host));
        if let Some(action) = entry.and_then(|entry| self.dispatched(entry.dispatches.as_ref()?, call)) {
            return action;
        }
        let only_reads = entry.is_some_and(|entry| entry.reads);
        let class = match entry {
            Some(entry) if !(only_reads && call.said_to_change) => entry.class.as_str(),
            Some(_) => UNCLASSED,
            None => host.and_then(|host| host.class).unwrap_or(UNCLASSED),
        };
        let argument = |path: fn(&ToolClass) -> &Option<ArgumentPath>| path(entry?).as_ref()?.of(call.args);
        let target = argument(|entry| &entry.target).map(|target| match target {
            Json::String(text) => text.clone(),
            other => other.to_text(),
        });
        let target = target.or_else(|| host?.target.map(str::to_owned));
        let said = argument(|entry| &entry.currency).map(arguments::currency);
        let amount = argument(|entry| &entry.amount).and_then(arguments::amount);
        // A text is an amount only for a policy that knows of currencies, and none where it has another one than is said.
        let is_text = argument(|entry| &entry.amount).is_some_and(|argument| argument.as_str().is_some());
        let knows_currency = entry.is_some_and(|entry| entry.currency.is_some());
        let amount = amount.filter(|amount| {
            (knows_currency || !is_text) && (amount.currency.is_none() || Some(&amount.currency) == said.as_ref())
        });
        let currency = said.flatten();
        // An argument that is missing is a command that is not known.
        let command = entry.and_then(|entry| entry.command.as_ref());
        let command = command.map(|path| path.of(call.args).cloned().unwrap_or(Json::Null));
        object! {
            "tool": call.tool,
            "class": class,
            "boundary": if class == "memory_write" { "memory_write" } else { "action_execute" },
            "target"?: target,
            "recipient"?: argument(|entry| &entry.recipient).cloned(),
            "amount"?: amount.map(|amount| amount.number),
            "currency"?: currency,
            "command"?: command,
            "paths"?: argument(|entry| &entry.paths).and_then(arguments::paths),
            "server"?: call.server,
            "args": call.args.clone(),
        }
    }

    /// Whether an entry of `tools` names this tool.
    #[must_use]
    pub fn classes_tool(&self, tool: &str, server: Option<&str>) -> bool {
        let (args, tool) = (Json::Object(Object::new()), server_tool(server, tool));
        let call = ToolCall { tool: &tool, server, args: &args, said_to_change: false };
        self.tools.iter().any(|entry| entry.names(&call))
    }

    /// Whether no boundary can match calls of this tool, and actions without a boundary are not allowed: then no call of it is
    /// ever allowed.
    #[must_use]
    pub fn never_allows(&self, tool: &str, server: Option<&str>) -> bool {
        let (args, tool) = (Json::Object(Object::new()), server_tool(server, tool));
        let call = ToolCall { tool: &tool, server, args: &args, said_to_change: false };
        if self.mode == Mode::Shadow || self.unmatched == Unmatched::AllowExempted {
            return false;
        }
        // A dispatcher's calls are those of other tools.
        if self.tools.iter().any(|entry| entry.names(&call) && entry.dispatches.is_some()) {
            return false;
        }
        let mut facts = Object::new();
        let mut action = self.action_of(&call);
        action.insert("surface", "mcp");
        action.insert("method", "tools/call");
        // The arguments, which decide it, are not known yet.
        for name in ["target", "recipient", "amount", "currency", "command", "paths"] {
            action.remove(name);
        }
        facts.insert("action", action);
        let Ok(request) = Request::from_facts(facts) else { return false };
        self.boundaries.iter().all(|boundary| boundary.matcher.matches(&request) == Matching::No)
    }

    /// The call within a call. `None` if it names no tool: then the outer call is what is decided.
    fn dispatched(&self, dispatch: &Dispatch, call: &ToolCall<'_>) -> Option<Object> {
        let tool = &server_tool(call.server, dispatch.tool.of(call.args)?.as_str()?);
        let empty = Json::Object(Object::new());
        let args = dispatch.args.as_ref().and_then(|path| path.of(call.args)).unwrap_or(&empty);
        let entry = self.tools.iter().find(|entry| entry.names(&ToolCall { tool, args, ..*call }));
        // A tool that calls tools, called by one: what it would do is not looked for any deeper.
        let inner = match entry {
            Some(entry) if entry.dispatches.is_some() => None,
            _ => Some(self.action_of(&ToolCall { tool, args, ..*call })),
        };
        let mut action = inner.unwrap_or_else(|| {
            object! { "tool": tool.as_str(), "class": UNCLASSED, "boundary": "action_execute", "server"?: call.server, "args": args.clone() }
        });
        action.insert("via", call.tool);
        // Other members of the outer call may change what the inner call does.
        action.insert("outer_args", call.args.clone());
        Some(action)
    }
}
