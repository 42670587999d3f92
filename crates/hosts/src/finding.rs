//! What was found about the hooks of a host.

/// What was found about one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub state: State,
    pub what: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// How good or bad it is, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Worth knowing; neither good nor bad.
    Note,
    Good,
    /// It could not be looked at.
    Unknown,
    Bad,
}

impl Finding {
    /// Something that is as it should be.
    pub fn good(what: impl Into<String>) -> Self {
        Self { state: State::Good, what: what.into(), help: None }
    }

    /// Something that is worth knowing.
    pub fn note(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { state: State::Note, what: what.into(), help: Some(help.into()) }
    }

    /// Something that could not be looked at.
    pub fn unknown(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { state: State::Unknown, what: what.into(), help: Some(help.into()) }
    }

    /// Something by which a call may run that no hook has allowed.
    pub fn bad(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { state: State::Bad, what: what.into(), help: Some(help.into()) }
    }
}

impl State {
    /// `note`, `good`, `unknown` or `bad`.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Note => "note",
            State::Good => "good",
            State::Unknown => "unknown",
            State::Bad => "bad",
        }
    }
}
