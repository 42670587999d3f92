//! `/log/…`: the files of the log, and proofs.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{RawPathParams, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use proofmark_log::{LogError, StoredLog, prove};
use proofmark_receipt::{Json, Sha256Digest};
use proofmark_store::Store;
use proofmark_tlog::{BUNDLE_ENTRY_BYTES, Checkpoint, LogFiles, Note, TileContent, TileId, TilePath, Tiles};

use crate::context::RequestContext;
use crate::problem::Problem;
use crate::reply::Reply;
use crate::state::AppState;

pub(super) const NOTE: &str = "text/plain; charset=utf-8";
pub(super) const BYTES: &str = "application/octet-stream";
/// A checkpoint is replaced; a tile never says anything else.
pub(super) const FOR_A_SECOND: &str = "max-age=1";
pub(super) const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// How many bytes a hash has.
const HASH_BYTES: usize = 32;

/// `GET /log/checkpoint`: the checkpoint that was signed last, with its cosignatures.
pub(crate) async fn checkpoint(State(state): State<Arc<AppState>>, parts: Parts) -> Result<Response, Problem> {
    state.take_rate_of_stranger(&parts)?;
    let (note, _) = in_thread(state, signed).await?;
    Ok(file(NOTE, FOR_A_SECOND, note.into_bytes()))
}

/// `GET /log/tile/…`: a tile, or a bundle of entries, of any width up to what was signed.
pub(crate) async fn tile(
    State(state): State<Arc<AppState>>,
    path: RawPathParams,
    parts: Parts,
) -> Result<Response, Problem> {
    state.take_rate_of_stranger(&parts)?;
    let rest = path.iter().next().map_or("", |(_, rest)| rest);
    let path: TilePath = format!("tile/{rest}").parse().map_err(|_| Problem::not_found("file of the log"))?;
    let bytes = in_thread(state, move |store| read(store, path)).await?;
    Ok(file(BYTES, FOR_EVER, bytes))
}

/// `GET /v1/receipts/{id}/proof`
pub(crate) fn of_receipt(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&[])?;
    let receipt = crate::receipts::stored(context)?.receipt;
    proof(context, &receipt.hash(), receipt.document())
}

/// `GET /v1/decisions/{id}/proof`
pub(crate) fn of_decision(context: &RequestContext<'_>) -> Result<Reply, Problem> {
    context.only(&[])?;
    let stored = context.store().decision(context.variable("id"))?.ok_or_else(|| Problem::not_found("decision"))?;
    let signed = context.decider.signed(&stored).map_err(|error| Problem::internal().cause(error))?;
    let document = signed.document();
    proof(context, &Sha256Digest::of(&document.canonical_vrf()), &document.clone().into())
}

fn proof(context: &RequestContext<'_>, digest: &Sha256Digest, document: &Json) -> Result<Reply, Problem> {
    let store = context.decider.store();
    require_log(context.services.log.is_some())?;
    let is_failing = context.services.log.as_ref().is_some_and(|log| log.failure().is_some());
    let (note, checkpoint) = signed(store)?;
    let file = prove(store, digest, Some(document), note.into_bytes(), &checkpoint);
    let file = file.map_err(|error| match error {
        LogError::NotLogged(_) if is_failing => Problem::not_found("checkpoint that covers the document")
            .help("the log cannot be signed; `/readyz` says why"),
        LogError::NotLogged(_) => not_yet(),
        LogError::Store(error) => error.into(),
        other => Problem::internal().cause(other),
    })?;
    let text = String::from_utf8(file.to_bytes()).map_err(|error| Problem::internal().cause(error))?;
    Ok(Reply::text(NOTE, text).header(CACHE_CONTROL, FOR_A_SECOND))
}

/// The last checkpoint of the store.
fn signed(store: &Store) -> Result<(String, Checkpoint), Problem> {
    let note = store.log_state()?.checkpoint;
    if note.is_empty() {
        return Err(not_yet());
    }
    let parsed = Note::parse(note.as_bytes()).ok().and_then(|parsed| Checkpoint::parse(parsed.text()).ok());
    let checkpoint = parsed.ok_or_else(|| Problem::internal().cause("the checkpoint in the store is not one"))?;
    Ok((note, checkpoint))
}

fn read(store: &Store, path: TilePath) -> Result<Vec<u8>, Problem> {
    let (_, checkpoint) = signed(store)?;
    let not_found = || Problem::not_found("file of the log");
    if !path.is_within(checkpoint.size) {
        return Err(not_found());
    }
    let (width, log) = (usize::from(path.width), StoredLog(store));
    let (found, unit) = match path.content {
        TileContent::Tile(id) => (log.tile(id, width)?, HASH_BYTES),
        TileContent::Entries(index) => {
            // No wider than it is asked for, so that a partial one costs no more.
            debug_assert!(width <= TileId { level: 0, index }.width(checkpoint.size));
            (log.bundle(index, width)?, BUNDLE_ENTRY_BYTES)
        }
    };
    let mut bytes = found.ok_or_else(not_found)?;
    let length = width * unit;
    if bytes.len() < length {
        return Err(Problem::internal().cause("a tile of the log is shorter than the log that was signed"));
    }
    bytes.truncate(length);
    Ok(bytes)
}

async fn in_thread<T: Send + 'static>(
    state: Arc<AppState>,
    read: impl FnOnce(&Store) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    require_log(state.services.log.is_some())?;
    let read = move || read(state.services.decider.store());
    tokio::task::spawn_blocking(read).await.map_err(|error| Problem::internal().cause(error))?
}

fn require_log(has_log: bool) -> Result<(), Problem> {
    let none = || {
        Problem::not_found("log").help(
            "this server shows none; begin one with `proofmark log init` and start it with `proofmark serve --log`",
        )
    };
    if has_log { Ok(()) } else { Err(none()) }
}

/// A second later a checkpoint covers it.
fn not_yet() -> Problem {
    Problem::not_found("checkpoint that covers the document").help("ask again in a second: it is signed soon")
}

fn file(media_type: &'static str, cache: &'static str, bytes: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, media_type), (CACHE_CONTROL, cache)], Body::from(bytes)).into_response()
}
