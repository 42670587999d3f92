//! What was found for one rule.

use std::sync::Arc;

use crate::disposition::Disposition;
use crate::evidence::Item;

/// A text shared by findings.
pub(crate) type Shared = Arc<str>;

/// What was found for one rule.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its place in the policy, as in `boundaries[0].require[1]`.
    pub rule: Shared,
    /// The boundary it belongs to; empty for those of the whole policy.
    pub boundary: Shared,
    pub standing: Standing,
    /// Why it blocks or warns; `None` when it does neither.
    pub reason: Option<Reason>,
    pub evidence: Vec<Item>,
    pub(crate) source: RuleRef,
    /// The disposition it asks for; `None` when it does not block.
    pub(crate) blocks: Option<Disposition>,
    /// Something went wrong, which no mode softens.
    pub(crate) hard: bool,
    pub(crate) next: Option<(Shared, Shared)>,
    pub(crate) missing: Vec<String>,
    /// The role approvals are missing in, and how many.
    pub(crate) missing_approvals: Option<(Shared, usize)>,
}

/// Whether a rule holds: a requirement is met, a denial does not apply, a warning has no cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Holds,
    Fails,
    Unknown,
    NotApplicable,
}

/// Why an action is blocked, or warned about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub code: Shared,
    pub message: Shared,
    pub rule: Shared,
    /// What exactly is the matter, for programs: `spent`, `absent`, ….
    pub cause: Option<&'static str>,
    pub detail: Option<String>,
}

/// Which rule a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RuleRef {
    pub(crate) kind: Kind,
    pub(crate) boundary: usize,
    pub(crate) index: usize,
}

/// The kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    Review,
    Class,
    Match,
    When,
    Deny,
    Require,
    Warn,
    Unmatched,
    Repeat,
}

impl Finding {
    /// A finding of a rule that holds.
    pub(crate) fn holds(source: RuleRef, rule: &Shared, boundary: &Shared) -> Self {
        Self {
            rule: rule.clone(),
            boundary: boundary.clone(),
            standing: Standing::Holds,
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

impl Standing {
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
