//! The rules of a boundary.

use std::sync::Arc;

use proofmark_evidence::glob::Globs;
use proofmark_evidence::{ApprovalDemand, Condition, ProvenanceDemand, ReceiptDemand, TextExpression};
use proofmark_session::CallStatus;

use super::OnBlock;

/// A code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wording {
    pub(crate) code: Arc<str>,
    pub(crate) message: Arc<str>,
}

/// Something an action requires.
#[derive(Debug)]
pub(crate) struct Require {
    pub(crate) at: Arc<str>,
    pub(crate) demand: Demand,
    pub(crate) reason: Option<Wording>,
    pub(crate) next: Option<Wording>,
    pub(crate) otherwise: OnBlock,
}

/// What a requirement asks for.
#[derive(Debug)]
pub(crate) enum Demand {
    Fact(Condition),
    Receipt(ReceiptRule),
    Approval(ApprovalDemand),
    ToolCall(ToolCallDemand),
}

/// A VRF receipt over exactly the bytes of the action.
#[derive(Debug)]
pub(crate) struct ReceiptRule {
    pub(crate) demand: ReceiptDemand,
    pub(crate) output: TextExpression,
    pub(crate) specification: Option<TextExpression>,
}

/// A call earlier in the run.
#[derive(Debug)]
pub(crate) struct ToolCallDemand {
    pub(crate) name: Globs,
    pub(crate) from: ProvenanceDemand,
    pub(crate) status: Option<CallStatus>,
    /// It must come before the first of these, where there is one.
    pub(crate) before: Option<Globs>,
    /// It must come after the last of these, and there must be one.
    pub(crate) after: Option<Globs>,
}

/// Something that blocks an action.
#[derive(Debug)]
pub(crate) struct Deny {
    pub(crate) at: Arc<str>,
    pub(crate) when: Condition,
    pub(crate) unless: Option<ApprovalDemand>,
    pub(crate) reason: Wording,
    pub(crate) next: Option<Wording>,
    pub(crate) otherwise: OnBlock,
}

/// Something that somebody should know.
#[derive(Debug)]
pub(crate) struct Warn {
    pub(crate) at: Arc<str>,
    pub(crate) when: Condition,
    pub(crate) reason: Wording,
}
