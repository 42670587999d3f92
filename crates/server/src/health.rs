//! Whether the server lives, whether it can decide, and with which key it signs.

use std::sync::Arc;

use axum::extract::State;
use proofmark_receipt::{Json, object};
use proofmark_verifier::{MAX_CLOCK_SKEW, SelfTest, clock_behind};
use serde::Serialize;
use utoipa::ToSchema;

use crate::opaque::{StatusName, VerificationStatus};
use crate::problem::Problem;
use crate::reply::Reply;
use crate::state::AppState;
use crate::submit;

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Status {
    #[schema(value_type = StatusName)]
    status: &'static str,
    /// How far the clock is behind what the store has recorded, where it was set back
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    clock_behind_ms: Option<i64>,
    /// `starting` while the self-test of the sandbox runs, and verifications that run code wait; `unavailable` where it failed,
    /// and they end as `error`
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = VerificationStatus)]
    verification: Option<&'static str>,
    /// The files whose last version cannot be used; what they said before is in force
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    stale: Vec<&'static str>,
}

#[derive(Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Index {
    name: &'static str,
    version: &'static str,
    /// The description of every endpoint, as a page
    docs: &'static str,
    /// The same for programs
    openapi: &'static str,
    /// Whether decisions and verifications are made
    ready: &'static str,
    /// The Model Context Protocol
    mcp: &'static str,
}

/// `GET /`: where everything else is.
pub(crate) async fn index() -> Result<Reply, Problem> {
    Reply::json(&Index {
        name: "proofmark",
        version: env!("CARGO_PKG_VERSION"),
        docs: "/docs/",
        openapi: "/openapi.json",
        ready: "/readyz",
        mcp: "/mcp",
    })
}

pub(crate) async fn live() -> Result<Reply, Problem> {
    Reply::json(&Status { status: "ok", clock_behind_ms: None, verification: None, stale: Vec::new() })
}

/// Whether the store can be written. Also where code cannot be run (yet): decisions are made all the same.
pub(crate) async fn ready(State(state): State<Arc<AppState>>) -> Result<Reply, Problem> {
    state.readiness.probe(&state.services).await?;
    let behind = submit::blocking(&state.services, |services| clock_behind(services.decider.store())).await??;
    Reply::json(&Status {
        status: "ready",
        clock_behind_ms: (behind > MAX_CLOCK_SKEW).then_some(behind),
        verification: match state.services.verifications.self_test() {
            SelfTest::Running => Some("starting"),
            SelfTest::Failed => Some("unavailable"),
            SelfTest::Passed => None,
        },
        stale: state.stale.names(),
    })
}

/// The public key that decisions are signed with, as a set of JWKs (RFC 7517).
pub(crate) async fn keys(State(state): State<Arc<AppState>>) -> Reply {
    let key = state.services.decider.key().signer().jwk();
    Json::from(object! { "keys": vec![Json::from(key)] }).into()
}
