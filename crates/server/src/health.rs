//! Whether the server lives, whether it can decide, and whose signature it gives.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use proofmark_receipt::{Json, Object};
use proofmark_verifier::{MAX_CLOCK_SKEW, clock_behind};
use tokio::sync::Mutex;

use crate::problem::Problem;
use crate::reply::Reply;
use crate::router::AppState;
use crate::submit;

/// How long what a probe found is answered again: anybody may ask, and a probe writes.
const READY_FOR: Duration = Duration::from_secs(3);

/// It answers, so it lives.
pub(crate) async fn live() -> Response {
    Reply::from(status("ok")).into_response()
}

/// What became of the last probe of the store, and when that was. Who asks while it is probed waits for this probe.
#[derive(Default)]
pub(crate) struct Readiness {
    last: Mutex<Option<(Instant, Result<(), Problem>)>>,
}

/// Whether the store can be written (a decision that cannot be kept is not given), and whether the clock is behind what it
/// has recorded.
pub(crate) async fn ready(State(state): State<Arc<AppState>>) -> Result<Reply, Problem> {
    probe(&state).await?;
    let behind = submit::inside(&state.services, |services| clock_behind(services.decider.store())).await??;
    let mut document = status("ready");
    if let (Json::Object(document), true) = (&mut document, behind > MAX_CLOCK_SKEW) {
        document.insert("clock_behind_ms", behind);
    }
    Ok(document.into())
}

async fn probe(state: &AppState) -> Result<(), Problem> {
    let mut last = state.ready.last.lock().await;
    if let Some((_, found)) = last.as_ref().filter(|(at, _)| at.elapsed() < READY_FOR) {
        return found.clone();
    }
    let probed = submit::inside(&state.services, |services| services.decider.store().probe()).await;
    let found = probed.and_then(|probed| probed.map_err(Problem::from));
    *last = Some((Instant::now(), found.clone()));
    found
}

/// The public key decisions are signed with, as a set of JWKs (RFC 7517).
pub(crate) async fn keys(State(state): State<Arc<AppState>>) -> Response {
    let mut set = Object::new();
    set.insert("keys", vec![Json::from(state.services.decider.key().signer().jwk())]);
    Reply::from(Json::from(set)).into_response()
}

fn status(word: &str) -> Json {
    let mut document = Object::new();
    document.insert("status", word);
    document.into()
}
