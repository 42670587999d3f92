//! Shares, as receipts and rules write them.

use std::fmt;
use std::str::FromStr;

use proofmark_receipt::Receipt;
use proofmark_receipt::document::{Cause, DocumentError, Field, shown};
use thiserror::Error;

/// What one is divided into.
const THOUSANDTHS: u64 = 1_000;

/// A part of a whole, in thousandths and rounded down. It is written as a number between 0 and 1, with three decimal places at
/// most; as a text in signed documents, whose numbers are integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u16);

/// A text that is not a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not a number between 0 and 1 with three decimal places at most")]
pub struct ParseShareError;

impl Share {
    /// No part of the whole.
    pub const NONE: Share = Share(0);

    /// This part of the whole; none of nothing, or where the part is more than the whole.
    #[must_use]
    pub fn of(part: u64, whole: u64) -> Option<Share> {
        let thousandths = part.checked_mul(THOUSANDTHS)?.checked_div(whole)?;
        (part <= whole).then_some(Share(u16::try_from(thousandths).ok()?))
    }

    /// What a rule asks of a counter-run, in words.
    #[must_use]
    pub fn contradicted(self) -> impl fmt::Display {
        fmt::from_fn(move |f| match self {
            Share::NONE => f.write_str("with a counter-run"),
            least => write!(f, "whose passed tests failed with a wrong expectation, at least {least} of them"),
        })
    }

    /// The thousandths.
    #[must_use]
    pub fn thousandths(self) -> u16 {
        self.0
    }

    /// The strength that a receipt states (`metadata.strength`), from its counts: of the mutants that loaded, those that failed
    /// the tests. None where it states none, or counts that do not add up.
    #[must_use]
    pub fn strength_of(receipt: &Receipt) -> Option<Share> {
        let strength = receipt.metadata().get("strength")?.as_object()?;
        // Of another method, the figure has another meaning.
        strength.get("method")?.as_str().filter(|method| *method == STRENGTH_METHOD)?;
        let count = |name: &str| strength.get(name)?.as_number()?.as_u64();
        let [mutants, killed, survived, invalid] =
            [count("mutants")?, count("killed")?, count("survived")?, count("invalid")?];
        let loaded = killed.checked_add(survived)?;
        (loaded.checked_add(invalid)? == mutants).then(|| Share::of(killed, loaded))?
    }

    /// The share of a project's passed tests that failed with a wrong expectation (`metadata.counter_run`). None where there was no
    /// counter-run, no test passed, or the counts do not add up.
    #[must_use]
    pub fn counter_run_of(receipt: &Receipt) -> Option<Share> {
        let counter_run = receipt.metadata().get("counter_run")?.as_object()?;
        let count = |name: &str| counter_run.get(name)?.as_number()?.as_u64();
        let [altered, contradicted, unproven, untouched] =
            [count("altered")?, count("contradicted")?, count("unproven")?, count("untouched")?];
        let passed = contradicted.checked_add(untouched)?;
        (contradicted.checked_add(unproven)? == altered).then(|| Share::of(contradicted, passed))?
    }

    /// Reads the least share that a rule asks for, as in `>= 0.8`.
    pub(crate) fn read_least(field: &Field<'_>) -> Result<Share, DocumentError> {
        let text = field.text()?;
        let share = text.strip_prefix(">=").and_then(|share| share.trim().parse().ok());
        share.ok_or_else(|| {
            let error = field.error(Cause::InvalidValue, format!("`{}` is not a least share", shown(text)));
            error.with_help("write `>=` and a number between 0 and 1, as in `>= 0.8`")
        })
    }
}

/// The way in which the strength was measured that rules ask for.
const STRENGTH_METHOD: &str = "tokens/1";

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let thousandths = u64::from(self.0);
        let digits = format!("{}.{:03}", thousandths / THOUSANDTHS, thousandths % THOUSANDTHS);
        f.write_str(digits.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl FromStr for Share {
    type Err = ParseShareError;

    fn from_str(text: &str) -> Result<Share, ParseShareError> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if !matches!(whole, "0" | "1") || !is_number(decimals) || !(1..=3).contains(&decimals.len()) {
            return Err(ParseShareError);
        }
        let thousandths: u16 = format!("{whole}{decimals:0<3}").parse().map_err(|_| ParseShareError)?;
        if u64::from(thousandths) <= THOUSANDTHS { Ok(Share(thousandths)) } else { Err(ParseShareError) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_written_as_it_is_read() {
        for text in ["0", "1", "0.8", "0.85", "0.857", "0.001"] {
            assert_eq!(text.parse::<Share>().unwrap().to_string(), text);
        }
        for text in ["", "2", "1.001", "-0", "+1", ".5", "0.", "0.8571", "1e0", "0,5", "00.5", "0.5 ", "NaN"] {
            assert_eq!(text.parse::<Share>(), Err(ParseShareError), "{text}");
        }
    }

    #[test]
    fn a_counter_run_is_asked_for_in_words() {
        assert_eq!(Share::NONE.contradicted().to_string(), "with a counter-run");
        let words = Share::of(9, 10).unwrap().contradicted().to_string();
        assert_eq!(words, "whose passed tests failed with a wrong expectation, at least 0.9 of them");
    }

    #[test]
    fn a_share_is_rounded_down() {
        assert_eq!(Share::of(2, 3).unwrap().to_string(), "0.666");
        assert_eq!(Share::of(999, 1_000).unwrap().to_string(), "0.999");
        assert_eq!(Share::of(3, 3).unwrap().to_string(), "1");
        assert_eq!((Share::of(0, 0), Share::of(2, 1), Share::of(u64::MAX, u64::MAX)), (None, None, None));
    }
}
