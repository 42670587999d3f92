//! What evidence is worth.

/// What evidence is worth, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceStatus {
    /// There is none.
    Absent,
    /// In the agent's own words.
    SelfReported,
    /// Seen by the runtime, or in a trace the orchestrator recorded.
    Observed,
    /// A receipt that was checked.
    Verified,
}

impl EvidenceStatus {
    /// The word: `absent`, `self_reported`, `observed` or `verified`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::SelfReported => "self_reported",
            Self::Observed => "observed",
            Self::Verified => "verified",
        }
    }
}
