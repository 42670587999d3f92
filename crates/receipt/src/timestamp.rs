use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::shown;

const MILLIS_PER_DAY: i64 = 86_400_000;
/// 9999-12-31T23:59:59.999Z, the last instant a four-digit year can hold.
const LAST_MILLI: i64 = 253_402_300_799_999;
/// 0001-01-01T00:00:00.000Z.
const FIRST_MILLI: i64 = -62_135_596_800_000;

/// An instant in UTC as ISO 8601 writes it, kept as written.
///
/// Read: `2026-02-19T00:46:00`, an optional fraction, then `Z` or `+00:00`. The calendar is checked; a leap second
/// (`:60`) and the day's end as `24:00` are refused.
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
        let (year, month, day) = civil_from_days(unix_millis.div_euclid(MILLIS_PER_DAY));
        let time = unix_millis.rem_euclid(MILLIS_PER_DAY);
        let (hour, minute) = (time / 3_600_000, time / 60_000 % 60);
        let (second, milli) = (time / 1000 % 60, time % 1000);
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z");
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
    let local = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"))?;
    let (date, time) = local.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let (clock, fraction) = match time.split_once('.') {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (time, None),
    };
    let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
    let valid = year >= 1
        && (1..=12).contains(&month)
        && (1..=days_in_month(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second < 60;
    let millis = fraction.map_or(Some(0), milliseconds)?;
    let seconds = (hour * 60 + minute) * 60 + second;
    valid.then(|| days_from_civil(year, month, day) * MILLIS_PER_DAY + seconds * 1000 + millis)
}

/// Three groups of digits of these widths.
fn numbers(text: &str, separator: char, widths: [usize; 3]) -> Option<[i64; 3]> {
    let mut groups = text.split(separator);
    let mut read = [0; 3];
    for (slot, width) in read.iter_mut().zip(widths) {
        let group = groups.next().filter(|group| group.len() == width)?;
        *slot = digits(group)?;
    }
    groups.next().is_none().then_some(read)
}

fn digits(text: &str) -> Option<i64> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// One to nine digits after the point.
fn milliseconds(fraction: &str) -> Option<i64> {
    if fraction.len() > 9 {
        return None;
    }
    digits(fraction)?;
    digits(&format!("{fraction:0<3}").chars().take(3).collect::<String>())
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, in the Gregorian calendar (Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
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
