//! Rules about recorded calls.

use proofmark_evidence::{Condition, Path, ProvenanceDemand, facts};
use proofmark_predicate::Schema;
use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};

use super::failure::count;
use crate::expect::Expect;
use crate::read::{self, RuleIds, read_message, read_path};
use crate::vocabulary;

/// The most calls a rule may ask for.
const MAX_COUNT: u64 = 1_000_000;

/// A rule about recorded calls.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolRule {
    /// Unique in the step.
    pub id: String,
    /// A glob over the names of tools.
    pub name: String,
    /// Where the call has to come from.
    pub from: ProvenanceDemand,
    /// Whether calls count that were made before the agent's host was started again.
    pub earlier: bool,
    /// When the rule applies; `None` is always.
    pub when: Option<Condition>,
    pub count: Count,
    /// The id of the rule, or the tool, whose calls must come later.
    pub before: Option<String>,
    /// The id of the rule, or the tool, whose calls must come earlier.
    pub after: Option<String>,
    pub args: Vec<PartRule>,
    /// The arguments must be these and no others.
    pub exact_args: Option<Json>,
    pub status: CountedStatus,
    pub result: Vec<PartRule>,
    pub reject_message: Option<String>,
}

/// How many calls a rule asks for, both bounds included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    pub min: u64,
    pub max: Option<u64>,
}

/// What a part of the arguments, or of the result, must be.
#[derive(Clone, Debug, PartialEq)]
pub struct PartRule {
    pub path: Path,
    pub expect: Expect,
}

/// Which calls count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountedStatus {
    Succeeded,
    /// All, also failed ones and those without a result.
    Any,
}

impl ToolRule {
    pub(super) fn read(
        field: &Field<'_>,
        facts: &Schema,
        facts_and_value: &Schema,
        names: &mut RuleIds,
    ) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::TOOL_CALL)?;
        let name = read::word(&fields.need("name", "name the tool")?)?;
        if let (Some(args), Some(exact)) = (fields.get("args"), fields.get("exactArgs")) {
            let message = format!("`{}` fixes all arguments", exact.at);
            return Err(args.error(Cause::ConflictingFields, message).with_help("leave one of the two out"));
        }
        let word = |name: &str| fields.get(name).map(|field| read::word(&field)).transpose();
        Ok(Self {
            id: names.take(&fields, &format!("toolCalls:{name}"))?,
            when: fields.get("when").map(|field| Ok(Condition::new(field.text()?, facts))).transpose()?,
            from: ProvenanceDemand::read(&fields)?,
            earlier: fields.get("earlier").map_or(Ok(false), |field| field.boolean())?,
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
        // A rule without bounds asks for one call; a rule that allows none cannot ask for one.
        let min = number("min")?.unwrap_or(if max == Some(0) { 0 } else { 1 });
        Ok(Self { min, max })
    }
}

fn parts(fields: &Fields<'_>, name: &str, schema: &Schema) -> Result<Vec<PartRule>, DocumentError> {
    let Some(field) = fields.get(name) else {
        return Ok(Vec::new());
    };
    field.fields()?.iter().map(|(path, part)| read_part(path, &part, schema)).collect()
}

fn read_part(path: &str, field: &Field<'_>, schema: &Schema) -> Result<PartRule, DocumentError> {
    let fields = field.fields()?;
    fields.only(vocabulary::PART)?;
    let expect = fields.need("expect", "write a value, `present`, `absent` or `{predicate: …}`")?;
    Ok(PartRule { path: read_path(field, path)?, expect: Expect::read(&expect, schema)? })
}

fn read_exact(field: &Field<'_>) -> Result<Json, DocumentError> {
    field.fields()?;
    match facts::value(field.json) {
        Ok(_) => Ok(field.json.clone()),
        Err(error) => {
            Err(field.error(Cause::InvalidValue, error.to_string()).with_help("write a number with fewer digits"))
        }
    }
}

fn read_status(field: &Field<'_>) -> Result<CountedStatus, DocumentError> {
    field.choice(&[("succeeded", CountedStatus::Succeeded), ("any", CountedStatus::Any)])
}
