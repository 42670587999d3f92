//! Tier 1: what a text must be like, checked without running anything (VRF 1.0, "Mechanical Check").

mod error;
mod evaluate;
mod path;
mod pattern;
mod read;
mod rule;
mod schema;
mod subject;

use std::fmt;
use std::sync::Arc;

pub(crate) use evaluate::evaluate;
pub(crate) use read::{is_reference_form, read, with_schemas};
use rule::Rule;

/// The most constraints one request may have.
pub const MAX_CONSTRAINTS: usize = 1_000;
/// The longest constraint, in bytes.
pub const MAX_CONSTRAINT_BYTES: usize = 64 << 10;
/// The largest compiled pattern of `regex:`, in bytes of memory.
pub const MAX_PATTERN_BYTES: usize = 1 << 20;
/// Steps all constraints of a request may take together on one output; a step is about one value looked at, or 16 bytes of
/// text. Those past it are errors that name this limit.
pub const MAX_CONSTRAINT_STEPS: u64 = 100_000_000;
/// The most places of a document that checking one constraint may visit.
const MAX_VISITS: u64 = 1 << 24;
/// How many violations of a schema are listed.
pub const MAX_VIOLATIONS: usize = 20;

/// One constraint on the submission's text.
#[derive(Clone)]
pub struct Constraint {
    /// Its name, unique among the constraints.
    pub name: String,
    /// The constraint as it is written; a schema by its digest.
    pub text: String,
    rule: Arc<Rule>,
}

impl fmt::Debug for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.text)
    }
}

impl PartialEq for Constraint {
    /// The text says all of the rule.
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.text) == (&other.name, &other.text)
    }
}
