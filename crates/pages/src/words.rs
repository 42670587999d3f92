//! Times, numbers and names as people read them.

use std::fmt;

use askama::filters::HtmlSafe;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use proofmark_receipt::Timestamp;

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// What a part of an address, or a value of a query, may have as it is (RFC 3986, section 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// How long, in words: `40 s`, `21 min`, `3 h`, `5 days`.
pub(crate) fn span(millis: i64) -> String {
    match millis {
        ..SECOND => "under 1 s".to_owned(),
        SECOND..MINUTE => format!("{} s", millis / SECOND),
        MINUTE..HOUR => format!("{} min", millis / MINUTE),
        HOUR..DAY => match millis % HOUR / MINUTE {
            0 => format!("{} h", millis / HOUR),
            minutes => format!("{} h {minutes} min", millis / HOUR),
        },
        _ => counted(u64::try_from(millis / DAY).unwrap_or_default(), "day"),
    }
}

/// How long ago, in words.
pub(crate) fn ago(now: i64, then: i64) -> String {
    match now.saturating_sub(then) {
        // Also of a moment that is still to come: the clocks of two machines differ a little.
        ..SECOND => "just now".to_owned(),
        millis => format!("{} ago", span(millis)),
    }
}

/// A number of things, with its thousands apart: `1 decision`, `10,000 decisions`.
pub(crate) fn counted(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", number(count), if count == 1 { "" } else { "s" })
}

/// A number with its thousands apart.
pub(crate) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut apart = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// A small number as a word at the beginning of a sentence; a larger one in digits.
pub(crate) fn spelled(count: u64) -> String {
    const WORDS: [&str; 13] =
        ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten", "Eleven", "Twelve"];
    let word = usize::try_from(count).ok().and_then(|count| WORDS.get(count));
    word.map_or_else(|| number(count), |word| (*word).to_owned())
}

/// A digest or a key, short enough for a line: its beginning and its end.
pub(crate) fn short_digest(text: &str) -> String {
    const HEAD: usize = 8;
    let (kind, digits) = text.split_once(':').map_or(("", text), |(kind, digits)| (kind, digits));
    let tail = digits.len().checked_sub(HEAD).and_then(|from| digits.get(from..));
    match (digits.get(..HEAD), tail) {
        // Of a text that is hardly longer, the middle is shown too: leaving it out would save nothing.
        (Some(head), Some(tail)) if digits.len() > 2 * HEAD => {
            format!("{kind}{}{head}…{tail}", if kind.is_empty() { "" } else { ":" })
        }
        _ => text.to_owned(),
    }
}

/// Enough of an id to tell it from others on a page.
pub(crate) fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

/// A word of the format as people write it: `prompt_injection` becomes `prompt injection`.
pub(crate) fn spaced(word: &str) -> String {
    word.replace('_', " ")
}

/// A text as one part of a path, or as a value of a query.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// An address with those of these parameters that have a value.
pub(crate) fn address(path: &str, pairs: &[(&str, &str)]) -> String {
    // A form sends its empty fields too, and a link is meant to be read.
    let pairs = pairs.iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<_> = pairs.map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) }
}

/// A moment as a `time` element, in UTC; a script adds the reader's own time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct When {
    millis: i64,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Full,
    Clock,
    Ago(i64),
}

impl When {
    /// As in `21 Nov 2026, 18:01:12 UTC`.
    pub(crate) fn full(millis: i64) -> Self {
        Self { millis, form: Form::Full }
    }

    /// As in `18:01:12`.
    pub(crate) fn clock(millis: i64) -> Self {
        Self { millis, form: Form::Clock }
    }

    /// As in `40 s ago`.
    pub(crate) fn ago(now: i64, millis: i64) -> Self {
        Self { millis, form: Form::Ago(now) }
    }

    /// The words, without markup.
    pub(crate) fn words(self) -> String {
        match self.form {
            Form::Full => date_and_time(self.millis),
            Form::Clock => clock(self.millis),
            Form::Ago(now) => ago(now, self.millis),
        }
    }
}

impl HtmlSafe for When {}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stamp, form) = (
            Timestamp::from_unix_millis(self.millis),
            match self.form {
                Form::Full => "full",
                Form::Clock => "clock",
                Form::Ago(_) => "ago",
            },
        );
        let title = match self.form {
            Form::Full => String::new(),
            Form::Clock | Form::Ago(_) => format!(" title=\"{}\"", date_and_time(self.millis)),
        };
        // All parts are digits and words of ours, so nothing has to be escaped.
        write!(f, "<time datetime=\"{stamp}\" data-form=\"{form}\"{title}>{}</time>", self.words())
    }
}

fn date_and_time(millis: i64) -> String {
    format!("{}, {} UTC", date(millis), clock(millis))
}

/// As in `21 Nov 2026`.
pub(crate) fn date(millis: i64) -> String {
    let stamp = Timestamp::from_unix_millis(millis);
    let text = stamp.as_str();
    let month = text.get(5..7).and_then(|month| month.parse::<usize>().ok()).and_then(|month| month.checked_sub(1));
    let month = month.and_then(|month| MONTHS.get(month)).copied().unwrap_or_default();
    let day = text.get(8..10).unwrap_or_default();
    format!("{} {month} {}", day.strip_prefix('0').unwrap_or(day), text.get(..4).unwrap_or_default())
}

/// As in `18:01:12`, in UTC.
fn clock(millis: i64) -> String {
    Timestamp::from_unix_millis(millis).as_str().get(11..19).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_numbers_are_words() {
        let spans = [0, 999, 40_000, 21 * MINUTE, 3 * HOUR, 3 * HOUR + 5 * MINUTE, DAY, 9 * DAY].map(span);
        assert_eq!(spans, ["under 1 s", "under 1 s", "40 s", "21 min", "3 h", "3 h 5 min", "1 day", "9 days"]);
        assert_eq!((ago(5, 9), ago(60_000, 0)), ("just now".to_owned(), "1 min ago".to_owned()));
        assert_eq!([1, 999, 1_000, 1_234_567].map(number), ["1", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 3, 12, 13].map(spelled), ["No", "Three", "Twelve", "13"]);
        assert_eq!(counted(1, "decision") + &counted(2, "decision"), "1 decision2 decisions");
    }

    #[test]
    fn times_and_names_are_short() {
        let when = When::full(1_795_284_072_000);
        assert_eq!(when.words(), "21 Nov 2026, 18:01:12 UTC");
        assert!(when.to_string().starts_with("<time datetime=\"2026-11-21T18:01:12"), "{when}");
        assert_eq!(short_digest(&format!("sha256:{}", "0123456789".repeat(6))), "sha256:01234567…23456789");
        assert_eq!(
            (short_digest("sha256:00"), short_id("01234567-89"), short_id("0")),
            ("sha256:00".into(), "01234567", "0")
        );
        assert_eq!(encoded("a/b c?d=é"), "a%2Fb%20c%3Fd%3D%C3%A9");
    }
}
