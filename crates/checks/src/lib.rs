//! Verification requests, the jobs they ask for, and the judgment of the outcomes.
//!
//! This crate runs nothing and knows no clock, files or keys. [`Request::read`] reads and checks a request,
//! [`Request::plan`] says what is to be run, and [`Request::judge`] compares the outcomes with what was expected. The
//! [`Job`] that runs a submission holds nothing of what is expected.

mod budget;
mod caps;
mod command;
mod compare;
mod constraint;
mod difference;
mod fences;
mod fields;
mod files;
mod job;
mod judge;
mod language;
mod operators;
mod plan;
mod render;
mod report;
mod reporting;
mod request;
mod suite;
mod value;
mod words;

pub use caps::{
    Caps, DEFAULT_DISK_MB, DEFAULT_MEMORY_MB, DEFAULT_OUTPUT_BYTES, DEFAULT_PROCESSES, DEFAULT_TIMEOUT,
    DEFAULT_TOTAL_TIMEOUT, MAX_DISK_MB, MAX_MEMORY_MB, MAX_NAME_CHARS, MAX_OUTPUT_BYTES, MAX_PACKAGE_CHARS,
    MAX_PACKAGES, MAX_PROCESSES, MAX_REQUEST_BYTES, MAX_REQUEST_DEPTH, MAX_TESTS, MAX_TIMEOUT, MAX_TOTAL_TIMEOUT,
};
pub use command::{
    Command, DEFAULT_COMMAND_DISK_MB, DEFAULT_COMMAND_MEMORY_MB, DEFAULT_COMMAND_TIMEOUT, MAX_VARIABLE_BYTES,
    MAX_VARIABLES, MAX_WORDS, MissingFile, PROJECT_SETTINGS, SkipPolicy, TreeEntry, TreeEntryKind, TreeError, Unusable,
    check_settings, tree_entries,
};
pub use compare::{NEAR_ZERO, Rules, Tolerance, equal};
pub use constraint::{
    Constraint, MAX_CONSTRAINT_BYTES, MAX_CONSTRAINT_STEPS, MAX_CONSTRAINTS, MAX_PATTERN_BYTES, MAX_VIOLATIONS,
};
pub use difference::MAX_DIFFERENCE_CHARS;
pub use fields::Outside;
pub use files::{MAX_FILES, MAX_FOLDERS, MAX_PATH_BYTES, file_content, files_digest, is_project_path};
pub use job::{
    Case, CaseOutcome, End, HostFolder, Job, Limits, MAX_WRITTEN_BYTES, Need, Outcome, PROJECT_FOLDER, Program,
    Project, ProjectFile, Tail, Written,
};
pub use judge::{Fault, Judgment, SuiteJudging, same_error};
pub use language::{Language, ParseLanguageError};
pub use plan::Plan;
pub use render::MAX_SHOWN_CHARS;
pub use reporting::{Report, ReportForm, Runner};
pub use request::{Checks, Format, MAX_SALT_CHARS, MIN_SALT_CHARS, Place, Request, RequestError, SuiteHashes};
pub use suite::{AskedLimits, Expected, Mode, Raises, Reveal, Suite, Test, TextRule};
pub use value::{Integer, Integers, MAX_SET_DEPTH, MAX_VALUE_BYTES, MAX_VALUE_DEPTH, Value, ValueError};
