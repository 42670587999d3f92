//! What the user asks an agent for, as somebody tells it who may: a host beside the user, or a person.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use proofmark_boundary::Asker;
use proofmark_receipt::document::{is_unseen, shown};
use proofmark_session::{Asked, Entry, Event, Kind};
use proofmark_store::Tenant;

use crate::decide::DecideError;
use crate::decider::Decider;
use crate::session_decider::{Known, Owner, SessionDecider};

/// The longest request of a user, in bytes.
pub const MAX_REQUEST: usize = 64 << 10;
/// The longest name of a session, in bytes.
const MAX_SESSION_NAME: usize = 256;

/// A request that a person tells.
#[derive(Clone, Copy, Debug)]
pub struct ToldRequest<'a> {
    pub tenant: &'a Tenant,
    /// The whole name of the session, which may not have begun yet.
    pub session: &'a str,
    pub text: &'a str,
    /// Who tells it.
    pub by: &'a str,
}

/// Why a request is not recorded.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    #[error("record the request: it is empty")]
    Empty,
    #[error("record the request: it is longer than {MAX_REQUEST} bytes")]
    TooLong,
    #[error("record a request in the session `{}`: the name is empty, too long or has control characters", shown(.0))]
    Name(String),
    #[error(transparent)]
    Session(#[from] DecideError),
}

impl TellError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Empty | Self::TooLong => Some("write what the user asked for".to_owned()),
            Self::Name(_) => Some("give the name as `proofmark session list` shows it".to_owned()),
            Self::Session(error) => error.help(),
        }
    }
}

/// Nothing of the session has to be known.
struct Nothing;

impl Known for Nothing {
    const KINDS: &'static [Kind] = &[];

    fn take_in(&mut self, _: &Entry) {}

    fn appended(&mut self, _: &Entry) {}
}

impl Decider {
    /// Records in a session what the user asks for: values that come from it are those of the user from here on. Callers see to it that no
    /// agent tells it.
    ///
    /// # Errors
    /// [`TellError`]; nothing is recorded then.
    pub fn tell_request(self: &Arc<Self>, told: &ToldRequest<'_>) -> Result<(), TellError> {
        let ToldRequest { tenant, session, text, by } = *told;
        if text.chars().all(|c| c.is_whitespace() || is_unseen(c)) {
            return Err(TellError::Empty);
        }
        if text.len() > MAX_REQUEST {
            return Err(TellError::TooLong);
        }
        if session.is_empty() || session.len() > MAX_SESSION_NAME || session.chars().any(char::is_control) {
            return Err(TellError::Name(session.to_owned()));
        }
        let owner = Owner { tenant: tenant.clone(), asker: Asker::default() };
        let stop = Arc::new(AtomicBool::new(false));
        let mut recorded = SessionDecider::open(Arc::clone(self), owner, session.to_owned(), Nothing, stop)?;
        let event = Event::Asked(Asked { text: text.to_owned(), told_by: by.to_owned() });
        Ok(recorded.append(&[Entry { at: self.now().to_string(), event }])?)
    }
}
