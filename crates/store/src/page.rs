use std::fmt;
use std::str::FromStr;

use proofmark_receipt::Verdict;
use thiserror::Error;

use crate::kept::StoredReceipt;

/// The most receipts one page has; a larger limit gives this many.
pub const MAX_PAGE: usize = 1000;

/// Which receipts to list. What is `None` does not narrow the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Only those with this verdict.
    pub verdict: Option<Verdict>,
    /// Only those of this tier.
    pub tier: Option<u8>,
    /// Only those for this task.
    pub task_id: Option<String>,
    /// Only those of this chain.
    pub chain: Option<String>,
    /// Only those this signer signed, in the spelling of [`proofmark_receipt::SignerId`].
    pub signer: Option<String>,
    /// Only those verified at or after this time, in milliseconds after 1970-01-01T00:00:00Z.
    pub since: Option<i64>,
    /// Only those verified before this time.
    pub until: Option<i64>,
    /// How many at most: 1 to [`MAX_PAGE`]; what is outside is taken as the nearest of them.
    pub limit: usize,
    /// Only those after this place.
    pub after: Option<Cursor>,
}

impl Default for Filter {
    /// The 50 newest receipts.
    fn default() -> Self {
        Self {
            verdict: None,
            tier: None,
            task_id: None,
            chain: None,
            signer: None,
            since: None,
            until: None,
            limit: 50,
            after: None,
        }
    }
}

/// Some of the receipts a filter lets through, newest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Page {
    /// The receipts, in the reverse order of their being kept.
    pub receipts: Vec<StoredReceipt>,
    /// How many more there are in this place that are not as they were kept, and so cannot be read.
    pub unreadable: usize,
    /// Where the next page begins; none when this is the last.
    pub next: Option<Cursor>,
}

/// A place in a list that stays the same while receipts are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor(pub(crate) i64);

/// The text is not a cursor.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not a cursor; pass on what the page before gave")]
pub struct ParseCursorError(String);

impl FromStr for Cursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let digits = text.strip_prefix('s').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
        let place = digits.and_then(|digits| digits.parse().ok());
        place.map(Self).ok_or_else(|| ParseCursorError(text.chars().take(40).collect()))
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}
