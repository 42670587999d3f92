//! A guarded session in other formats: as an in-toto Runtime Trace, as a chain of audit records that MCP proposes, and as events of
//! OCSF.
//!
//! The caller says what the entries of the session hold; nothing is verified here. Arguments and results are digests, so what an agent
//! was given does not leave with the record.

mod audit;
mod ocsf;
mod trace;

use proofmark_receipt::{Sha256Digest, Timestamp};

pub use audit::{AuditError, MAX_TEXT_UNITS, audit_records};
pub use ocsf::{OCSF_VERSION, ocsf_events};
pub use trace::{RUNTIME_TRACE, runtime_trace};

/// A session of an agent that was guarded.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardedSession {
    /// Its name.
    pub name: String,
    /// The hash of its last entry, which the hashes of all others lead to.
    pub head: Sha256Digest,
    /// Where the agent ran, as a URI.
    pub host: String,
    /// Whom the calls are attributed to, such as the agent's id.
    pub principal: String,
    /// What the agent was asked for, where the session says it.
    pub purpose: Option<String>,
    /// When the guard began to watch.
    pub began: Timestamp,
    /// When it ended; `None` while it watches.
    pub ended: Option<Timestamp>,
    /// The calls, in their order.
    pub calls: Vec<GuardedCall>,
}

/// A call of a tool in a session.
#[derive(Clone, Debug, PartialEq)]
pub struct GuardedCall {
    /// The id of its entry.
    pub id: String,
    /// When it was decided on, by the clock of the guard.
    pub at: Timestamp,
    /// The id of its request, where the protocol has one.
    pub request: Option<String>,
    /// The method of the protocol.
    pub method: String,
    /// The owner of the tool: the MCP server, or the host.
    pub service: String,
    /// The tool's name.
    pub tool: String,
    /// SHA-256 of the arguments.
    pub arguments: Option<Sha256Digest>,
    /// What became of the call.
    pub outcome: CallOutcome,
    /// The decision; `None` for a call that was made without one.
    pub decision: Option<CallDecision>,
    /// How the tool's definition compares with the approved one.
    pub drift: Drift,
    /// SHA-256 of the result, where there is one.
    pub result: Option<Sha256Digest>,
    /// How it ended, where that is known.
    pub end: Option<CallEnd>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallEnd {
    Succeeded,
    Failed,
}

/// The decision on a call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallDecision {
    /// Its id.
    pub id: String,
    /// SHA-256 of its receipt, signature included, in canonical form `vrf`.
    pub receipt: Sha256Digest,
    /// The name of the policy that decided.
    pub policy_name: String,
    /// SHA-256 of that policy.
    pub policy: Sha256Digest,
    /// The outcome, as the receipt has it.
    pub outcome: String,
    /// How the agent continues, as the receipt has it.
    pub disposition: String,
    /// The first rule that gave a reason.
    pub rule: Option<String>,
}

/// What became of a call, in the words of SEP-3004, section 2.1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It went on.
    Allowed,
    /// It was refused.
    Denied,
    /// It waits for a person.
    Deferred,
    /// It could not be decided on, or was made without a decision.
    Error,
}

impl CallOutcome {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Deferred => "deferred",
            Self::Error => "error",
        }
    }
}

/// How a tool's definition compares with the one that was approved, in the words of SEP-3004, section 2.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// It is the approved one.
    None,
    /// It changed, in a way that the policy does not ask about.
    Observed,
    /// It changed, in a way that the policy asks about.
    Confirmed,
}

impl Drift {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Observed => "observed",
            Self::Confirmed => "confirmed",
        }
    }
}
