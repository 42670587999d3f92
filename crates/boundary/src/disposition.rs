//! How an agent continues after a decision. Every field of a receipt about that is derived from the disposition, so that
//! no two fields can contradict each other.

use std::fmt;

/// How the agent continues, from the widest to the narrowest. The order matters: of several dispositions the maximum binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Disposition {
    /// The action may execute.
    Allow,
    /// It may execute, and somebody should look at the reasons.
    AllowWithWarning,
    /// It may not execute; the node pursues the same goal without it.
    LocalReplan,
    /// It may not execute; the node stops, and its parent supplies what is missing.
    UpstreamReplan,
    /// It may not execute until a human has approved it.
    HumanReview,
    /// It may not execute, and this path ends.
    TerminalBlock,
}

/// The outcome as receipts write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    Allow,
    AllowWithWarning,
    ReplanRequired,
    GoalFailTerminal,
}

impl Disposition {
    /// All dispositions.
    pub const ALL: [Self; 6] = [
        Self::Allow,
        Self::AllowWithWarning,
        Self::LocalReplan,
        Self::UpstreamReplan,
        Self::HumanReview,
        Self::TerminalBlock,
    ];

    /// The outcome.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        match self {
            Self::Allow => Outcome::Allow,
            Self::AllowWithWarning => Outcome::AllowWithWarning,
            Self::LocalReplan | Self::UpstreamReplan | Self::HumanReview => Outcome::ReplanRequired,
            Self::TerminalBlock => Outcome::GoalFailTerminal,
        }
    }

    /// `disposition.mode`.
    #[must_use]
    pub fn mode(self) -> &'static str {
        match self {
            Self::Allow | Self::AllowWithWarning => "continue_downstream",
            Self::LocalReplan => "local_replan",
            Self::UpstreamReplan => "upstream_replan",
            Self::HumanReview => "human_review",
            Self::TerminalBlock => "terminal_block",
        }
    }

    /// `routing.direction`.
    #[must_use]
    pub fn direction(self) -> &'static str {
        match self {
            Self::Allow | Self::AllowWithWarning => "downstream",
            Self::LocalReplan => "local",
            Self::UpstreamReplan => "upstream",
            Self::HumanReview => "human",
            Self::TerminalBlock => "stop",
        }
    }

    /// Whether the action may execute now.
    #[must_use]
    pub fn allows(self) -> bool {
        match self {
            Self::Allow | Self::AllowWithWarning => true,
            Self::LocalReplan | Self::UpstreamReplan | Self::HumanReview | Self::TerminalBlock => false,
        }
    }

    /// Whether the action may execute once something has changed.
    pub(crate) fn is_blocked_for_now(self) -> bool {
        match self {
            Self::LocalReplan | Self::UpstreamReplan | Self::HumanReview => true,
            Self::Allow | Self::AllowWithWarning | Self::TerminalBlock => false,
        }
    }

    /// Whether it is one of the two replans that an agent does by itself.
    pub(crate) fn replans(self) -> bool {
        matches!(self, Self::LocalReplan | Self::UpstreamReplan)
    }

    /// The disposition with this outcome and `disposition.mode`, if they go together.
    #[must_use]
    pub fn from_words(outcome: &str, mode: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|disposition| disposition.outcome().as_str() == outcome && disposition.mode() == mode)
    }
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 4] = [Self::Allow, Self::AllowWithWarning, Self::ReplanRequired, Self::GoalFailTerminal];

    /// The outcome with this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.as_str() == word)
    }

    /// As in a receipt.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::AllowWithWarning => "allow_with_warning",
            Self::ReplanRequired => "replan_required",
            Self::GoalFailTerminal => "goal_fail_terminal",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
