//! What a host tells a hook.

use proofmark_receipt::Json;
use proofmark_session::{CallStatus, server_tool, unknown_tool};

/// One event of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The name of the host that tells it, if that is not the one that was asked to read it: VS Code starts the hooks of Copilot's files as well.
    pub told_by: Option<&'static str>,
    /// The host's name of the session, of at most [`crate::MAX_SESSION`] bytes.
    pub session: Option<String>,
    /// The agent that started this one, where the host names it in place of the session. It may itself have been started by
    /// another.
    pub parent: Option<String>,
    /// The folder that the agent works in.
    pub cwd: Option<String>,
    /// The folder of the project, where the host says it beside `cwd`, which an agent may choose then.
    pub project: Option<String>,
    /// What the host calls the turn, where it does.
    pub turn: Option<String>,
    /// The agent within the session, where it is not the first one.
    pub subagent: Option<Subagent>,
    /// The file with the host's own record of the session.
    pub transcript: Option<String>,
    pub event: Event,
    /// What an answer to it answers.
    pub occasion: Occasion,
}

/// An agent that another agent started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    pub id: String,
    pub kind: Option<String>,
}

/// What happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A tool is about to be called.
    Before(Call),
    /// A call has ended.
    After(Call, Ended),
    /// The agent is about to stop.
    Stop(Stop),
    /// The user has asked for something.
    Asked(String),
    /// Something that asks for nothing.
    Other,
}

/// What is answered. Hosts take different fields for each of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    BeforeTool,
    /// Cursor's event before a file is read, which takes fewer fields.
    BeforeRead,
    AfterTool,
    Stop,
    SubagentStop,
    Other,
}

/// A call of a tool, in the words that all hosts have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The host's name of the call. Without one, the host does not name calls.
    pub id: Option<String>,
    /// The common name of a host's own tool, `host:NAME` where it has none, else what the tool of a server is called
    /// ([`proofmark_session::server_tool`]).
    pub tool: String,
    /// The name that the host gives.
    pub host_tool: String,
    /// The MCP server that has the tool, where the host says so.
    pub server: Option<String>,
    /// Whether it is a tool of an MCP server.
    pub mcp: bool,
    pub args: Json,
    /// The class of a host's own tool that is known.
    pub class: Option<&'static str>,
    pub target: Option<String>,
    /// The files that the call is about, where that is known: absolute, without `.` and `..`. Links are not followed.
    pub paths: Option<Vec<String>>,
    /// What two events about one call have in common, where a host has two: a word for what runs, and what runs.
    pub twin: Option<String>,
}

/// How a call ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    pub status: CallStatus,
    /// What the host says that the tool returned.
    pub response: Json,
}

/// An agent that is about to stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Whether the agent goes on already because a stop was refused.
    pub again: bool,
    /// The agent's last message, where the host says it.
    pub message: Option<String>,
}

impl Message {
    /// An event that asks for nothing.
    pub(crate) fn other() -> Self {
        Self {
            told_by: None,
            session: None,
            parent: None,
            cwd: None,
            project: None,
            turn: None,
            subagent: None,
            transcript: None,
            event: Event::Other,
            occasion: Occasion::Other,
        }
    }

    /// The same, of a call that is about to be made.
    pub(crate) fn before(self, call: Call) -> Self {
        Self { event: Event::Before(call), occasion: Occasion::BeforeTool, ..self }
    }

    /// The same, of a call that has ended.
    pub(crate) fn after(self, call: Call, ended: Ended) -> Self {
        Self { event: Event::After(call, ended), occasion: Occasion::AfterTool, ..self }
    }

    /// The same, of an agent that is about to stop.
    pub(crate) fn stop(self, stop: Stop) -> Self {
        Self { event: Event::Stop(stop), occasion: Occasion::Stop, ..self }
    }

    /// The same, of what a user has asked for. A subagent is asked by an agent.
    pub(crate) fn asked(self, request: String) -> Self {
        if self.subagent.is_some() || request.trim().is_empty() {
            self
        } else {
            Self { event: Event::Asked(request), ..self }
        }
    }

    /// The same, of a subagent that is about to stop.
    pub(crate) fn subagent_stop(self, stop: Stop) -> Self {
        Self { occasion: Occasion::SubagentStop, ..self.stop(stop) }
    }
}

impl Call {
    /// A call of a tool that no table names. Rules about the host's own tools do not reach it.
    pub(crate) fn unknown(tool: &str, args: Json) -> Self {
        Self {
            id: None,
            tool: unknown_tool(tool),
            host_tool: tool.to_owned(),
            server: None,
            mcp: false,
            args,
            class: None,
            target: None,
            paths: None,
            twin: None,
        }
    }

    /// A call of a tool of an MCP server; `server` where the host names it.
    pub(crate) fn of_server(host_tool: &str, server: Option<&str>, tool: &str, args: Json) -> Self {
        let tool = server_tool(server, tool);
        Self { tool, server: server.map(str::to_owned), mcp: true, ..Self::unknown(host_tool, args) }
    }

    /// The same, with its id.
    pub(crate) fn with_id(self, id: Option<String>) -> Self {
        Self { id, ..self }
    }
}
