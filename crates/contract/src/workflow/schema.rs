//! The names and types of the facts that conditions of a workflow read.

use proofmark_predicate::{FieldType, Schema};
use proofmark_receipt::document::{DocumentError, Field};
use proofmark_session::CallStatus;

pub(super) fn read_context(field: &Field<'_>) -> Result<Vec<(String, FieldType)>, DocumentError> {
    let fields = field.fields()?;
    fields.iter().map(|(name, field)| Ok((name.to_owned(), read_type(&field)?))).collect()
}

fn read_type(field: &Field<'_>) -> Result<FieldType, DocumentError> {
    let word = field.choice(&[
        ("string", "string"),
        ("number", "number"),
        ("integer", "integer"),
        ("boolean", "boolean"),
        ("list", "list"),
        ("object", "object"),
        ("any", "any"),
    ])?;
    Ok(match word {
        "string" => FieldType::String,
        "number" => FieldType::Number,
        "integer" => FieldType::Int,
        "boolean" => FieldType::Bool,
        "list" => FieldType::List(Box::new(FieldType::Any)),
        "object" => FieldType::Map(Box::new(FieldType::Any)),
        _ => FieldType::Any,
    })
}

/// The facts that conditions of a step may read: `payload`, `context` and `calls`.
pub(super) fn facts_schema(context: &[(String, FieldType)]) -> Schema {
    let call: Schema = [
        ("tool", FieldType::String),
        ("name", FieldType::String),
        ("args", FieldType::Any),
        ("result", FieldType::Any),
        ("status", FieldType::OneOf(CallStatus::ALL.map(|status| status.as_str().into()).to_vec())),
        ("index", FieldType::Int),
    ]
    .into_iter()
    .collect();
    let declared: Schema = context.iter().map(|(name, of)| (name.as_str(), of.clone())).collect();
    [
        ("payload", FieldType::Any),
        ("context", FieldType::Object(declared)),
        ("calls", FieldType::List(Box::new(FieldType::Object(call)))),
    ]
    .into_iter()
    .collect()
}

/// The schema with one more name.
pub(super) fn with(schema: &Schema, name: &str, of: FieldType) -> Schema {
    let known = schema.names().filter_map(|name| Some((name.to_owned(), schema.get(name)?.clone())));
    known.chain([(name.to_owned(), of)]).collect()
}
