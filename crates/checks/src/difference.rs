//! How an answer differs from the expected one, in lines for people.
//!
//! The text begins with the place of the first difference. Lines of the expected side begin with `- `, those of the answer
//! with `+ `, and equal ones with two blanks. Whatever counts as equal is written the same on both sides. The submission
//! chooses the answer, so every search here is limited, and what was not compared is not shown.

use crate::compare::{Rules, Tolerance};
use crate::render::Notation;
use crate::suite::TextRule;
use crate::value::Value;

mod align;
mod page;
mod show;
mod text;
mod trail;
mod walk;

pub(crate) use page::{MAX_DIFFERENCE_CHARS, shortened};

/// The longest value or line that is shown as one line, in characters.
const MAX_LINE_CHARS: usize = 60;

/// How two values are compared and written.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    pub(crate) rules: Rules,
    pub(crate) tolerance: Option<Tolerance>,
    pub(crate) notation: &'static Notation,
}

/// Where two texts or values differ first, and how.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Difference {
    /// At most [`MAX_DIFFERENCE_CHARS`] characters; `None` for a pair that says it itself.
    pub(crate) text: Option<String>,
    /// The byte of the first difference in the expected value as it is written out in full.
    pub(crate) expected_at: usize,
    /// The same of the answer.
    pub(crate) answer_at: usize,
}

/// How an answer differs from an expected value; `None` where they are equal.
pub(crate) fn of_values(expected: &Value, answer: &Value, by: Comparison) -> Option<Difference> {
    let found = walk::differ(expected, answer, by)?;
    let trail = trail::of(&found, expected, answer, by.notation);
    let text = match (expected, answer) {
        (Value::Text(expected), Value::Text(answer)) if [expected, answer].iter().any(|text| text.contains('\n')) => {
            text::of(expected.as_bytes(), answer.as_bytes(), TextRule::Exact).text
        }
        _ if trail.is_plain => None,
        _ => Some(show::page(&found, &trail, by)),
    };
    Some(Difference { text, expected_at: trail.expected_at, answer_at: trail.answer_at })
}

/// How an output that is not the expected text differs from it.
pub(crate) fn of_texts(expected: &str, output: &[u8], rule: TextRule) -> Difference {
    text::of(expected.as_bytes(), output, rule)
}

#[cfg(test)]
mod tests;
