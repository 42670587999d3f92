//! The keywords of JSON Schema. Validators pass over those that they do not know, so a misspelled one would demand nothing.

use proofmark_receipt::document::{nearest, shown};
use serde_json::Value;

use super::super::error::ConstraintError;
use super::cost::{BELOW, HERE, Holds, REFERENCES};

/// More keywords with schemas, which apply to named places.
const NAMED: [(&str, Holds); 5] = [
    ("$defs", Holds::Members),
    ("definitions", Holds::Members),
    ("prefixItems", Holds::Schemas),
    ("properties", Holds::Members),
    ("contentSchema", Holds::Schemas),
];

/// Keywords of the drafts 4 to 2020-12 without schemas, in the order of the core, the validation, the rest.
const DATA: [&str; 38] = [
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$comment",
    "type",
    "enum",
    "const",
    "multipleOf",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "maxContains",
    "minContains",
    "maxProperties",
    "minProperties",
    "required",
    "dependentRequired",
    "format",
    "contentEncoding",
    "contentMediaType",
    "title",
    "description",
    "default",
    "deprecated",
    "readOnly",
    "writeOnly",
    "examples",
];

/// Keywords of OpenAPI 3, whose schemas are often taken as they are; they demand nothing.
const OPEN_API: [&str; 7] = ["example", "externalDocs", "xml", "discriminator", "links", "base", "media"];

/// Refuses a schema with a keyword that no draft and no entry of `known` has. Keywords that begin with `x-` are extensions.
///
/// # Errors
/// When there is such a keyword; the nearest one is the help.
pub(super) fn check(schema: &Value, known: &[String]) -> Result<(), ConstraintError> {
    let mut left = vec![(schema, String::new())];
    while let Some((schema, at)) = left.pop() {
        let Value::Object(members) = schema else { continue };
        for (name, value) in members {
            let at = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            let holds =
                HERE.iter().chain(&BELOW).chain(&NAMED).find(|(keyword, _)| keyword == name).map(|(_, holds)| holds);
            match (holds, value) {
                (Some(Holds::Members), Value::Object(members)) => {
                    left.extend(members.iter().map(|(name, value)| (value, format!("{at}/{name}"))));
                }
                (Some(Holds::Schemas), Value::Array(items)) => {
                    left.extend(items.iter().enumerate().map(|(index, item)| (item, format!("{at}/{index}"))));
                }
                (Some(Holds::Schemas), value) => left.push((value, at)),
                // The validator says what is wrong with it.
                (Some(Holds::Members), _) => {}
                (None, _) if name.starts_with("x-") || known.contains(name) => {}
                (None, _) if data().any(|keyword| keyword == name) => {}
                (None, _) => return Err(unknown(name, &at)),
            }
        }
    }
    Ok(())
}

/// The keywords without schemas.
fn data() -> impl Iterator<Item = &'static str> {
    REFERENCES.into_iter().chain(DATA).chain(OPEN_API)
}

fn unknown(name: &str, at: &str) -> ConstraintError {
    let message = format!("the schema has an unknown keyword, at `{}`: it would demand nothing", shown(at));
    let schemas = HERE.iter().chain(&BELOW).chain(&NAMED).map(|(keyword, _)| *keyword);
    let named: Vec<&str> = schemas.chain(data()).collect();
    let help = match nearest(name, &named) {
        Some(nearest) => format!("did you mean `{nearest}`? If not, list `{}` in `vocabulary`", shown(name)),
        None => format!("remove it, or list `{}` in `vocabulary`", shown(name)),
    };
    ConstraintError::new(message, help)
}
