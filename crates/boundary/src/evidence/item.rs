//! The entries of a receipt's `evidence[]`.

use std::sync::Arc;

use proofmark_evidence::{EvidenceStatus, ReceiptFact, Refusal};

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
        status: EvidenceStatus,
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
        /// Whether the rule accepts it whatever the work was held to.
        any_suite: bool,
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
    pub fn status(&self) -> EvidenceStatus {
        match self {
            Self::Fact { status, .. } => *status,
            Self::Document { document, .. } => document.status(),
            Self::NoDocument { .. } | Self::ToolCall { index: None, .. } => EvidenceStatus::Absent,
            Self::ToolCall { index: Some(_), .. } => EvidenceStatus::Observed,
        }
    }
}
