//! JSON Schema, without a network: a reference that leads outside of the schema is an error.

mod cost;
mod vocabulary;

use jsonschema::{PatternOptions, Validator};
use proofmark_predicate::Budget;
use proofmark_receipt::json::Json;

use super::error::{ConstraintError, TooMuch};
use super::subject::tree;
use super::{MAX_PATTERN_BYTES, MAX_VIOLATIONS, MAX_VISITS};
use cost::{Cost, CostError};

/// A schema that can be used.
pub(super) struct Schema {
    validator: Validator,
    cost: Cost,
}

/// Compiles a schema of the draft that its `$schema` names; without one, 2020-12. `vocabulary` names further keywords, which
/// demand nothing.
pub(super) fn compile(schema: &Json, vocabulary: &[String]) -> Result<Schema, ConstraintError> {
    let schema = tree(schema)
        .ok_or_else(|| ConstraintError::new("the schema holds a number past every double", "write a smaller one"))?;
    vocabulary::check(&schema, vocabulary)?;
    let cost = Cost::of(&schema).map_err(|error| match error {
        CostError::Cycle => {
            ConstraintError::new("the schema leads back to itself without going deeper", "correct its references")
        }
        CostError::TooMany => {
            ConstraintError::new("the schema applies too many schemas to one place", "write it with fewer")
        }
    })?;
    // The engine without look-around and back-references: it matches in linear time.
    let patterns = PatternOptions::regex().size_limit(MAX_PATTERN_BYTES);
    let built = jsonschema::options().with_pattern_options(patterns).build(&schema);
    let validator = built.map_err(|error| {
        ConstraintError::new(
            format!("the schema cannot be used, at `{}`: {error}", error.instance_path()),
            "correct it",
        )
    })?;
    Ok(Schema { validator, cost })
}

impl Schema {
    /// Every violation with the pointer to its place, the first ones where there are many.
    pub(super) fn violations(&self, document: &serde_json::Value, budget: &Budget<'_>) -> Result<Vec<String>, TooMuch> {
        let Some(visits) = self.cost.visits(document) else {
            // Counting them took as long as the most that is allowed.
            budget.charge(MAX_VISITS)?;
            return Err(TooMuch::ForOne);
        };
        budget.charge(visits.places)?;
        budget.charge(visits.searches)?;
        let mut found = Vec::new();
        for error in self.validator.iter_errors(document) {
            if found.len() == MAX_VIOLATIONS {
                found.push("and more".to_owned());
                break;
            }
            let pointer = error.instance_path().as_str();
            let place = if pointer.is_empty() { "the document" } else { pointer };
            // `masked` leaves out the value itself, which can be as long as the output.
            found.push(format!("{place}: {}", error.masked()));
        }
        Ok(found)
    }
}
