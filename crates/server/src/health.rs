//! Whether the server lives, whether it can decide, and with which key it signs.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use proofmark_jobs::SelfTest;
use proofmark_receipt::{Json, object};
use proofmark_store::MAX_CLOCK_SKEW;
use proofmark_verifier::clock_behind;
use serde::Serialize;
use utoipa::ToSchema;

use crate::opaque::{StatusName, VerificationStatus};
use crate::problem::Problem;
use crate::reply::Reply;
use crate::services::Services;
use crate::sign_ins::START;
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
    /// and they end as `error`; `no_workers` where verifications are left to workers and none lives, and they wait
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = VerificationStatus)]
    verification: Option<&'static str>,
    /// How many workers live, where verifications are left to them
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    workers: Option<u64>,
    /// How many verifications wait that no worker can run that lives, where verifications are left to workers and there are any
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    unrunnable: Option<u64>,
    /// Why the transparency log is not signed any more, where the server signs it: what was stored since has no proof yet. Also why its
    /// copy does not follow it
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    log: Option<String>,
    /// The files whose last version cannot be used; what they said before is in force
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    stale: Vec<String>,
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
    /// The pages for people
    pages: &'static str,
}

/// `GET /`: where everything else is; a browser is led to the pages.
pub(crate) async fn index(headers: HeaderMap) -> Result<Reply, Problem> {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok()).unwrap_or_default();
    let is_browser = accepted.split(',').any(|one| one.split(';').next().is_some_and(|one| one.trim() == "text/html"));
    // Programs that ask for the index accept anything; only browsers name HTML.
    if is_browser {
        return Ok(Reply::see_other(START).header(header::VARY, "accept"));
    }
    let index = Reply::json(&Index {
        name: "proofmark",
        version: env!("CARGO_PKG_VERSION"),
        docs: "/docs/",
        openapi: "/openapi.json",
        ready: "/readyz",
        mcp: "/mcp",
        pages: "/ui/",
    })?;
    Ok(index.header(header::VARY, "accept"))
}

pub(crate) async fn live() -> Result<Reply, Problem> {
    Reply::json(&Status {
        status: "ok",
        clock_behind_ms: None,
        verification: None,
        workers: None,
        unrunnable: None,
        log: None,
        stale: Vec::new(),
    })
}

/// Whether the store can be written. Also where code cannot be run (yet): decisions are made all the same.
pub(crate) async fn ready(State(state): State<Arc<AppState>>) -> Result<Reply, Problem> {
    state.readiness.probe(&state.services).await?;
    let behind = submit::blocking(&state.services, |services| clock_behind(services.decider.store())).await??;
    let (workers, unrunnable) = if state.services.verifications.leaves_work() {
        let figures = submit::blocking(&state.services, |services| services.verifications.figures()).await??;
        let workers = submit::blocking(&state.services, Services::workers).await??;
        (Some(workers), (figures.unrunnable > 0).then_some(figures.unrunnable))
    } else {
        (None, None)
    };
    Reply::json(&Status {
        status: "ready",
        clock_behind_ms: (behind > MAX_CLOCK_SKEW).then_some(behind),
        verification: match (workers, state.services.verifications.self_test()) {
            (Some(0), _) => Some("no_workers"),
            (None, SelfTest::Running) => Some("starting"),
            (None, SelfTest::Failed) => Some("unavailable"),
            (Some(_), _) | (None, SelfTest::Passed) => None,
        },
        workers,
        unrunnable,
        log: state.services.log.as_ref().and_then(|log| log.failure()),
        stale: state.stale.names(),
    })
}

/// The public keys of the installation's servers and of the workers, as a set of JWKs (RFC 7517). A key that ends has `exp`, in
/// seconds, as the historical keys of OpenID Federation 1.0 have it.
pub(crate) async fn keys(State(state): State<Arc<AppState>>) -> Reply {
    let mut listed = state.services.decider.installation();
    for worker in state.services.worker_keys().iter() {
        // A worker may sign with a server's key, which is listed once.
        if !listed.iter().any(|key| key.signer == worker.signer) {
            listed.push(worker.clone());
        }
    }
    let keys: Vec<Json> = listed.iter().map(|key| Json::from(key.jwk())).collect();
    Json::from(object! { "keys": keys }).into()
}
