//! Verification and decisions over HTTP and MCP, and the only crate with HTTP types.
//!
//! [`serve`] answers until it is told to stop. What it answers is described by `/openapi.json` and `docs/serving.md`.

#![cfg_attr(not(feature = "ui"), allow(dead_code, reason = "the pages alone use it"))]

mod acp;
mod attempt_body;
mod body;
mod clawbizarre;
mod connections;
mod context;
mod deciding;
mod decisions;
mod docs;
mod endpoint;
mod endpoints;
mod guard;
mod health;
mod keys;
mod keys_file;
mod listen;
mod live_keys;
mod logging;
mod mcp;
mod metrics;
mod observe;
mod opaque;
mod openapi;
mod operation;
mod origin;
mod otlp;
mod pool;
mod problem;
mod rate;
mod readiness;
mod receipt_body;
mod receipts;
mod reload;
mod replace;
mod reply;
mod router;
mod runtime;
mod services;
mod share;
mod sign_ins;
mod state;
mod steps;
mod stop;
mod submit;
#[cfg(feature = "ui")]
mod ui;
#[cfg(not(feature = "ui"))]
#[path = "without_ui.rs"]
mod ui;
mod verifications;
mod work;

pub use guard::{GuardedUpstream, Upstream, UpstreamError, serve_guard};
pub use keys::{ApiKeys, KeysError, ReviewerEntry, Role, new_key};
pub use keys_file::{KeysFile, KeysFileError};
pub use listen::{ServeError, Settings, check_address, serve, serve_until};
pub use logging::{Log, LogFormat, LogSettings, log_note, start_log};
pub use mcp::{StdioError, serve_stdio};
pub use openapi::DescriptionError;
pub use otlp::{OtlpEndpoint, OtlpEndpointError};
pub use reload::{Files, Loaded, Source, UnreadableError, log_warnings};
pub use replace::replace_file;
pub use services::{Services, probe_host};
pub use ui::check_page_digest;
pub use work::{Ended, WorkError, WorkSettings, log_jobs, log_lost_jobs, work};
