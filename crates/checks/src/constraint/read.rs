//! The verification block of the kinds `schema_check` and `constraint_check`.

use std::collections::HashSet;
use std::sync::Arc;

use proofmark_receipt::Sha256Digest;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};
use proofmark_receipt::json::Json;

use super::error::ConstraintError;
use super::rule::{Rule, predicate};
use super::{Constraint, MAX_CONSTRAINT_BYTES, MAX_CONSTRAINTS, schema};
use crate::fields::{Outside, test_name};

/// The name of the check that the schema of the reference's form is.
const SCHEMA_NAME: &str = "schema";

/// The most keywords that `vocabulary` names.
const MAX_VOCABULARY: usize = 100;

/// Whether the block is in the reference's form, which names no kind: a schema, constraints, or both.
pub(crate) fn is_reference_form(verification: &Fields<'_>) -> bool {
    verification.get("kind").is_none()
        && (verification.get("schema").is_some() || verification.get("constraints").is_some())
}

/// Reads the constraints: the spec's `checks`, or the reference's `schema` and `constraints`.
pub(crate) fn read(verification: &Fields<'_>) -> Result<Vec<Constraint>, DocumentError> {
    verification.only(&["kind", "checks", "schema", "constraints", "vocabulary", "reveal", "salt"])?;
    let reading = Reading { vocabulary: vocabulary(verification)? };
    let mut names = HashSet::new();
    let mut constraints = Vec::new();
    if let Some(field) = verification.get("schema") {
        names.insert(SCHEMA_NAME.to_owned());
        constraints.push(reading.schema(SCHEMA_NAME.to_owned(), &field)?);
    }
    for (list, text) in [("checks", "constraint"), ("constraints", "expr")] {
        let Some(field) = verification.get(list) else { continue };
        for item in field.items()? {
            constraints.push(reading.one(&item, text, &mut names)?);
            if constraints.len() > MAX_CONSTRAINTS {
                let message = format!("there are more than the {MAX_CONSTRAINTS} constraints a request may have");
                return Err(field.error(Cause::TooMany, message).with_help("split it"));
            }
        }
    }
    if constraints.is_empty() {
        Err(verification.missing("checks", "write at least one check, with `name` and `constraint`"))
    } else {
        Ok(constraints)
    }
}

/// The block with the schemas that are in files in place of their paths; `None` where it names no file. So the digest of the
/// block covers their content.
///
/// # Errors
/// [`DocumentError`] where a file cannot be read or is not JSON.
pub(crate) fn with_schemas(verification: &Field<'_>, outside: &Outside<'_>) -> Result<Option<Json>, DocumentError> {
    let fields = verification.fields()?;
    let Some(mut resolved) = verification.json.as_object().cloned() else { return Ok(None) };
    let mut is_changed = false;
    if let Some(schema) = in_file(fields.get("schema"), outside)? {
        resolved.insert("schema", schema);
        is_changed = true;
    }
    for list in ["checks", "constraints"] {
        // Of another type: the reader of the constraints refuses it.
        let Some(items) = fields.get(list).filter(|field| field.json.as_array().is_some()) else { continue };
        let mut changed = Vec::new();
        for item in items.items()? {
            let mut json = item.json.clone();
            if let (Ok(inner), Json::Object(object)) = (item.fields(), &mut json)
                && let Some(schema) = in_file(inner.get("schema"), outside)?
            {
                object.insert("schema", schema);
                is_changed = true;
            }
            changed.push(json);
        }
        resolved.insert(list, changed);
    }
    Ok(is_changed.then_some(Json::Object(resolved)))
}

/// The schema in the file that a field names, where it names one.
fn in_file(field: Option<Field<'_>>, outside: &Outside<'_>) -> Result<Option<Json>, DocumentError> {
    let Some(field) = field else { return Ok(None) };
    let Some(path) = field.json.as_str() else { return Ok(None) };
    let text = (outside.file)(path).map_err(|why| field.error(Cause::InvalidValue, why))?;
    let schema = Json::parse(text.as_bytes()).map_err(|error| {
        field.error(Cause::InvalidJson, format!("the schema in `{}` is not JSON: {error}", shown(path)))
    })?;
    Ok(Some(schema))
}

/// What the constraints of one block have in common.
struct Reading {
    /// Keywords that its schemas may have beside those of JSON Schema.
    vocabulary: Vec<String>,
}

impl Reading {
    /// Reads a constraint, whose text is the member `text`.
    fn one(&self, item: &Field<'_>, text: &str, names: &mut HashSet<String>) -> Result<Constraint, DocumentError> {
        let fields = item.fields()?;
        fields.only(&["name", text, "schema"])?;
        let name = test_name(&fields.need("name", "write a name no other check has")?, names)?;
        let written = fields.need(text, "write what must hold, as in `length <= 1000`")?;
        let constraint = written.text()?;
        if constraint.len() > MAX_CONSTRAINT_BYTES {
            let message = format!("the constraint is longer than {MAX_CONSTRAINT_BYTES} bytes");
            return Err(written.error(Cause::TooLarge, message).with_help("shorten it"));
        }
        if constraint.trim() == "json_schema" {
            let field = fields.need("schema", "write the schema here, or the path of its file")?;
            return self.schema(name, &field);
        }
        if let Some(field) = fields.get("schema") {
            return Err(field
                .error(Cause::ConflictingFields, "only the constraint `json_schema` has a schema")
                .with_help("leave it out"));
        }
        // The reference's `expr` is an expression without a prefix; the spec's forms are accepted there too.
        let rule = match (text, Rule::read(constraint)) {
            ("expr", Err(_)) => predicate(constraint),
            (_, read) => read,
        };
        let rule = rule.map_err(|error| invalid(&written, error))?;
        Ok(Constraint { name, text: constraint.to_owned(), rule: Arc::new(rule) })
    }

    /// A schema, which [`with_schemas`] has read where it is in a file.
    fn schema(&self, name: String, field: &Field<'_>) -> Result<Constraint, DocumentError> {
        let schema = match field.json {
            Json::Object(_) | Json::Bool(_) => field.json,
            _ => return Err(field.wrong_type("a schema, or the path of its file")),
        };
        let rule = schema::compile(schema, &self.vocabulary).map_err(|error| invalid(field, error))?;
        // The receipt repeats the text of each constraint, and a schema may be longer than a receipt.
        let digest = Sha256Digest::of(&schema.canonical_vrf());
        Ok(Constraint { name, text: format!("json_schema {digest}"), rule: Arc::new(Rule::Schema(Box::new(rule))) })
    }
}

/// The keywords of `vocabulary`.
fn vocabulary(verification: &Fields<'_>) -> Result<Vec<String>, DocumentError> {
    let Some(field) = verification.get("vocabulary") else { return Ok(Vec::new()) };
    let items = field.items()?;
    if items.len() > MAX_VOCABULARY {
        let message = format!("there are more than {MAX_VOCABULARY} keywords");
        return Err(field.error(Cause::TooMany, message).with_help("begin the names of your own keywords with `x-`"));
    }
    items.iter().map(|item| Ok(item.text()?.to_owned())).collect()
}

fn invalid(field: &Field<'_>, error: ConstraintError) -> DocumentError {
    let refused = field.error(Cause::InvalidValue, error.message);
    match error.help {
        Some(help) => refused.with_help(help),
        None => refused,
    }
}
