//! JSON Schema, without a network: a reference that leads outside of the schema is an error.

use jsonschema::{PatternOptions, Validator};
use proofmark_receipt::json::Json;

use super::rule::BadConstraint;
use super::subject::tree;
use super::{MAX_PATTERN_BYTES, MAX_VIOLATIONS};

/// Compiles a schema of the draft its `$schema` names, 2020-12 where it names none.
pub(super) fn compile(schema: &Json) -> Result<Box<Validator>, BadConstraint> {
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES);
    let built = jsonschema::options().with_pattern_options(patterns).build(&tree(schema));
    built.map(Box::new).map_err(|error| {
        BadConstraint(format!("the schema can not be used, at `{}`: {error}; mend it", error.instance_path()))
    })
}

/// Every violation with the pointer to its place; the first ones where there are many.
pub(super) fn violations(validator: &Validator, instance: &serde_json::Value) -> Vec<String> {
    let mut found = Vec::new();
    for error in validator.iter_errors(instance) {
        if found.len() == MAX_VIOLATIONS {
            found.push("and more".to_owned());
            break;
        }
        let pointer = error.instance_path().as_str();
        let place = if pointer.is_empty() { "the document" } else { pointer };
        found.push(format!("{place}: {}", error.masked()));
    }
    found
}
