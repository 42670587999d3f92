//! What passes between an MCP client and a server that is guarded: strict messages, known tools, observed calls.
//!
//! [`Connection`] is the state of one connection. It is given every message of both sides and says what to forward, what to answer
//! and what to have decided; the caller asks the policy, keeps the events (`proofmark-session`) and moves the bytes. Over HTTP, [`Headers`] are held
//! against the body and [`SseReader`] reads the server's streams. The crate has no clock, processes, files or network.

mod answer;
mod connection;
mod fold;
mod headers;
mod message;
mod observed;
mod origin;
mod pin;
mod pins;
mod sse;

pub use answer::{Block, undecidable, withheld};
pub use connection::{
    Connection, Exchanged, Failure, HungUp, Moving, Output, Pending, Posted, Released, Requested, Ruling, Settings,
    Step, Stream, TOOL_ERROR,
};
pub use headers::{HeaderText, Headers};
pub use message::{Kind, MAX_MESSAGE_BYTES, Message, MessageError, MessageId, PROTOCOL_VERSION, Sender};
pub use observed::{labels_of, values_in};
pub use pin::{Difference, Pin, PinKind, PinName};
pub use pins::{PinState, Pinning, Pins, says_that_it_changes};
pub use sse::{SseError, SseEvent, SseItem, SseReader};
