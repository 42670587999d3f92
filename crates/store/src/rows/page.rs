//! Pages of a list.

use std::fmt;
use std::str::FromStr;

use proofmark_receipt::document::shown;
use thiserror::Error;

/// The most runs, findings or decisions one listing has.
pub const MAX_LISTED: usize = 1000;

/// The most receipts one page has; a larger limit gives this many.
pub const MAX_PAGE: usize = 1000;

/// A place in a list that stays the same while receipts are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor(pub(crate) i64);

impl Cursor {
    /// Behind every place.
    pub const LAST: Self = Self(i64::MAX);
}

/// The text is not a cursor.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("read the cursor `{0}`")]
pub struct ParseCursorError(String);

impl ParseCursorError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        Some("pass on the `next` of the page before")
    }
}

impl FromStr for Cursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        // `parse` alone would accept a sign.
        let digits = text.strip_prefix('s').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let place = digits.and_then(|digits| digits.parse().ok());
        place.map(Self).ok_or_else(|| ParseCursorError(shown(text)))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// One more than asked for is looked up: it tells whether there is a next page.
pub(crate) fn one_more(limit: usize) -> usize {
    limit.saturating_add(1)
}

/// The first `limit` of what was found, and where the next page begins, if there is more.
pub(crate) fn cut<T>(mut found: Vec<(i64, T)>, limit: usize) -> (Vec<T>, Option<Cursor>) {
    let more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().map(|(sequence, _)| Cursor(*sequence));
    (found.into_iter().map(|(_, item)| item).collect(), last.filter(|_| more))
}
