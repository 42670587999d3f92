//! What is recorded of a guarded session, and what is known by it.
//!
//! - [`Event`] is one thing that happened: a call that was decided on, a result, a list of tools. `event.rs` is the table of
//!   all kinds and their members, from which the one reader and the one writer are made.
//! - [`Entry`] is an event and its time. [`Entry::to_document`] makes it the document that [`sign_entry`] links and signs;
//!   [`SessionDocument`] is such a document when it is read again, and [`SessionChain`] verifies all of a session.
//! - [`SessionHead`] is the end of a session at which a decision was made.
//! - [`SessionFacts`] are the calls and the signs of steering that entries tell of, as the facts of the next decision.
//! - [`Keep`], [`TextDigest`] and [`arguments`] say how much of a text an event has.
//!
//! The crate has no clock and no store, and knows neither policies nor who decides: guards and hooks make the events, and
//! `proofmark-decider` stores them.

mod chain;
mod document;
mod event;
mod facts;
mod head;
mod kept;
mod members;
mod provenance;
mod status;
mod tool_name;

pub use chain::{SessionChain, SessionError};
pub use document::{Entry, SESSION_ENTRY, SessionDocument, sign_entry};
pub use event::{
    Asked, CallResult, Cancelled, Changed, Closed, Decided, Ended, Event, Joined, Kind, Listed, Lost, NewPolicy,
    Opened, Passed, Refused, ServerInfo, Stopped, SubagentName, Told, Undecided, Waiting,
};
pub use facts::{Agent, FACT_KINDS, MAX_CALLS, SessionFacts};
pub use head::SessionHead;
pub use kept::{Keep, TextDigest, arguments, masked};
pub use members::{Executed, Side};
pub use provenance::{PROVENANCE, copy_provenance};
pub use status::CallStatus;
pub use tool_name::{COMMON_TOOLS, name_on_server, qualified_name, server_tool, unknown_tool};
