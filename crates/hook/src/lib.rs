//! What hosts of coding agents tell their hooks, and what they are answered.
//!
//! Each host has a file below `host`: how it names its events and its own tools, and the exact form of each answer. [`read`]
//! reads one event, the functions of [`Answer`] write one answer. The crate has no clock, processes, files or network, and
//! knows nothing of policies.
//!
//! [`JsonText`] changes the text of a host's configuration and leaves the rest of it as it is.
//!
//! Most hosts run a tool when they do not understand an answer, so an answer has only the fields that the host documents for
//! the event. An event that cannot be read is answered as a call that is not allowed.

mod answer;
mod ended;
mod event;
mod fields;
mod host;
mod json_text;
mod message;
mod name;
mod paths;
mod tools;
mod transcript;

pub use answer::Answer;
pub use event::{MAX_SESSION, ReadError, read};
pub use fields::{MAX_INPUT_BYTES, MAX_INPUT_DEPTH};
pub use json_text::{JsonText, JsonTextError, Step};
pub use message::{Call, Ended, Event, Message, Occasion, Stop, Subagent};
pub use name::{Host, ParseHostError};
pub use tools::{COMMON_TOOLS, CommonTool};
pub use transcript::{has_open_stop, last_message};
