//! TypeScript whose types Node.js takes out before it runs.

use proofmark_receipt::document::{DocumentError, Field};

use super::javascript::{ALTERED_RUNNERS, FUNCTIONS, NOTATION, RULES};
use super::{Commands, Dialect, TestFiles};
use crate::render::JAVASCRIPT_JSON;
use crate::reporting::{Report, Reporting, unknown};

pub(super) static DIALECT: Dialect = Dialect {
    word: "typescript",
    aliases: &["ts"],
    rules: RULES,
    notation: &NOTATION,
    json: &JAVASCRIPT_JSON,
    file: "submission.ts",
    functions: Some(FUNCTIONS),
    no_packages: Some(
        "TypeScript submissions can import only what is built into node; verify a project (`verify --dir`) if the work \
         needs packages",
    ),
    lock_files: &[],
    // `node` is the command of JavaScript, which runs files of both.
    commands: Commands { programs: &[], reporting },
    tests: TestFiles { extensions: &["ts", "mts", "cts", "tsx"], runners: ALTERED_RUNNERS },
};

fn reporting(_: &Field<'_>, arguments: Vec<String>, asked: Option<Report>) -> Result<Reporting, DocumentError> {
    Ok(unknown(arguments, asked))
}
