//! The checks of a receipt.

use proofmark_receipt::{Detail, Receipt, Results, Status};

use super::super::difference::{Part, parts};
use super::super::receipts::Look;
use super::super::text::Shown;
use super::super::words::number;

/// How wide the bar is, in units of its picture.
const WIDTH: u64 = 1_000;
/// The space between its parts.
const GAP: u64 = 6;

/// One check.
pub(crate) struct CheckRow {
    pub(crate) look: Look,
    pub(crate) name: Shown,
    pub(crate) took: Option<String>,
    /// What it is about, in the order of reading.
    pub(crate) lines: Vec<Line>,
}

/// A text of a check, in parts of which some are marked.
pub(crate) struct Line {
    pub(crate) name: &'static str,
    pub(crate) parts: Vec<Part>,
}

/// The bar: a part for what passed, for what failed and for what has no result.
pub(crate) struct Meter {
    pub(crate) parts: Vec<Bar>,
    pub(crate) words: String,
}

pub(crate) struct Bar {
    pub(crate) class: &'static str,
    pub(crate) from: u64,
    pub(crate) width: u64,
}

impl Meter {
    pub(crate) fn of(results: &Results) -> Option<Self> {
        let all = [("p", results.passed), ("f", results.failed), ("e", results.errors)];
        let total = all.iter().map(|(_, count)| count).sum::<u64>();
        if total == 0 {
            return None;
        }
        let shown: Vec<_> = all.into_iter().filter(|(_, count)| *count > 0).collect();
        let room = WIDTH.saturating_sub(GAP * (shown.len() as u64).saturating_sub(1));
        let mut from = 0;
        let parts = shown.into_iter().map(|(class, count)| {
            // By way of 128 bits: the issuer of a receipt may count as far as it likes.
            let width = u64::try_from(u128::from(room) * u128::from(count) / u128::from(total)).unwrap_or(room);
            // One failure among thousands of passes must be seen.
            let width = width.max(8);
            let bar = Bar { class, from, width };
            from += width + GAP;
            bar
        });
        let parts = parts.collect();
        let (passed, failed, errors) = (number(results.passed), number(results.failed), number(results.errors));
        Some(Self { parts, words: format!("{passed} passed, {failed} failed, {errors} without a result") })
    }
}

/// The checks that did not pass, and those that did.
pub(crate) fn checks(receipt: &Receipt) -> (Vec<CheckRow>, Vec<CheckRow>) {
    let (passed, failed): (Vec<_>, Vec<_>) =
        receipt.results().details.iter().partition(|detail| detail.status == Status::Pass);
    (failed.into_iter().map(CheckRow::of).collect(), passed.into_iter().map(CheckRow::of).collect())
}

impl CheckRow {
    fn of(detail: &Detail) -> Self {
        let look = match detail.status {
            Status::Pass => ("pass", "ok", "pass"),
            Status::Fail => ("fail", "no", "fail"),
            Status::Error => ("none", "warn", "no result"),
        };
        Self {
            look,
            name: detail.name.as_str().into(),
            took: detail.elapsed_ms.map(|took| format!("{} ms", number(took))),
            lines: lines(detail),
        }
    }
}

fn lines(detail: &Detail) -> Vec<Line> {
    // A line end behind the last line would be shown as an empty line.
    let whole = |text: &String| vec![Part { text: text.trim_end_matches('\n').into(), differs: false }];
    let (expected, came) = match (&detail.expected, &detail.actual) {
        (Some(expected), Some(came)) => {
            let (expected, came) = parts(expected, came);
            (Some(expected), Some(came))
        }
        (expected, came) => (expected.as_ref().map(whole), came.as_ref().map(whole)),
    };
    let all = [
        ("input", detail.input.as_ref().map(whole)),
        ("constraint", detail.constraint.as_ref().map(whole)),
        ("expected", expected),
        ("came", came),
        ("instead", detail.message.as_ref().map(whole)),
        ("where", detail.location.as_ref().map(whole)),
        ("difference", detail.difference.as_ref().map(whole)),
        ("output", detail.stdout.as_ref().map(whole)),
        ("errors", detail.stderr.as_ref().map(whole)),
    ];
    all.into_iter().filter_map(|(name, parts)| Some(Line { name, parts: parts? })).collect()
}
