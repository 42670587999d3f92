//! A small, total, typed, three-valued expression language over JSON facts, used wherever a user writes a condition.
//!
//! The syntax is a subset of CEL with JSONPath added; `docs/predicate.md` is its reference. Its
//! properties:
//!
//! - **Total.** Source, nesting, sizes and steps are bounded by the constants in [`limits`]; there
//!   is no clock, no randomness and no input or output.
//! - **Three-valued.** A fact that is absent or of the wrong type is *unknown*, never true and
//!   never false, and the answer names it.
//! - **Exact.** Integers have 64 bits and overflow is an error; decimals do not round to binary.
//!
//! Read the files in the order of a predicate. `lexer` and `parser` read its text into the `ast`, and look up names in
//! `functions`, which has one row for each function; `nearest` suggests other names. `typecheck` refuses what can never be
//! right, by the `schema` of the facts and the `types` of expressions. `predicate` is the result, and `evaluate` runs it:
//! `quick` is the short way for the commonest comparisons, and the other files of its folder have one kind of expression
//! each. `value`, `decimal` and `time` are what predicates compute with, `pattern` and `path` what `matches` and `path` look
//! for. `limits`, `budget` and `cost` bound all of it, `error` says what went wrong, `tree` shows a predicate to code
//! that reasons about it, and `meaning` says what is so whatever the facts are.
//!
//! ```
//! use proofmark_predicate::{Predicate, Truth, Value};
//!
//! let predicate = Predicate::compile("order.total <= 500 && order.currency == 'USD'")?;
//! let order: Value = [("total", Value::from(120)), ("currency", Value::from("USD"))]
//!     .into_iter()
//!     .collect();
//! let facts: Value = [("order", order)].into_iter().collect();
//! assert_eq!(predicate.evaluate(&facts).truth, Truth::True);
//! # Ok::<(), proofmark_predicate::CompileError>(())
//! ```

mod ast;
mod budget;
mod cost;
mod decimal;
mod error;
mod evaluate;
mod functions;
mod lexer;
pub mod limits;
pub mod meaning;
mod nearest;
mod parser;
mod path;
mod pattern;
mod predicate;
mod schema;
mod time;
pub mod tree;
mod typecheck;
mod types;
mod value;

pub use budget::{Budget, StoppedError};
pub use cost::PathCost;
pub use decimal::{Decimal, NumberError};
pub use error::{CompileError, Failure, Fault, Missing, Span, UnknownError, Why};
pub use path::Query;
pub use predicate::{Evaluation, Predicate, Truth};
pub use schema::{FieldType, Schema};
pub use time::{Duration, TimeError, Timestamp};
pub use value::{Key, Map, TypeName, Value};
