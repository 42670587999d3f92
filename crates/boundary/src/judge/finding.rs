//! The finding of one rule.

use std::sync::Arc;

use crate::disposition::Disposition;
use crate::evidence::EvidenceItem;
use crate::rule_ref::RuleRef;

/// A text shared by findings.
pub(crate) type SharedText = Arc<str>;

/// The finding of one rule.
#[derive(Clone, Debug)]
pub struct RuleFinding {
    /// As in `boundaries[0].require[1]`.
    pub rule: SharedText,
    /// The boundary of the rule; empty for rules of the whole policy.
    pub boundary: SharedText,
    pub status: RuleStatus,
    /// Why it blocks or warns; `None` when it does neither.
    pub reason: Option<Reason>,
    pub evidence: Vec<EvidenceItem>,
    pub(crate) source: RuleRef,
    /// The disposition it demands; `None` when it does not block.
    pub(crate) blocks: Option<Disposition>,
    /// An error, which shadow mode does not relax.
    pub(crate) hard: bool,
    pub(crate) next: Option<(SharedText, SharedText)>,
    pub(crate) missing: Vec<String>,
    /// The role approvals are missing in, and how many.
    pub(crate) missing_approvals: Option<(SharedText, usize)>,
}

/// Whether a rule holds: a requirement is met, a denial does not apply, a warning has no cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleStatus {
    Holds,
    Fails,
    Unknown,
    NotApplicable,
}

/// Why an action is blocked or warned about. Codes are for programs, the rest for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub code: SharedText,
    pub message: SharedText,
    pub rule: SharedText,
    /// For programs: `spent`, `absent`, ….
    pub cause: Option<&'static str>,
    pub detail: Option<String>,
}

impl RuleFinding {
    /// A finding of a rule that holds.
    pub(crate) fn holds(source: RuleRef, rule: &SharedText, boundary: &SharedText) -> Self {
        Self {
            rule: rule.clone(),
            boundary: boundary.clone(),
            status: RuleStatus::Holds,
            reason: None,
            evidence: Vec::new(),
            source,
            blocks: None,
            hard: false,
            next: None,
            missing: Vec::new(),
            missing_approvals: None,
        }
    }
}

impl RuleStatus {
    /// The word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "fails",
            Self::Unknown => "unknown",
            Self::NotApplicable => "not applicable",
        }
    }
}
