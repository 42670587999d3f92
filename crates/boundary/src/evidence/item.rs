//! The entries of a receipt's `evidence[]`.

use std::sync::Arc;

use super::{ReceiptFact, Refusal};

/// How a piece of evidence is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A receipt that was checked.
    Verified,
    /// Seen by the runtime.
    Observed,
    /// In the agent's own words.
    SelfReported,
    /// Not there.
    Absent,
}

impl Status {
    /// The word in the receipt.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::Observed => "observed",
            Self::SelfReported => "self_reported",
            Self::Absent => "absent",
        }
    }
}

/// A piece of evidence a rule looked at.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Facts of the request.
    Fact {
        /// The rule.
        rule: Arc<str>,
        /// What it asks of them.
        predicate: Arc<str>,
        /// `true`, `false` or `unknown`.
        truth: &'static str,
        /// Where facts are missing, and why.
        missing: Vec<String>,
        /// How they are known.
        status: Status,
    },
    /// A receipt or an approval, used or refused.
    Document {
        /// The rule.
        rule: Arc<str>,
        /// The role an approval is asked of; `None` when a receipt is asked for.
        role: Option<Arc<str>>,
        /// The document.
        document: Box<ReceiptFact>,
        /// Why it was refused; `None` when it was used.
        refusal: Option<Refusal>,
        /// Whether using it spends it.
        single_use: bool,
    },
    /// A receipt or approval nobody presented.
    NoDocument {
        /// The rule.
        rule: Arc<str>,
        /// The role an approval is asked of; `None` when a receipt is asked for.
        role: Option<Arc<str>>,
    },
    /// A call of the run.
    ToolCall {
        /// The rule.
        rule: Arc<str>,
        /// Which tools will do.
        tool: String,
        /// The call's number in `calls`, from 0.
        index: Option<usize>,
    },
}

impl Item {
    /// How it is known.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Fact { status, .. } => *status,
            Self::Document { document, .. } => document.status(),
            Self::NoDocument { .. } | Self::ToolCall { index: None, .. } => Status::Absent,
            Self::ToolCall { index: Some(_), .. } => Status::Observed,
        }
    }
}
