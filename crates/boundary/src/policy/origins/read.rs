//! Reads `origins`.

use proofmark_flow::REQUEST;
use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::glob::Globs;

use super::super::text::text;
use super::path::PathPattern;
use super::{Expected, OriginRule};

/// The most entries of `origins`.
const MAX_ORIGINS: usize = 1_024;
/// The most labels that one field may list.
const MAX_LABELS: usize = 64;
/// The most conditions of one entry.
const MAX_CONDITIONS: usize = 32;

/// Reads `origins`.
pub(crate) fn read(field: &Field<'_>) -> Result<Vec<OriginRule>, DocumentError> {
    let items = field.items()?;
    if items.len() > MAX_ORIGINS {
        return Err(field.error(Cause::TooMany, format!("more than {MAX_ORIGINS} entries")).with_help("join some"));
    }
    items.iter().map(entry).collect()
}

fn entry(field: &Field<'_>) -> Result<OriginRule, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["tool", "server", "path", "if", "args", "anchor", "named", "label", "within"])?;
    Ok(OriginRule {
        tool: Globs::read(&fields.need("tool", "name the tools whose results are labelled, as in `tool: get_*`")?)?,
        server: fields.get("server").map(|field| Globs::read(&field)).transpose()?,
        path: fields.get("path").map(|field| PathPattern::read(&field)).transpose()?,
        when: fields.get("if").map(|field| conditions(&field)).transpose()?.unwrap_or_default(),
        args: fields.get("args").map(|field| conditions(&field)).transpose()?.unwrap_or_default(),
        anchor: fields.get("anchor").map(|field| anchor(&field)).transpose()?,
        named: fields.get("named").map(|field| text(&field).map(str::to_owned)).transpose()?,
        label: label(&fields.need("label", "name who vouches for it, as in `label: own`")?)?,
        within: fields.get("within").map(|field| field.boolean()).transpose()?.unwrap_or(false),
    })
}

/// Labels, constants and bounds.
fn anchor(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    let labels = labels(field)?;
    match labels.iter().find(|label| label.starts_with('<') && bound(label).is_none()) {
        None => Ok(labels),
        Some(_) => Err(field.error(Cause::InvalidValue, "a limit is a number").with_help("write it as in `<=100`")),
    }
}

/// The number of a bound, as in `<= 50`.
pub(super) fn bound(label: &str) -> Option<f64> {
    label.strip_prefix("<=")?.trim().parse().ok().filter(|bound: &f64| bound.is_finite() && *bound >= 0.0)
}

/// The label that a rule gives. What the user asked for is told by the host, and no result can be that.
fn label(field: &Field<'_>) -> Result<String, DocumentError> {
    let label = text(field)?;
    if label == REQUEST {
        let error = field.error(Cause::InvalidValue, "`request` is the label of what the user asked for");
        return Err(error.with_help("name another one"));
    }
    if label.starts_with(['=', '<']) {
        return Err(field.error(Cause::InvalidValue, "a label cannot begin with `=` or `<`").with_help("name another"));
    }
    Ok(label.to_owned())
}

/// A label, or a list of labels.
pub(crate) fn labels(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    let fields = match field.json.as_array() {
        Some(_) => field.items()?,
        None => vec![field.clone()],
    };
    if fields.is_empty() {
        return Err(field.error(Cause::Empty, "the list has no labels").with_help("write one"));
    }
    if fields.len() > MAX_LABELS {
        return Err(field.error(Cause::TooMany, format!("more than {MAX_LABELS} labels")).with_help("join some"));
    }
    fields.iter().map(|field| text(field).map(str::to_owned)).collect()
}

fn conditions(field: &Field<'_>) -> Result<Vec<(String, Expected)>, DocumentError> {
    let fields = field.fields()?;
    let mut conditions = Vec::new();
    for (name, field) in fields.iter() {
        if conditions.len() >= MAX_CONDITIONS {
            let error = field.error(Cause::TooMany, format!("more than {MAX_CONDITIONS} conditions"));
            return Err(error.with_help("write two entries"));
        }
        conditions.push((name.to_owned(), expected(&field)?));
    }
    if conditions.is_empty() {
        return Err(field
            .error(Cause::Empty, "the object has no conditions")
            .with_help("write one, or leave the field out"));
    }
    Ok(conditions)
}

fn expected(field: &Field<'_>) -> Result<Expected, DocumentError> {
    if field.json.as_object().is_some() {
        let fields = field.fields()?;
        fields.only(&["from"])?;
        return Ok(Expected::From(labels(&fields.need("from", "name the labels, as in `{from: [request]}`")?)?));
    }
    Ok(Expected::Text(labels(field)?))
}
