//! The kinds of events and their members.
//!
//! This is the one place where the words of entries stand. What is stored and signed of an event follows from its row: a
//! member that is added to a kind goes where it is to be written, and is an `Option`, since older entries lack it.

use proofmark_receipt::{Json, Object, object};

use crate::kept::{self, TextDigest};
use crate::members::{Executed, Member, Side, members};
use crate::status::CallStatus;

/// Declares the kinds of events: what an event of each kind has, and the word in entries.
macro_rules! events {
    ($($(#[$about:meta])* $kind:ident($members:ident) = $word:literal,)*) => {
        /// What is recorded of a session.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Event {
            $($(#[$about])* $kind($members),)*
        }

        /// The kind of an event.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $($kind,)*
        }

        impl Kind {
            /// All kinds.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// The word of this kind in entries.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }
        }

        impl Event {
            /// The kind of the event.
            #[must_use]
            pub const fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                }
            }

            /// Reads the event of this kind that an object has; `None` for a kind that this version does not know.
            #[must_use]
            pub fn read(kind: &str, object: &Object) -> Option<Self> {
                match kind {
                    $($word => Some(Self::$kind($members::read_from(object))),)*
                    _ => None,
                }
            }

            /// Writes the members of the event into an object.
            pub fn write(&self, object: &mut Object) {
                match self {
                    $(Self::$kind(members) => members.write_to(object),)*
                }
            }
        }
    };
}

events! {
    /// A guard or the hooks of a host begin to watch.
    Opened(Opened) = "opened",
    /// The server has said what it is.
    Server(ServerInfo) = "server",
    /// The server has listed its tools.
    Tools(Listed) = "tools",
    /// The server has listed its prompts.
    Prompts(Listed) = "prompts",
    /// The server has listed templates of its resources.
    Templates(Listed) = "resourceTemplates",
    /// The server says that a list has changed.
    Changed(Changed) = "changed",
    /// Another policy decides from here on.
    Policy(NewPolicy) = "policy",
    /// The user has asked the agent for something.
    Asked(Asked) = "asked",
    /// The server has said something for which nobody vouches, and which is no result of a call.
    Told(Told) = "told",
    /// A request was forwarded on which nobody decides.
    Passed(Passed) = "passed",
    /// A request was decided on.
    Decided(Decided) = "decided",
    /// A request waits for a person's approval.
    Waiting(Waiting) = "waiting",
    /// A call has a result.
    Result(CallResult) = "result",
    /// The host's own record says how a call ended.
    Ended(Ended) = "ended",
    /// A second event was told of a call that was decided on.
    Joined(Joined) = "joined",
    /// A call was made without a decision that allows it.
    Undecided(Undecided) = "undecided",
    /// A request was cancelled.
    Cancelled(Cancelled) = "cancelled",
    /// A message was not forwarded, because nobody may take it.
    Refused(Refused) = "refused",
    /// The agent was about to stop, and the step that it is at was judged.
    Stop(Stopped) = "stop",
    /// Entries could not be stored.
    Lost(Lost) = "lost",
    /// The guard has ended.
    Closed(Closed) = "closed",
}

members! {
    /// Who is watched, and by which policy.
    pub struct Opened {
        /// The host, for hooks.
        host: Option<String>,
        /// The server, for guards.
        server: Option<String>,
        agent: Option<String>,
        environment: Option<String>,
        policy_hash: Option<String>,
        /// How what the server is reached by compares with what is pinned.
        origin: Option<String>,
        /// Which start of the agent's host is watched.
        process: Option<String>,
        /// Whether what the policy blocks is forwarded all the same.
        shadow: Option<bool>,
    }

    /// What a server says of itself.
    pub struct ServerInfo {
        name: Option<String>,
        version: Option<String>,
        protocol: Option<String>,
        /// How its instructions compare with the pinned ones.
        instructions: Option<String>,
    }

    /// What a server has listed.
    pub struct Listed {
        /// How many items.
        listed: u64,
        /// The names of those that are withheld, each with the reason.
        quarantined: Vec<String>,
    }

    /// Which list has changed.
    pub struct Changed {
        list: String,
    }

    /// Which policy decides, and which did before.
    pub struct NewPolicy {
        policy_hash: String,
        before: String,
    }

    /// What the user has asked the agent for, as its host or a person says. No tool can say this.
    pub struct Asked {
        text: String,
        /// Who says so: `file`, or the name of a host.
        told_by: String,
    }

    /// What a server has said by itself. It is recorded once for each method.
    pub struct Told {
        method: String,
    }

    /// A request on which nobody decides.
    pub struct Passed {
        /// Its id, as JSON.
        request: String,
        method: String,
        arguments: Option<String>,
        message: TextDigest,
    }

    /// A decision on a request, with what the facts of later decisions say of it.
    pub struct Decided {
        /// The request's id, as JSON, for guards.
        request: Option<String>,
        method: Option<String>,
        from: Option<Side>,
        /// The host's name of the call, for hooks.
        call: Option<String>,
        host_tool: Option<String>,
        /// The provenance of the call ([`crate::PROVENANCE`]), from here to `process`.
        source: Option<String>,
        surface: Option<String>,
        server: Option<String>,
        origin: Option<String>,
        origin_sha256: Option<String>,
        origin_state: Option<String>,
        process: Option<String>,
        turn: Option<String>,
        subagent: Option<SubagentName>,
        /// The digest of what two events about one call have in common.
        twin: Option<String>,
        /// The message of a request; of a hook the arguments.
        message: TextDigest,
        tool: Option<String>,
        class: Option<String>,
        /// As JSON. Absent where they are too long.
        arguments: Option<String>,
        decision: Option<String>,
        allowed: bool,
        /// Set where it was not allowed and forwarded all the same.
        shadowed: Option<bool>,
    }

    /// A subagent, as its host names it.
    pub struct SubagentName {
        id: String,
        kind: Option<String>,
    }

    /// A request that waits for this decision to be approved.
    pub struct Waiting {
        request: String,
        decision: String,
    }

    /// How a call ended, and what it brought.
    pub struct CallResult {
        request: Option<String>,
        /// Of a result that belongs to a task.
        method: Option<String>,
        call: Option<String>,
        tool: String,
        server: Option<String>,
        decision: Option<String>,
        status: Option<CallStatus>,
        cancelled: Option<bool>,
        /// The signs of steering in it.
        signs: Vec<String>,
        /// The labels of its values, where the policy has rules for them.
        origins: Option<Object>,
        /// What was done with it: `withhold` or `mark`.
        handling: Option<String>,
        /// What would have been done with it, if anything was enforced.
        would: Option<String>,
        result: TextDigest,
        /// How its text begins.
        excerpt: Option<String>,
        text: Option<String>,
    }

    /// How a call ended that has no result.
    pub struct Ended {
        call: Option<String>,
        tool: String,
        decision: String,
        status: Option<CallStatus>,
    }

    /// The decision that a second event about one call is about.
    pub struct Joined {
        tool: String,
        decision: String,
    }

    /// A call that was made without a decision that allows it.
    pub struct Undecided {
        call: Option<String>,
        tool: Option<String>,
        host_tool: String,
        arguments: Option<String>,
        status: Option<CallStatus>,
        message: TextDigest,
    }

    /// A request that was cancelled.
    pub struct Cancelled {
        request: String,
        decision: Option<String>,
        executed: Executed,
        /// What the user of the client answered, who was asked: `decline` or `cancel`.
        declined: Option<String>,
    }

    /// Why a message was refused.
    pub struct Refused {
        reason: String,
    }

    /// How a step was judged.
    pub struct Stopped {
        step: String,
        subagent: Option<String>,
        run: String,
        attempt: u64,
        state: String,
        receipt: Option<String>,
    }

    /// How many entries are missing.
    pub struct Lost {
        entries: u64,
    }

    /// What is left at the end.
    pub struct Closed {
        /// The server, as where the session was opened: several guards can have one session.
        server: Option<String>,
        /// The calls without an answer, by the ids of their requests.
        unanswered: Vec<String>,
        lines_not_forwarded: u64,
        /// How many notifications there were, by side and method.
        notifications: Object,
    }
}

impl Decided {
    /// A decision on this action, which is not allowed as long as nobody says so.
    #[must_use]
    pub fn of(action: Option<&Object>) -> Self {
        let member = |name: &str| action?.get(name);
        let text = |name: &str| member(name).and_then(Json::as_str).map(str::to_owned);
        let arguments = member("args").and_then(kept::arguments);
        Self {
            tool: text("tool"),
            class: text("class"),
            source: text("source"),
            surface: text("surface"),
            server: text("server"),
            origin: text("origin"),
            origin_sha256: text("origin_sha256"),
            origin_state: text("origin_state"),
            arguments,
            ..Self::default()
        }
    }

    /// The provenance of the call.
    #[must_use]
    pub fn provenance(&self) -> Object {
        object! {
            "source"?: self.source.clone(),
            "surface"?: self.surface.clone(),
            "server"?: self.server.clone(),
            "origin"?: self.origin.clone(),
            "origin_sha256"?: self.origin_sha256.clone(),
            "origin_state"?: self.origin_state.clone(),
            "process"?: self.process.clone(),
        }
    }

    /// Whether the request was forwarded: it was allowed, or nothing is enforced.
    #[must_use]
    pub fn was_forwarded(&self) -> bool {
        self.allowed || self.shadowed == Some(true)
    }

    /// Whether it is about a request of the server, and so not a call of the agent.
    #[must_use]
    pub fn is_of_server(&self) -> bool {
        match self.from {
            Some(side) => side == Side::Server,
            // Versions that did not record who asked decided on these requests of servers.
            None => {
                let method = self.method.as_deref();
                matches!(method, Some("sampling/createMessage" | "elicitation/create" | "input_required"))
            }
        }
    }
}

impl CallResult {
    /// Whether the agent was not given it.
    #[must_use]
    pub fn was_withheld(&self) -> bool {
        self.handling.as_deref() == Some("withhold")
    }
}
