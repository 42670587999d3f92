//! What passes between an MCP client and a server that is guarded: strict messages, known tools, observed calls.
//!
//! [`Connection`] is the state of one connection. It is given every line of both sides and says what to forward, what to answer
//! and what to have decided; the caller asks the policy, keeps the events and moves the bytes. The crate has no clock,
//! processes, files or network.

mod answer;
mod connection;
mod event;
mod fold;
mod message;
mod observed;
mod pins;
mod session;

pub use connection::{Connection, Output, Pending, Ruling, Settings, Step};
pub use event::{Event, Keep};
pub use message::{Kind, MAX_MESSAGE_BYTES, Message, MessageError, MessageId, Sender};
pub use pins::{Pin, PinState, Pinning, Pins};
pub use session::MAX_CALLS;
