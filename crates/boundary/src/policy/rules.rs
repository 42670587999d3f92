//! The rules of a boundary.

use std::sync::Arc;

use proofmark_receipt::{SignerId, Verdict};

use super::{Condition, Otherwise, TextExpression};
use crate::glob::Globs;

/// A code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wording {
    pub(crate) code: Arc<str>,
    pub(crate) message: Arc<str>,
}

/// Something that has to be there.
#[derive(Debug)]
pub(crate) struct Require {
    pub(crate) at: Arc<str>,
    pub(crate) demand: Demand,
    pub(crate) reason: Option<Wording>,
    pub(crate) next: Option<Wording>,
    pub(crate) otherwise: Otherwise,
}

/// What has to be there.
#[derive(Debug)]
pub(crate) enum Demand {
    Fact(Condition),
    Receipt(ReceiptDemand),
    Approval(ApprovalDemand),
    ToolCall(ToolCallDemand),
}

/// A VRF receipt over exactly the bytes of the action.
#[derive(Debug)]
pub(crate) struct ReceiptDemand {
    pub(crate) verdict: Verdict,
    /// The tiers that will do.
    pub(crate) tiers: Vec<u8>,
    pub(crate) output: TextExpression,
    pub(crate) specification: Option<TextExpression>,
    pub(crate) signer: SignerDemand,
    pub(crate) max_age_millis: Option<i64>,
    pub(crate) single_use: bool,
}

/// Whose signature counts.
#[derive(Debug)]
pub(crate) enum SignerDemand {
    /// Any signer the caller trusts.
    Trusted,
    /// These keys, which the policy pins.
    Keys(Vec<SignerId>),
}

/// Signed approvals of exactly this action.
#[derive(Debug)]
pub(crate) struct ApprovalDemand {
    pub(crate) role: String,
    pub(crate) count: usize,
    /// Whether they have to be of as many people.
    pub(crate) distinct: bool,
}

/// A call earlier in the run.
#[derive(Debug)]
pub(crate) struct ToolCallDemand {
    pub(crate) name: Globs,
    pub(crate) status: Option<&'static str>,
    /// It has to come before the first of these, where there is one.
    pub(crate) before: Option<Globs>,
    /// It has to come after the last of these, and there has to be one.
    pub(crate) after: Option<Globs>,
}

/// Something that must not be.
#[derive(Debug)]
pub(crate) struct Deny {
    pub(crate) at: Arc<str>,
    pub(crate) when: Condition,
    pub(crate) unless: Option<ApprovalDemand>,
    pub(crate) reason: Wording,
    pub(crate) next: Option<Wording>,
    pub(crate) otherwise: Otherwise,
}

/// Something somebody should know.
#[derive(Debug)]
pub(crate) struct Warn {
    pub(crate) at: Arc<str>,
    pub(crate) when: Condition,
    pub(crate) reason: Wording,
}
