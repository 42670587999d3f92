use std::fmt;
use std::str::FromStr;

use proofmark_calendar::{Civil, FIRST_SECOND, LAST_SECOND, parse_rfc3339};
use thiserror::Error;

use crate::shown;

const NANOS_PER_MILLI: u32 = 1_000_000;
/// 0001-01-01T00:00:00.000Z.
const FIRST_MILLI: i64 = FIRST_SECOND * 1000;
/// 9999-12-31T23:59:59.999Z.
const LAST_MILLI: i64 = LAST_SECOND * 1000 + 999;

/// An instant in UTC, with the ISO 8601 text it was written with.
///
/// Read: `2026-02-19T00:46:00`, an optional fraction, then `Z` or `+00:00`. The calendar is checked; a leap second
/// (`:60`) and midnight as `24:00` are refused.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Timestamp {
    text: String,
    unix_millis: i64,
}

/// The text is not an instant in UTC.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not an ISO 8601 time in UTC")]
pub struct ParseTimestampError(String);

impl ParseTimestampError {
    /// What to write instead.
    pub fn help(&self) -> Option<String> {
        Some("write it as in `2026-02-19T00:46:00Z`".to_owned())
    }
}

impl Timestamp {
    /// The instant this many milliseconds after 1970-01-01T00:00:00Z; beyond the years 1 to 9999, the nearest in them.
    pub fn from_unix_millis(millis: i64) -> Self {
        let unix_millis = millis.clamp(FIRST_MILLI, LAST_MILLI);
        // Euclidean, because the fraction counts forward before 1970, too: -1 ms is 23:59:59.999 of the day before.
        let civil = Civil::from_seconds(unix_millis.div_euclid(1000));
        let text = format!("{civil}.{:03}Z", unix_millis.rem_euclid(1000));
        Self { text, unix_millis }
    }

    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Milliseconds after 1970-01-01T00:00:00Z; finer fractions are cut off.
    pub fn unix_millis(&self) -> i64 {
        self.unix_millis
    }

    /// Whole seconds after 1970-01-01T00:00:00Z, as formats without a sign have them: 0 before.
    pub fn unix_seconds(&self) -> u64 {
        u64::try_from(self.unix_millis.div_euclid(1000)).unwrap_or_default()
    }
}

impl FromStr for Timestamp {
    type Err = ParseTimestampError;

    fn from_str(text: &str) -> Result<Self, ParseTimestampError> {
        match read(text) {
            Some(unix_millis) => Ok(Self { text: text.to_owned(), unix_millis }),
            None => Err(ParseTimestampError(shown(text))),
        }
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn read(text: &str) -> Option<i64> {
    // One spelling of each part: a receipt is hashed as text.
    // `-00:00` is an unknown local offset (RFC 3339, section 4.3).
    let utc = text.ends_with('Z') || text.ends_with("+00:00");
    if !utc || text.as_bytes().get(10) != Some(&b'T') {
        return None;
    }
    let (seconds, nanos) = parse_rfc3339(text)?;
    let in_range = (FIRST_SECOND..=LAST_SECOND).contains(&seconds);
    if in_range { Some(seconds * 1000 + i64::from(nanos / NANOS_PER_MILLI)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_what_it_reads() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_771_461_960_123, "2026-02-19T00:46:00.123Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (LAST_MILLI, "9999-12-31T23:59:59.999Z"),
            (FIRST_MILLI, "0001-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp::from_unix_millis(millis).as_str(), text);
            assert_eq!(text.parse::<Timestamp>().unwrap().unix_millis(), millis);
        }
        assert_eq!(Timestamp::from_unix_millis(i64::MAX).unix_millis(), LAST_MILLI);
    }

    #[test]
    fn reads_utc_only() {
        for good in ["2026-02-19T00:46:00Z", "2026-02-19T00:46:00.5+00:00", "2024-02-29T23:59:59.123456Z"] {
            assert_eq!(good.parse::<Timestamp>().unwrap().as_str(), good);
        }
        for bad in [
            "2026-02-19T00:46:00",
            "2026-02-19T00:46:00+01:00",
            "2026-02-19T00:46:00-00:00",
            "2026-02-19 00:46:00Z",
            "2026-02-29T00:46:00Z",
            "2026-13-01T00:46:00Z",
            "2026-00-01T00:46:00Z",
            "2026-02-19T24:00:00Z",
            "2026-02-19T23:59:60Z",
            "2026-02-19T00:46Z",
            "2026-02-19T00:46:00.Z",
            "2026-2-19T00:46:00Z",
            "+026-02-19T00:46:00Z",
            "2026-02-19T00:46:00z",
            "0000-01-01T00:00:00Z",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
    }
}
