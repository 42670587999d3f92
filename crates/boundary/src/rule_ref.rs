//! Which rule of a policy something is about.

/// Which rule a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RuleRef {
    pub(crate) kind: RuleKind,
    pub(crate) boundary: usize,
    pub(crate) index: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RuleKind {
    Review,
    Class,
    Definition,
    Match,
    When,
    Deny,
    Require,
    Warn,
    Unmatched,
    Repeat,
}
