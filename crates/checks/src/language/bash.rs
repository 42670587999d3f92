//! GNU bash, whose functions return no values.

use proofmark_receipt::document::{DocumentError, Field};

use super::{Commands, Dialect, TestFiles};
use crate::compare::Rules;
use crate::render::JSON;
use crate::reporting::{Report, ReportForm, Reporting, Runner, positional, unknown};
use crate::value::Integers;

/// bats is a script of bash.
const BATS: &str = "/usr/bin/bats";

pub(super) static DIALECT: Dialect = Dialect {
    word: "bash",
    aliases: &["sh"],
    // The rules and the notation only complete the row: `stdio` compares text, not values.
    rules: Rules { booleans_are_numbers: false, integers: Integers::Exact, json: true },
    notation: &JSON,
    json: &JSON,
    file: "submission.sh",
    functions: None,
    no_packages: Some("Bash submissions can use only what is built into bash"),
    lock_files: &[],
    commands: Commands { programs: &[("bash", &[]), ("sh", &[]), ("bats", &[BATS])], reporting },
    tests: TestFiles::NONE,
};

/// Options of bats that take the next word.
const BATS_VALUED: [&str; 6] = ["-f", "--filter", "-j", "--jobs", "-o", "--output"];

fn reporting(_: &Field<'_>, mut arguments: Vec<String>, asked: Option<Report>) -> Result<Reporting, DocumentError> {
    if arguments.first().is_some_and(|script| script == BATS) {
        let named = positional(&arguments, &BATS_VALUED).skip(1).cloned().collect();
        // Its TAP has a test for each one that runs, on standard output.
        let report = asked.unwrap_or_else(|| {
            arguments.insert(1, "--tap".to_owned());
            Report::Stdout(ReportForm::Tap)
        });
        return Ok(Reporting { runner: Some(Runner::Bats), named, ..Reporting::new(arguments, report) });
    }
    // Options such as `-euo pipefail` may take words, so a script behind them is not looked for.
    let named = arguments.iter().take(1).filter(|word| !word.starts_with('-')).cloned().collect();
    Ok(Reporting { named, ..unknown(arguments, asked) })
}
