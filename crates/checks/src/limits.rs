//! How large what a request asks for may be, what it gets where it does not ask, and how much is said about what differs.
//!
//! Each is defined beside the code that keeps it.

pub use crate::caps::{
    DEFAULT_DISK_MB, DEFAULT_MEMORY_MB, DEFAULT_OUTPUT_BYTES, DEFAULT_PROCESSES, DEFAULT_TIMEOUT,
    DEFAULT_TOTAL_TIMEOUT, MAX_NAME_CHARS, MAX_PACKAGE_CHARS, MAX_PACKAGES, MAX_REQUEST_DEPTH, MAX_TESTS, MAX_TIMEOUT,
};
pub use crate::command::{DEFAULT_COMMAND_MEMORY_MB, DEFAULT_COMMAND_PROCESSES, DEFAULT_COMMAND_TIMEOUT, MAX_WORDS};
pub use crate::compare::NEAR_ZERO;
pub use crate::constraint::{
    MAX_CONSTRAINT_BYTES, MAX_CONSTRAINT_STEPS, MAX_CONSTRAINTS, MAX_PATTERN_BYTES, MAX_VIOLATIONS,
};
pub use crate::difference::MAX_DIFFERENCE_CHARS;
pub use crate::files::{DEFAULT_COMMAND_DISK_MB, MAX_FOLDERS};
pub use crate::render::MAX_SHOWN_CHARS;
pub use crate::value::{MAX_SET_DEPTH, MAX_VALUE_DEPTH};
