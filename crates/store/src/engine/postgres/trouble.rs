//! What goes wrong on a connection.

use tokio_postgres::error::SqlState;

use crate::engine::postgres::refusal::{is_lost, refusal};
use crate::error::StoreError;
use crate::fault::Fault;
use crate::place::Place;

/// An error of a connection.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) error: StoreError,
    /// What the server said, if it said anything.
    pub(crate) state: Option<SqlState>,
    /// Whether the connection cannot be used any more, or not for what it is for.
    pub(crate) is_lost: bool,
}

impl Trouble {
    /// `ended` says why the connection has ended, if it has.
    pub(crate) fn of(place: &Place, fault: Fault, ended: Option<&str>) -> Self {
        match fault {
            Fault::Postgres(error) => {
                Self { error: refusal(place, &error, ended), state: error.code().cloned(), is_lost: is_lost(&error) }
            }
            fault => Self { error: StoreError::of_fault(place, &fault), state: None, is_lost: false },
        }
    }

    /// Another connection would meet the same.
    pub(crate) fn refused(error: StoreError) -> Self {
        Self { error, state: None, is_lost: false }
    }

    /// The connection does not answer.
    pub(crate) fn lost(place: &Place, reason: &str) -> Self {
        let error = StoreError::Unreachable { place: place.clone(), reason: reason.to_owned() };
        Self { error, state: None, is_lost: true }
    }
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Self {
        // The server undid the whole transaction to let another go on, and says so to be asked again.
        let gave_way = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        if trouble.is_lost || trouble.state.is_some_and(|state| gave_way.contains(&state)) {
            Self::Passing(trouble.error)
        } else {
            Self::Told(trouble.error)
        }
    }
}
