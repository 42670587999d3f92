//! Where a step leads.

use proofmark_evidence::Condition;
use proofmark_predicate::{FieldType, Schema};
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};

use super::schema::with;
use crate::{read, vocabulary};

/// The most branches a step may have.
pub const MAX_BRANCHES: usize = 50;

/// The `goto` that ends the workflow as failed.
pub const ABORT: &str = "abort";

/// The `when` that holds once the attempts of the step are used up.
pub const RETRIES_EXHAUSTED: &str = "retriesExhausted";

/// Where a step leads once it is accepted.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// To the step after it in the document; the last step ends the workflow.
    Following,
    Step(String),
    /// To the first branch whose condition holds.
    Branches(Vec<Branch>),
    End,
}

/// One step that may follow, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    pub when: When,
    /// The id of the step it leads to, or [`ABORT`].
    pub goto: String,
}

/// When a branch is taken.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    Always,
    Condition(Condition),
    RetriesExhausted,
}

impl Next {
    pub(super) fn read(fields: &Fields<'_>, facts: &Schema) -> Result<Self, DocumentError> {
        let next = fields.either("next", "goto")?;
        let end = fields.get("terminal").map(|field| Ok((field.boolean()?, field))).transpose()?;
        match (next, end) {
            (Some(next), Some((true, _))) => Err(next
                .error(Cause::ConflictingFields, "no step follows one with `terminal: true`")
                .with_help("leave one of the two out")),
            (None, Some((true, _))) => Ok(Self::End),
            (None, Some((false, _)) | None) => Ok(Self::Following),
            (Some(next), Some((false, _)) | None) => read_next(&next, facts),
        }
    }
}

fn read_next(field: &Field<'_>, facts: &Schema) -> Result<Next, DocumentError> {
    match field.json {
        Json::String(_) => Ok(Next::Step(read::word(field)?)),
        Json::Array(items) if items.is_empty() => {
            Err(field.error(Cause::Empty, "the list has no branches").with_help("write one, or `terminal: true`"))
        }
        Json::Array(items) if items.len() > MAX_BRANCHES => {
            let message = format!("{} branches are more than the {MAX_BRANCHES} a step may have", items.len());
            Err(field.error(Cause::TooMany, message).with_help("split the step"))
        }
        Json::Array(_) => {
            // A name as well, so that a condition may combine it with other facts.
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
    let goto = read::word(&fields.need("goto", "name the step it leads to, or `abort`")?)?;
    let when = match fields.get("when") {
        None => When::Always,
        Some(when) => match when.text()? {
            RETRIES_EXHAUSTED => When::RetriesExhausted,
            text => When::Condition(Condition::new(text, facts)),
        },
    };
    Ok(Branch { when, goto })
}
