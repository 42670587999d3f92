//! The rules of a boundary.

use std::sync::Arc;

use proofmark_evidence::{ApprovalDemand, Condition, ProvenanceDemand, ReceiptDemand, TextExpression};
use proofmark_receipt::glob::Globs;
use proofmark_receipt::{Json, Object};
use proofmark_session::CallStatus;

use super::{Limit, OnBlock};

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
    Receipt(Box<ReceiptRule>),
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
    /// Whether calls count that were made before the agent's host was started again.
    pub(crate) earlier: bool,
    /// Arguments that have to be as members of the facts; `None` where nothing is said of them.
    pub(crate) args: Option<Vec<SameArgument>>,
    pub(crate) status: Option<CallStatus>,
    /// It must come before the first of these, where there is one.
    pub(crate) before: Option<Globs>,
    /// It must come after the last of these, and there must be one.
    pub(crate) after: Option<Globs>,
}

/// An argument of an earlier call that has to be equal to something of the action.
#[derive(Clone, Debug)]
pub(crate) struct SameArgument {
    /// The name of the argument.
    pub(crate) argument: String,
    /// The path of the fact, as in `action.args.name`.
    pub(crate) fact: Vec<String>,
}

impl SameArgument {
    /// The value that the argument has to have; `None` where the facts have none.
    pub(crate) fn wanted<'a>(&self, facts: &'a Object) -> Option<&'a Json> {
        let (first, rest) = self.fact.split_first()?;
        rest.iter().try_fold(facts.get(first)?, |value, name| value.as_object()?.get(name))
    }
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
    /// What is asked of the origins of values, where the condition stands for that.
    pub(crate) origin: Option<OriginDemand>,
    /// The limit that it keeps, where the condition stands for that.
    pub(crate) limit: Option<Limit>,
}

/// What a rule asks of where the values of an action come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OriginDemand {
    /// Values come from these.
    From(Vec<Asked>),
    /// Every link, address and account number within values comes from these.
    Links(Vec<Asked>),
    /// Texts are made of pieces that come from these.
    Cover(Vec<Asked>),
    /// The user's request has one of these words.
    Asked(Vec<String>),
}

/// What the values of one argument may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Its path, as in `message.to`; `*` is every argument.
    pub(crate) argument: String,
    pub(crate) labels: Vec<String>,
    pub(crate) constants: Vec<String>,
    /// A number from 0 to this needs no label.
    pub(crate) at_most: Option<String>,
}

impl OriginDemand {
    /// The demand in words.
    pub(crate) fn shown(&self) -> String {
        let each = |what: &str, asked: &[Asked]| {
            let parts = asked.iter().map(|asked| {
                let constants = asked.constants.iter().map(|constant| format!("={constant}"));
                let limit = asked.at_most.iter().map(|limit| format!("<={limit}"));
                let allowed: Vec<_> = asked.labels.iter().cloned().chain(constants).chain(limit).collect();
                format!("{what} `{}` from {}", asked.argument, allowed.join(" or "))
            });
            parts.collect::<Vec<_>>().join(", ")
        };
        match self {
            Self::From(asked) => each("the values of", asked),
            Self::Links(asked) => each("the links in", asked),
            Self::Cover(asked) => each("the words of", asked),
            Self::Asked(words) => format!("a request of the user with {}", words.join(" or ")),
        }
    }
}

/// Something that somebody should know.
#[derive(Debug)]
pub(crate) struct Warn {
    pub(crate) at: Arc<str>,
    pub(crate) when: Condition,
    pub(crate) reason: Wording,
}
