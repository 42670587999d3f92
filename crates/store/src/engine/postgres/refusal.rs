//! What errors of PostgreSQL are to callers.

use std::error::Error as _;
use std::io;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::error::StoreError;
use crate::mark::{self, Mark};
use crate::place::Place;

/// The most characters of a server's message that are shown.
const MAX_MESSAGE: usize = 300;

/// The error that `error`, of the database at `place`, is to callers. `ended` says why the connection has ended, if it has.
pub(crate) fn refusal(place: &Place, error: &Error, ended: Option<&str>) -> StoreError {
    let place = place.clone();
    let reason = if error.is_closed() { ended.map_or_else(|| message(error), str::to_owned) } else { message(error) };
    let Some(state) = error.code() else {
        // The driver tells its kinds of errors apart by their texts only.
        return match error.to_string().as_str() {
            "authentication error" | "invalid configuration" => StoreError::Denied { place, reason },
            text if is_of_value(text) => StoreError::Damaged { place, detail: reason },
            _ => StoreError::Unreachable { place, reason },
        };
    };
    // A store that refuses changes itself.
    if state.code() == mark::REFUSED
        && let Some(mark) = error.as_db_error().and_then(|said| Mark::of_refusal(said.message()))
    {
        return StoreError::of_mark(place, mark);
    }
    if *state == SqlState::DISK_FULL {
        return StoreError::Full { place };
    }
    if *state == SqlState::T_R_DEADLOCK_DETECTED || *state == SqlState::LOCK_NOT_AVAILABLE {
        return StoreError::Locked { place };
    }
    if [SqlState::INSUFFICIENT_PRIVILEGE, SqlState::INVALID_CATALOG_NAME].contains(state) {
        return StoreError::Denied { place, reason };
    }
    match state.code().get(..2) {
        Some("28") => StoreError::Denied { place, reason },
        // What passes: connections, states of transactions, conflicts, resources, intervention, system.
        Some("08" | "25" | "26" | "40" | "53" | "55" | "57" | "58") => StoreError::Unreachable { place, reason },
        // Every statement is a constant that fits the schema, so one that is refused met another schema or other rows.
        _ => StoreError::Damaged { place, detail: reason },
    }
}

/// Whether another connection may do better.
pub(crate) fn is_lost(error: &Error) -> bool {
    match error.as_db_error() {
        Some(said) => {
            let ends = matches!(said.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
            // A server that has become a standby, one that ends, and statements that are not prepared any more.
            let states = [
                SqlState::READ_ONLY_SQL_TRANSACTION,
                SqlState::ADMIN_SHUTDOWN,
                SqlState::CRASH_SHUTDOWN,
                SqlState::CANNOT_CONNECT_NOW,
                SqlState::FEATURE_NOT_SUPPORTED,
                SqlState::INVALID_SQL_STATEMENT_NAME,
            ];
            ends || states.contains(said.code()) || said.code().code().starts_with("08")
        }
        None => !is_of_value(&error.to_string()),
    }
}

/// Whether the error is about a value, and not about the connection.
fn is_of_value(text: &str) -> bool {
    let kinds = ["error serializing parameter", "error deserializing column", "invalid column", "expected"];
    kinds.iter().any(|kind| text.starts_with(kind))
}

/// What the server or the system says, in one line.
pub(crate) fn message(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        return said_by(said);
    }
    if error.is_closed() {
        return "the connection was closed".to_owned();
    }
    let cause = error.source().map(|cause| match cause.downcast_ref::<io::Error>() {
        Some(error) => error.to_string(),
        None => cause.to_string(),
    });
    clean(&cause.unwrap_or_else(|| error.to_string()))
}

/// A server's message, without its details, which may quote rows.
fn said_by(said: &DbError) -> String {
    clean(&format!("{} (SQLSTATE {})", said.message(), said.code().code()))
}

fn clean(text: &str) -> String {
    let mut cleaned = String::new();
    for character in text.chars().take(MAX_MESSAGE) {
        if character.is_control() { cleaned.extend(character.escape_default()) } else { cleaned.push(character) }
    }
    cleaned
}
