//! GNU bash, whose functions return no values.

use proofmark_receipt::document::{DocumentError, Field};

use super::{Commands, Dialect};
use crate::compare::Rules;
use crate::render::JSON;
use crate::reporting::{Report, Reporting, unknown};
use crate::value::Integers;

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
    commands: Commands { programs: &[("bash", &[]), ("sh", &[])], reporting },
};

fn reporting(_: &Field<'_>, arguments: Vec<String>, asked: Option<Report>) -> Result<Reporting, DocumentError> {
    // Options such as `-euo pipefail` may take words, so a script behind them is not looked for.
    let named = arguments.iter().take(1).filter(|word| !word.starts_with('-')).cloned().collect();
    Ok(Reporting { named, ..unknown(arguments, asked) })
}
