//! Whether the server lives, whether it can decide, and with which key it signs.

use std::sync::Arc;

use axum::extract::State;
use proofmark_receipt::{Json, object};
use proofmark_verifier::{MAX_CLOCK_SKEW, clock_behind};
use serde::Serialize;
use utoipa::ToSchema;

use crate::opaque::StatusName;
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
}

pub(crate) async fn live() -> Result<Reply, Problem> {
    Reply::json(&Status { status: "ok", clock_behind_ms: None })
}

/// Whether the store can be written, and whether the clock is behind what it has recorded.
pub(crate) async fn ready(State(state): State<Arc<AppState>>) -> Result<Reply, Problem> {
    state.readiness.probe(&state.services).await?;
    let behind = submit::blocking(&state.services, |services| clock_behind(services.decider.store())).await??;
    Reply::json(&Status { status: "ready", clock_behind_ms: (behind > MAX_CLOCK_SKEW).then_some(behind) })
}

/// The public key that decisions are signed with, as a set of JWKs (RFC 7517).
pub(crate) async fn keys(State(state): State<Arc<AppState>>) -> Reply {
    let key = state.services.decider.key().signer().jwk();
    Json::from(object! { "keys": vec![Json::from(key)] }).into()
}
