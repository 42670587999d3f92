//! Verification and decisions over HTTP and MCP, and the only crate with HTTP types.
//!
//! [`serve`] answers until it is told to stop. What it answers is described by `/openapi.json` and `docs/serving.md`.

mod acp;
mod attempt_body;
mod body;
mod clawbizarre;
mod connections;
mod context;
mod decisions;
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
mod reply;
mod router;
mod runtime;
mod services;
mod share;
mod steps;
mod stop;
mod submit;
mod verifications;

pub use keys::{ApiKeys, KeysError, ReviewerEntry, Role, new_key};
pub use listen::{ServeError, Settings, serve};
pub use mcp::{StdioError, serve_stdio};
pub use services::Services;
