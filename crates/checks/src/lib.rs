//! Verification requests, the jobs they ask for, and the judgment of the outcomes.
//!
//! This crate runs nothing and knows no clock, files or keys. [`Request::read`] reads and checks a request,
//! [`Request::plan`] says what is to be run, and [`Request::judge`] compares the outcomes with what was expected. The
//! [`Job`] that runs a submission holds nothing of what is expected.
//!
//! Read the files in the order of a verification:
//!
//! 1. `request` reads what is asked for, with `fields` for what its parts share: a `suite` of tests, a `command` on the
//!    `files` of a project, or `constraint`s on a text. `limits` names how large they may be, and `caps` what a host grants.
//! 2. `language` has a file and a row for each language: its words, values, equality and test runners. `fences` and
//!    `operators` read its programs.
//! 3. `plan` makes a `job` of a request.
//! 4. `judge` makes a verdict of the outcomes. `value` reads what a program answered, `compare` and `words` say whether that
//!    is what was expected, `difference` and `render` show it to people, and `budget` keeps a receipt short.
//! 5. `report` reads what test runners write, as `reporting` asked them to. It is the text of an attacker.

mod budget;
mod caps;
mod command;
mod compare;
mod constraint;
mod content;
mod counter;
mod difference;
mod fences;
mod fields;
mod files;
mod job;
mod judge;
mod language;
pub mod limits;
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
    Caps, MAX_COMMAND_DISK_MB, MAX_COMMAND_MEMORY_MB, MAX_COMMAND_PROCESSES, MAX_DISK_MB, MAX_MEMORY_MB,
    MAX_OUTPUT_BYTES, MAX_PROCESSES, MAX_REQUEST_BYTES, MAX_TOTAL_TIMEOUT,
};
pub use command::{
    Command, CounterSetting, Held, MAX_HELD_GLOBS, MissingFile, PROJECT_SETTINGS, Packages, Script, SkipPolicy,
    TreeEntry, TreeEntryKind, TreeError, Unusable, check_settings, glob_texts, normalized, tree_entries,
};
pub use compare::{Rules, Tolerance, equal};
pub use constraint::Constraint;
pub use content::{Content, STORED_FROM, Stored};
pub use counter::{
    Alteration, CanaryText, CounterRun, Edit, Expectation, HeldTest, NoCounterRun, ReadTests, TestFile, Title,
};
pub use fields::Outside;
pub use files::{
    MAX_FILES, MAX_PATH_BYTES, MAX_PROJECT_BYTES, MAX_PROJECT_FILES, file_content, files_digest, is_project_path,
};
pub use job::{
    Case, CaseOutcome, End, Environment, HostFolder, Job, Limits, Locked, MAX_RUNNING_BYTES, MAX_WRITTEN_BYTES, Need,
    Origin, Outcome, OwnModules, PROJECT_FOLDER, PackagesFrom, Program, Project, ProjectFile, Tail, Written,
};
pub use judge::{CounterCounts, Fault, Judgment, SuiteJudging, same_error};
pub use language::{Language, ParseLanguageError, RUNNING_MODULE};
pub use plan::Plan;
pub use report::SkippedTest;
pub use reporting::{Report, ReportForm, Runner};
pub use request::{Checks, Format, Place, Request, RequestError, SuiteHashes};
pub use suite::{AskedLimits, Expected, Mode, Raises, Reveal, Suite, Test, TextRule};
pub use value::{Integer, Integers, Value, ValueError};
