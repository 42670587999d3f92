//! Where a step leads.

use proofmark_predicate::{FieldType, Schema};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};

use super::with;
use crate::tools;
use crate::vocabulary;
use proofmark_evidence::Condition;

/// The most ways on a step may have.
pub const MAX_BRANCHES: usize = 50;

/// The `goto` that ends the workflow without success.
pub const ABORT: &str = "abort";

/// The `when` that holds once the step has used up its attempts.
pub const RETRIES_EXHAUSTED: &str = "retriesExhausted";

/// Where a step leads once it is accepted.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// To the step after it in the document; the last one ends the workflow.
    Following,
    /// To this step.
    Step(String),
    /// To the first whose condition holds.
    Branches(Vec<Branch>),
    /// The workflow ends here.
    End,
}

/// One way on.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// When it is taken.
    pub when: When,
    /// The id of the step it leads to, or [`ABORT`].
    pub goto: String,
}

/// When a way on is taken.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// Always.
    Always,
    /// When the condition holds.
    Condition(Condition),
    /// When the step has used up its attempts.
    RetriesExhausted,
}

impl Next {
    pub(super) fn read(fields: &Fields<'_>, facts: &Schema) -> Result<Self, DocumentError> {
        let next = fields.either("next", "goto")?;
        let end = fields.get("terminal").map(|field| Ok((field.boolean()?, field))).transpose()?;
        match (next, end) {
            (Some(next), Some((true, _))) => Err(next.error(
                Cause::ConflictingFields,
                "a step with `terminal: true` leads nowhere; leave one of the two out",
            )),
            (None, Some((true, _))) => Ok(Self::End),
            (None, Some((false, _)) | None) => Ok(Self::Following),
            (Some(next), Some((false, _)) | None) => read_ways(&next, facts),
        }
    }
}

fn read_ways(field: &Field<'_>, facts: &Schema) -> Result<Next, DocumentError> {
    match field.json {
        Json::String(_) => Ok(Next::Step(tools::word(field)?)),
        Json::Array(items) if items.is_empty() => {
            Err(field.error(Cause::Empty, "there is no way on; write one, or `terminal: true`"))
        }
        Json::Array(items) if items.len() > MAX_BRANCHES => {
            let message = format!("{} ways on are more than the {MAX_BRANCHES} a step may have", items.len());
            Err(field.error(Cause::TooMany, format!("{message}; split the step")))
        }
        Json::Array(_) => {
            let facts = with(facts, RETRIES_EXHAUSTED, FieldType::Bool);
            let branches = field.items()?.iter().map(|item| read_branch(item, &facts)).collect::<Result<_, _>>()?;
            Ok(Next::Branches(branches))
        }
        _ => Err(field.wrong_type("the id of a step, or a list of `{when, goto}`")),
    }
}

fn read_branch(field: &Field<'_>, facts: &Schema) -> Result<Branch, DocumentError> {
    let fields = field.fields()?;
    fields.only(vocabulary::NEXT)?;
    let goto = tools::word(&fields.need("goto", "name the step it leads to, or `abort`")?)?;
    let when = match fields.get("when") {
        None => When::Always,
        Some(when) => match when.text()? {
            RETRIES_EXHAUSTED => When::RetriesExhausted,
            text => When::Condition(Condition::new(text, facts)),
        },
    };
    Ok(Branch { when, goto })
}
