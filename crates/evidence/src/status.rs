//! How far evidence can be relied on.

/// How far evidence can be relied on, from the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EvidenceStatus {
    Absent,
    /// Only the agent says so.
    SelfReported,
    /// Seen by the runtime, or in a trace the orchestrator recorded.
    Observed,
    /// A receipt whose signature is valid.
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
