//! Whether the server lives, whether it can decide, and whose signature it gives.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use proofmark_receipt::{Json, Object};
use proofmark_verifier::{MAX_CLOCK_SKEW, clock_behind};

use crate::door::Doorkeeper;
use crate::problem::Problem;
use crate::reply::Reply;

/// It answers, so it lives.
pub(crate) async fn live() -> Response {
    Reply::from(status("ok")).into_response()
}

/// Whether the store can be read, and whether the clock is behind what it has recorded.
pub(crate) async fn ready(State(keeper): State<Arc<Doorkeeper>>) -> Response {
    let read = tokio::task::spawn_blocking(move || {
        let store = keeper.bench.desk.store();
        store.all_tenants_last_decision()?;
        clock_behind(store)
    });
    match read.await {
        Ok(Ok(behind)) => {
            let mut document = status("ready");
            if let (Json::Object(document), true) = (&mut document, behind > MAX_CLOCK_SKEW) {
                document.insert("clock_behind_ms", behind);
            }
            Reply::from(document).into_response()
        }
        Ok(Err(error)) => Problem::from(error).into_response(),
        Err(_) => Problem::busy().into_response(),
    }
}

/// The public key decisions are signed with, as a set of JWKs (RFC 7517).
pub(crate) async fn keys(State(keeper): State<Arc<Doorkeeper>>) -> Response {
    let mut set = Object::new();
    set.insert("keys", vec![Json::from(keeper.bench.desk.key().signer().jwk())]);
    Reply::from(Json::from(set)).into_response()
}

fn status(word: &str) -> Json {
    let mut document = Object::new();
    document.insert("status", word);
    document.into()
}
