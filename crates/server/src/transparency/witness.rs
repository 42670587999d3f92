//! A witness as a server of its own (C2SP tlog-witness).

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{self, Body};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use proofmark_log::{Witness, WitnessAnswer};
use proofmark_tlog::MAX_REQUEST_BYTES;
use proofmark_verifier::clock;
use tracing::{error, info, warn};

use crate::listen::{accept, told_to_stop};

const TEXT: &str = "text/plain; charset=utf-8";
/// How long a body may take to come.
const MAX_BODY_TIME: Duration = Duration::from_secs(10);
/// How long the last answers may take.
const MAX_GOODBYE: Duration = Duration::from_secs(5);

/// Serves a witness at this address until the process is told to stop. `listening` is told the address.
///
/// # Errors
/// When it cannot listen there.
pub fn serve_witness(witness: Witness, address: SocketAddr, listening: impl FnOnce(SocketAddr)) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let stop = told_to_stop();
        let listener = tokio::net::TcpListener::bind(address).await?;
        listening(listener.local_addr()?);
        let router = Router::new()
            .route("/add-checkpoint", post(add_checkpoint))
            .route("/{origin}/checkpoint", get(checkpoint))
            .with_state(Arc::new(witness));
        let graceful = accept(listener, &router, stop).await;
        drop(tokio::time::timeout(MAX_GOODBYE, graceful.shutdown()).await);
        Ok(())
    })
}

async fn add_checkpoint(State(witness): State<Arc<Witness>>, body: Body) -> Response {
    let read = tokio::time::timeout(MAX_BODY_TIME, body::to_bytes(body, MAX_REQUEST_BYTES)).await;
    let Ok(Ok(body)) = read else {
        return answer(
            StatusCode::BAD_REQUEST,
            TEXT,
            format!("the body is not sent whole, or has more than {MAX_REQUEST_BYTES} bytes\n"),
        );
    };
    let now = clock::now().unix_seconds();
    let judged = tokio::task::spawn_blocking(move || witness.add_checkpoint(&body, now)).await;
    match judged {
        Ok(Ok(WitnessAnswer::Cosigned(lines))) => {
            info!("a checkpoint was cosigned");
            answer(StatusCode::OK, TEXT, lines)
        }
        Ok(Ok(WitnessAnswer::Refused(refusal))) => {
            warn!(cause = %refusal, "a checkpoint was not cosigned");
            let status = StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::BAD_REQUEST);
            answer(status, refusal.content_type(), refusal.body())
        }
        Ok(Err(cause)) => {
            error!(%cause, "the state of the witness cannot be written");
            answer(StatusCode::INTERNAL_SERVER_ERROR, TEXT, "the state cannot be written\n".to_owned())
        }
        Err(_) => answer(StatusCode::INTERNAL_SERVER_ERROR, TEXT, "it failed\n".to_owned()),
    }
}

async fn checkpoint(State(witness): State<Arc<Witness>>, Path(origin): Path<String>) -> Response {
    match witness.checkpoint(&origin) {
        Some(note) => answer(StatusCode::OK, TEXT, note),
        None => answer(StatusCode::NOT_FOUND, TEXT, "nothing of this log was cosigned\n".to_owned()),
    }
}

fn answer(status: StatusCode, media_type: &'static str, text: String) -> Response {
    (status, [(CONTENT_TYPE, media_type)], text).into_response()
}
