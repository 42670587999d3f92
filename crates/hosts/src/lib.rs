//! Hosts of coding agents: what they tell their hooks, what they are answered, and where they are configured.
//!
//! A [`Host`] is a row. All that is known of a host stands in its own file below `host`, and nothing outside of that file knows
//! a host by its name; so a new host is a file, and a row in `host.rs`. The parts of a row are in files of their own:
//!
//! | part | what it holds |
//! |---|---|
//! | `event`, `fields`, `message`, `tools`, `paths`, `ended` | one form for the events of all hosts |
//! | `answer` | what a host is answered, and what it takes an answer for |
//! | `record` | the host's own record of a session |
//! | `installation`, `surroundings` | the files that have its hooks, in which form, and what the person does next |
//! | `gap`, `switches`, `finding` | what hooks do not stop, and settings by which they do not run |
//! | `hook_server` | a host that says which hooks it runs |
//! | `servers` | how its MCP servers are configured |
//! | `json_text` | changes a file of settings, and leaves the rest of it as it is |
//!
//! The crate has no clock, processes, files, variables or network, and knows nothing of policies: what it needs of the machine
//! is an argument.
//!
//! Most hosts run a tool when they do not understand an answer, so an answer has only the fields that the host documents for
//! the event. An event that cannot be read is answered as a call that is not allowed.

mod answer;
mod ended;
mod event;
mod fields;
mod finding;
mod gap;
mod hook_server;
mod host;
mod installation;
mod json_text;
mod message;
mod paths;
mod record;
mod servers;
mod surroundings;
mod switches;
mod tools;

pub use answer::{Answer, Answers, HookOutput, Reading};
pub use event::{Events, MAX_SESSION, SampleCall};
pub use fields::{MAX_INPUT_BYTES, MAX_INPUT_DEPTH};
pub use finding::{Finding, State};
pub use gap::{EVERY_HOST, Gap};
pub use hook_server::{HookServer, InstalledHook, ListedHook, Question};
pub use host::{Host, Oldest, Program, ReadError};
pub use installation::{Form, Installation, Moment, OnFailure, Shell, TIMEOUT_SECONDS};
pub use json_text::{JsonText, JsonTextError, Step};
pub use message::{Call, Ended, Event, Message, Occasion, Stop, Subagent};
pub use record::Record;
pub use servers::Servers;
pub use surroundings::{Layer, Scope, Surroundings};
pub use switches::{Settings, SettingsFound, Switches};
pub use tools::{COMMON_TOOLS, CommonTool};
