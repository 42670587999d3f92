//! Verification and decisions over HTTP and MCP, and what every request of a program or a browser goes through.
//!
//! [`serve`] answers until it is told to stop. What it answers is described by `/openapi.json` and `docs/serving.md`. The pages
//! (`proofmark_pages`) and the guard over HTTP (`proofmark_proxy`) are built on the first four rows below.
//!
//! | where | what |
//! |---|---|
//! | `listen`, `socket`, `connections`, `router`, [`stop`], `pool` | the sockets, how many connections they have, and how all of it ends in time |
//! | `peer`, `proxies`, `reach`, [`origin`], `keys`, `live_keys`, `keys_file`, `oidc`, [`sign_ins`], `rate`, [`share`] | who sends a request, and how much of the server they may take |
//! | [`endpoint`], [`state`], [`context`], [`body`] | one request, from its head to what a handler is given |
//! | [`reply`], [`problem`], [`observe`] | its answer, and what the log and the figures say of it |
//! | `endpoints`, `operation`, `openapi`, `opaque`, `docs` | the table of endpoints, and its description |
//! | `decisions`, `deciding`, `runtime`, `receipts`, `quorums`, `verifications`, `submit`, `steps`, `acp`, `clawbizarre`, `health`, `metrics` (with `figures`) | the handlers, and the bodies they read (`attempt_body`, `receipt_body`) |
//! | `transparency` | the files of the log, proofs, the task that signs checkpoints, and a witness as a server of its own |
//! | `peers` | other servers that verify the same work |
//! | `mcp` | the same over the Model Context Protocol |
//! | `services` | what HTTP and MCP share: the decider, verifications, acceptances |
//! | `reload`, `replace`, `logging`, `work` | files that are read again, the log, and a process that only runs jobs |

mod acp;
mod attempt_body;
pub mod body;
mod clawbizarre;
mod connections;
pub mod context;
mod deciding;
mod decisions;
mod docs;
pub mod endpoint;
mod endpoints;
mod figures;
mod health;
mod introduce;
mod keys;
mod keys_file;
mod listen;
mod live_keys;
mod logging;
mod mcp;
mod metrics;
pub mod observe;
mod oidc;
mod opaque;
mod openapi;
mod operation;
pub mod origin;
mod outgoing;
mod peer;
mod peer_address;
mod peers;
mod pool;
pub mod problem;
mod proofs_body;
mod proxies;
mod proxy_header;
mod quorums;
mod rate;
mod reach;
mod readiness;
mod receipt_body;
mod receipts;
mod reload;
mod replace;
pub mod reply;
mod router;
mod runtime;
mod services;
pub mod share;
pub mod sign_ins;
mod socket;
pub mod state;
mod steps;
pub mod stop;
mod submit;
mod trace;
mod transparency;
mod verifications;
mod viewers;
mod webhook;
mod work;

pub use decisions::{own_roles, reviewer};
pub use keys::{ApiKeys, Caller, KeysError, ReviewerEntry, Role, new_key};
pub use keys_file::{KeysFile, KeysFileError};
pub use listen::{
    MAX_GOODBYE, MAX_LAST_ANSWERS, ServeError, Settings, accept, check_address, check_place, serve, serve_until,
    told_to_stop,
};
pub use live_keys::{Credential, KeyInUse, LiveKeys};
pub use logging::{Log, LogFormat, LogLayer, LogSettings, log_note, start_log};
pub use mcp::serve_stdio;
pub use oidc::{ClaimMap, IssuerError, IssuerUrl, IssuerUrlError, Oidc, TokenInUse};
pub use openapi::DescriptionError;
pub use peer_address::PeerAddress;
pub use peers::{Peer, PeerAddressError, PeerError, Peers};
pub use proxies::{Network, NetworkError};
pub use proxy_header::{ProxyHeader, ProxyHeaderError};
pub use reach::{OwnFiles, is_own};
pub use receipts::rerun_as_job;
pub use reload::{
    Files, Loaded, SignersSource, Source, Stale, UnreadableError, Watched, log_warnings, policy_file_name, watch_files,
    watched_keys,
};
pub use replace::replace_file;
pub use services::{Services, Signers, probe_host};
pub use socket::SocketSettings;
pub use transparency::{Bucket, BucketError, LogClient, Logged, RemoteLog, RemoteLogError, ServedLog, serve_witness};
pub use verifications::follow_job;
pub use viewers::Viewers;
pub use webhook::{Webhook, WebhookError};
pub use work::{Ended, WorkError, WorkSettings, log_jobs, log_lost_jobs, work};
