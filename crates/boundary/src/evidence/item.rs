//! The entries of a receipt's `evidence[]`.

use std::sync::Arc;

use proofmark_evidence::{EvidenceStatus, ReceiptFact, Refusal};

/// A piece of evidence that a rule read.
#[derive(Clone, Debug, PartialEq)]
pub enum EvidenceItem {
    Fact {
        rule: Arc<str>,
        predicate: Arc<str>,
        /// `true`, `false` or `unknown`.
        truth: &'static str,
        missing: Vec<String>,
        status: EvidenceStatus,
    },
    Document {
        rule: Arc<str>,
        /// The role that an approval is asked of; `None` for a receipt.
        role: Option<Arc<str>>,
        document: Box<ReceiptFact>,
        /// Why it was refused; `None` when it was used.
        refusal: Option<Refusal>,
        /// Whether using it spends it.
        single_use: bool,
        /// Whether the rule accepts a receipt of any suite.
        any_suite: bool,
    },
    NoDocument {
        rule: Arc<str>,
        /// The role that an approval is asked of; `None` for a receipt.
        role: Option<Arc<str>>,
    },
    ToolCall {
        rule: Arc<str>,
        tool: String,
        /// The call's number in `calls`, from 0.
        index: Option<usize>,
    },
}

impl EvidenceItem {
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
