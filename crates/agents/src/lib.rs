//! What stands beside an agent, and the server that decides for it, when these are two programs.
//!
//! The agent's side has neither policy nor key nor store: [`Server`] passes on what happens, and does what it is answered. The
//! guards and the hooks themselves live in the server ([`endpoints`]), in the sessions of the caller that the server knows: an
//! account of the host, or the holder of an API key. They can ask for decisions, record what happened, and read their own
//! sessions. Nothing here approves, trusts, or writes anything else.

mod client;
mod endpoints;
mod guards;
mod messages;

pub use client::{AskError, RemoteGuard, RemoteJudges, Server, ServerAddress, ServerError};
pub use endpoints::{Terms, endpoints};
pub use messages::{Begun, Follows, HookAnswer, HookEvent, NewGuard, Sent, StepToJudge};
