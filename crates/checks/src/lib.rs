//! Verification requests, the jobs they ask for, and the judgment of what came of them.

mod job;

pub use job::{Case, CaseOutcome, End, Job, Language, Limits, Outcome, Program, UnknownLanguage};
