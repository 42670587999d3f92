//! The keywords of JSON Schema. Validators pass over those that they do not know, so a misspelled one would demand nothing.

use proofmark_receipt::document::{nearest, shown};
use serde_json::Value;

use super::super::error::ConstraintError;

/// What is in the value of a keyword.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    /// A schema, or a list of them.
    Schemas,
    /// Schemas by their names.
    Members,
    /// Anything else.
    Data,
}

/// The keywords of the drafts 4 to 2020-12, in the order of the core, the applicators, the validation, the rest.
const KEYWORDS: [(&str, Holds); 70] = [
    ("$schema", Holds::Data),
    ("$id", Holds::Data),
    ("id", Holds::Data),
    ("$ref", Holds::Data),
    ("$anchor", Holds::Data),
    ("$dynamicRef", Holds::Data),
    ("$dynamicAnchor", Holds::Data),
    ("$recursiveRef", Holds::Data),
    ("$recursiveAnchor", Holds::Data),
    ("$vocabulary", Holds::Data),
    ("$comment", Holds::Data),
    ("$defs", Holds::Members),
    ("definitions", Holds::Members),
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("oneOf", Holds::Schemas),
    ("not", Holds::Schemas),
    ("if", Holds::Schemas),
    ("then", Holds::Schemas),
    ("else", Holds::Schemas),
    ("dependentSchemas", Holds::Members),
    ("dependencies", Holds::Members),
    ("prefixItems", Holds::Schemas),
    ("items", Holds::Schemas),
    ("additionalItems", Holds::Schemas),
    ("unevaluatedItems", Holds::Schemas),
    ("contains", Holds::Schemas),
    ("properties", Holds::Members),
    ("patternProperties", Holds::Members),
    ("additionalProperties", Holds::Schemas),
    ("unevaluatedProperties", Holds::Schemas),
    ("propertyNames", Holds::Schemas),
    ("type", Holds::Data),
    ("enum", Holds::Data),
    ("const", Holds::Data),
    ("multipleOf", Holds::Data),
    ("maximum", Holds::Data),
    ("exclusiveMaximum", Holds::Data),
    ("minimum", Holds::Data),
    ("exclusiveMinimum", Holds::Data),
    ("maxLength", Holds::Data),
    ("minLength", Holds::Data),
    ("pattern", Holds::Data),
    ("maxItems", Holds::Data),
    ("minItems", Holds::Data),
    ("uniqueItems", Holds::Data),
    ("maxContains", Holds::Data),
    ("minContains", Holds::Data),
    ("maxProperties", Holds::Data),
    ("minProperties", Holds::Data),
    ("required", Holds::Data),
    ("dependentRequired", Holds::Data),
    ("format", Holds::Data),
    ("contentEncoding", Holds::Data),
    ("contentMediaType", Holds::Data),
    ("contentSchema", Holds::Schemas),
    ("title", Holds::Data),
    ("description", Holds::Data),
    ("default", Holds::Data),
    ("deprecated", Holds::Data),
    ("readOnly", Holds::Data),
    ("writeOnly", Holds::Data),
    ("examples", Holds::Data),
    // Of OpenAPI 3, whose schemas are often taken as they are; they demand nothing.
    ("example", Holds::Data),
    ("externalDocs", Holds::Data),
    ("xml", Holds::Data),
    ("discriminator", Holds::Data),
    ("links", Holds::Data),
    ("base", Holds::Data),
    ("media", Holds::Data),
];

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
            match (KEYWORDS.iter().find(|(keyword, _)| keyword == name), value) {
                (Some((_, Holds::Data)), _) => {}
                (Some((_, Holds::Members)), Value::Object(members)) => {
                    left.extend(members.iter().map(|(name, value)| (value, format!("{at}/{name}"))));
                }
                (Some((_, Holds::Schemas)), Value::Array(items)) => {
                    left.extend(items.iter().enumerate().map(|(index, item)| (item, format!("{at}/{index}"))));
                }
                (Some((_, Holds::Schemas)), value) => left.push((value, at)),
                // The validator says what is wrong with it.
                (Some((_, Holds::Members)), _) => {}
                (None, _) if name.starts_with("x-") || known.contains(name) => {}
                (None, _) => return Err(unknown(name, &at)),
            }
        }
    }
    Ok(())
}

fn unknown(name: &str, at: &str) -> ConstraintError {
    let message = format!("the schema has an unknown keyword, at `{}`: it would demand nothing", shown(at));
    let named = KEYWORDS.map(|(keyword, _)| keyword);
    let help = match nearest(name, &named) {
        Some(nearest) => format!("did you mean `{nearest}`? If not, list `{}` in `vocabulary`", shown(name)),
        None => format!("remove it, or list `{}` in `vocabulary`", shown(name)),
    };
    ConstraintError::new(message, help)
}
