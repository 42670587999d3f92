//! Rules about the recorded tool calls.

use proofmark_predicate::Schema;
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};

use super::failure::count;
use super::verification::{Names, read_message, read_path};
use crate::expect::Expect;
use crate::tools;
use crate::vocabulary;
use proofmark_evidence::Path;
use proofmark_evidence::{Condition, facts};

/// The most calls a rule can ask for.
const MAX_COUNT: u64 = 1_000_000;

/// A rule about the recorded tool calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRule {
    /// The rule's name, unique in the step.
    pub id: String,
    /// The tool, with `*` for any characters.
    pub name: String,
    /// When the rule applies; always where it is not said.
    pub when: Option<Condition>,
    /// How many calls there have to be.
    pub count: Count,
    /// The rule or tool whose calls have to come later.
    pub before: Option<String>,
    /// The rule or tool whose calls have to come earlier.
    pub after: Option<String>,
    /// What has to be among the arguments.
    pub args: Vec<Part>,
    /// The arguments: these, and no others.
    pub exact_args: Option<Json>,
    /// Which calls count.
    pub status: CountedStatus,
    /// What has to be in the result.
    pub result: Vec<Part>,
    /// What to say when it is not met.
    pub reject_message: Option<String>,
}

/// How many calls there have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// At least so many.
    pub min: u64,
    /// At most so many.
    pub max: Option<u64>,
}

/// What a part of the arguments, or of the result, has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Where it is.
    pub path: Path,
    /// What it has to be.
    pub expect: Expect,
}

/// Which calls count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedStatus {
    /// Those that succeeded.
    Succeeded,
    /// All of them, also failed ones and those without a result.
    Any,
}

impl ToolRule {
    pub(super) fn read(
        field: &Field<'_>,
        facts: &Schema,
        facts_and_value: &Schema,
        names: &mut Names,
    ) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::TOOL_CALL)?;
        let name = tools::word(&fields.need("name", "name the tool")?)?;
        if let (Some(args), Some(exact)) = (fields.get("args"), fields.get("exactArgs")) {
            let message = format!("`{}` already says what the arguments are; leave one of the two out", exact.at);
            return Err(args.error(Cause::ConflictingFields, message));
        }
        let word = |name: &str| fields.get(name).map(|field| tools::word(&field)).transpose();
        Ok(Self {
            id: names.take(&fields, &format!("toolCalls:{name}"))?,
            when: fields.get("when").map(|field| Ok(Condition::new(field.text()?, facts))).transpose()?,
            count: Count::read(&fields)?,
            before: word("before")?,
            after: word("after")?,
            args: parts(&fields, "args", facts_and_value)?,
            exact_args: fields.get("exactArgs").map(|field| read_exact(&field)).transpose()?,
            status: fields.get("status").map_or(Ok(CountedStatus::Succeeded), |field| read_status(&field))?,
            result: parts(&fields, "result", facts_and_value)?,
            reject_message: read_message(&fields)?,
            name,
        })
    }
}

impl Count {
    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        let number = |name: &str| fields.get(name).map(|field| count(&field, MAX_COUNT)).transpose();
        let max = number("max")?;
        // A rule that says nothing asks for one call; one that allows none asks for none.
        let min = number("min")?.unwrap_or(if max == Some(0) { 0 } else { 1 });
        Ok(Self { min, max })
    }
}

fn parts(fields: &Fields<'_>, name: &str, schema: &Schema) -> Result<Vec<Part>, DocumentError> {
    let Some(field) = fields.get(name) else {
        return Ok(Vec::new());
    };
    field.fields()?.iter().map(|(path, part)| read_part(path, &part, schema)).collect()
}

fn read_part(path: &str, field: &Field<'_>, schema: &Schema) -> Result<Part, DocumentError> {
    let fields = field.fields()?;
    fields.only(vocabulary::PART)?;
    let expect = fields.need("expect", "write a value, `present`, `absent` or `{predicate: …}`")?;
    Ok(Part { path: read_path(field, path)?, expect: Expect::read(&expect, schema)? })
}

fn read_exact(field: &Field<'_>) -> Result<Json, DocumentError> {
    field.fields()?;
    match facts::value(field.json) {
        Ok(_) => Ok(field.json.clone()),
        Err(error) => Err(field.error(Cause::InvalidValue, format!("{error}; write a number with fewer digits"))),
    }
}

fn read_status(field: &Field<'_>) -> Result<CountedStatus, DocumentError> {
    field.choice(&[("succeeded", CountedStatus::Succeeded), ("any", CountedStatus::Any)])
}
