//! The Model Context Protocol: verification and decisions as tools of agents.
//!
//! [`serve_stdio`] serves a host that starts this program, and `/mcp` of the server serves clients over HTTP. Both read messages as
//! the guard does (`proofmark_guard::Message`), make a [`Request`](request::Request) of each that asks for something, and answer it
//! by [`answer`](answer::answer). What a tool answers is the text of the document, byte for byte, and the same again as structured content.
//!
//! A request is worked on in a task of its own (`calls`), which is ended to cancel it, and says what it has to say by `said`.

mod answer;
mod call;
mod calls;
pub(crate) mod http;
mod request;
mod resource;
mod said;
mod server;
mod sessions;
mod stdio;
mod tools;

use proofmark_receipt::json::{Limits, MAX_DEPTH, MAX_NODES};

pub(crate) use sessions::Sessions;
pub use stdio::serve_stdio;

/// The longest message that is read, in bytes.
const MAX_MESSAGE: usize = 4 << 20;

/// The limits of a message. Arguments of a tool are two levels down.
const MESSAGE: Limits = Limits { max_bytes: MAX_MESSAGE, max_depth: MAX_DEPTH + 2, max_nodes: MAX_NODES };
