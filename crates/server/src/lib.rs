//! Verification and decisions over HTTP and MCP: doors on `verifier`, and the only room with HTTP types.
//!
//! [`serve`] answers until it is told to stop. What it answers is described by `/openapi.json` and `docs/serving.md`.

mod body;
mod call;
mod commerce;
mod connections;
mod decisions;
mod door;
mod health;
mod keys;
mod listen;
mod log;
mod mcp;
mod metrics;
mod openapi;
mod origin;
mod problem;
mod rate;
mod receipts;
mod reference;
mod reply;
mod runtime;
mod sent;
mod share;
mod steps;
mod stop;
mod verifications;
mod work;
mod workbench;

pub use keys::{ApiKeys, KeysError, ReviewerEntry, Role, new_key};
pub use listen::{ServeError, Settings, serve};
pub use mcp::{StdioError, serve_stdio};
pub use workbench::Workbench;
