//! The civil calendar and RFC 3339 times, as arithmetic on seconds since 1970-01-01T00:00:00Z.
//!
//! The crate has no clock, no time zones and no dependencies. Leap seconds do not exist: `:60` is refused.

use std::fmt;

/// 0001-01-01T00:00:00Z.
pub const FIRST_SECOND: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z, the last second that a year of four digits can express.
pub const LAST_SECOND: i64 = 253_402_300_799;

const SECONDS_PER_DAY: i64 = 86_400;
const MAX_FRACTION_DIGITS: usize = 9;

/// A date and time of day in the proleptic Gregorian calendar. Months and days count from 1.
///
/// `Display` writes `2009-02-13T23:31:30`, without an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    pub year: i64,
    pub month: i64,
    pub day: i64,
    pub hour: i64,
    pub minute: i64,
    pub second: i64,
}

impl Civil {
    /// The date and time of this second.
    pub fn from_seconds(seconds: i64) -> Self {
        // Rounded down, not towards zero: before 1970 too, the time of day counts from midnight.
        let (year, month, day) = civil_from_days(seconds.div_euclid(SECONDS_PER_DAY));
        let time = seconds.rem_euclid(SECONDS_PER_DAY);
        Self { year, month, day, hour: time / 3600, minute: time / 60 % 60, second: time % 60 }
    }

    /// The second of this date and time.
    pub fn seconds(&self) -> i64 {
        self.days() * SECONDS_PER_DAY + (self.hour * 60 + self.minute) * 60 + self.second
    }

    /// Days since Sunday, from 0.
    pub fn day_of_week(&self) -> i64 {
        // 1970-01-01 was a Thursday.
        (self.days() + 4).rem_euclid(7)
    }

    /// Days since the first of January, from 0.
    pub fn day_of_year(&self) -> i64 {
        self.days() - days_from_civil(self.year, 1, 1)
    }

    fn days(&self) -> i64 {
        days_from_civil(self.year, self.month, self.day)
    }
}

impl fmt::Display for Civil {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

/// Reads an RFC 3339 time, `2009-02-13T23:31:30.5Z` or with an offset such as `+02:00`, as seconds and nanoseconds.
///
/// `T` and `Z` may be in lower case. The year may be 0, so the result may be before [`FIRST_SECOND`] or, through its
/// offset, after [`LAST_SECOND`].
pub fn parse_rfc3339(text: &str) -> Option<(i64, u32)> {
    let mut reader = Reader(text.as_bytes());
    let year = reader.number(4, 0..=9999)?;
    reader.one_of(b"-")?;
    let month = reader.number(2, 1..=12)?;
    reader.one_of(b"-")?;
    let day = reader.number(2, 1..=days_in_month(year, month))?;
    reader.one_of(b"Tt")?;
    let hour = reader.number(2, 0..=23)?;
    reader.one_of(b":")?;
    let minute = reader.number(2, 0..=59)?;
    reader.one_of(b":")?;
    let second = reader.number(2, 0..=59)?;
    let nanos = reader.fraction()?;
    let offset = match reader.0 {
        [b'Z' | b'z'] => 0,
        // `offset` also reads one without a sign, which RFC 3339 does not allow.
        [b'+' | b'-', ..] => reader.offset()?,
        _ => return None,
    };
    Some((Civil { year, month, day, hour, minute, second }.seconds() - offset, nanos))
}

/// Reads an offset, `+02:00`, `-09:30` or `02:00`, as seconds east of UTC.
pub fn parse_offset(text: &str) -> Option<i64> {
    Reader(text.as_bytes()).offset()
}

/// What is left to read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    /// A number of exactly `width` digits.
    fn number(&mut self, width: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let (digits, rest) = self.0.split_at_checked(width)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        self.0 = rest;
        let value = digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        range.contains(&value).then_some(value)
    }

    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        if !bytes.contains(first) {
            return None;
        }
        self.0 = rest;
        Some(*first)
    }

    /// The nanoseconds of an optional fraction.
    fn fraction(&mut self) -> Option<u32> {
        if self.one_of(b".").is_none() {
            return Some(0);
        }
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        // Digits past the nanosecond are refused, not dropped: otherwise two times that differ would be read as one.
        if !(1..=MAX_FRACTION_DIGITS).contains(&digits) {
            return None;
        }
        let value = u32::try_from(self.number(digits, 0..=999_999_999)?).ok()?;
        let missing = u32::try_from(MAX_FRACTION_DIGITS - digits).ok()?;
        Some(value * 10_u32.pow(missing))
    }

    /// An offset, up to the end.
    fn offset(&mut self) -> Option<i64> {
        let sign = if self.one_of(b"+-") == Some(b'-') { -1 } else { 1 };
        let hours = self.number(2, 0..=23)?;
        self.one_of(b":")?;
        let minutes = self.number(2, 0..=59)?;
        self.0.is_empty().then_some(sign * (hours * 60 + minutes) * 60)
    }
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 (Howard Hinnant, *chrono-Compatible Low-Level Date Algorithms*). Years that begin in March have
/// the leap day last, so the months before a month have (153 m + 2) / 5 days.
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
    // 719 468 days lie between 0000-03-01, where an era begins, and 1970-01-01. An era of 400 years has 146 097 days.
    let shifted = days + 719_468;
    let day_of_era = shifted.rem_euclid(146_097);
    // Without the leap days before it, a day's year is its number divided by 365. The last day of an era, 146 096, is a
    // leap day too, and without the last term would count as the first day of a year that the era does not have.
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + shifted.div_euclid(146_097) * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_is_the_day_after_the_one_before() {
        let mut expected = (1, 1, 1);
        for days in FIRST_SECOND / SECONDS_PER_DAY..=LAST_SECOND.div_euclid(SECONDS_PER_DAY) {
            let (year, month, day) = expected;
            assert_eq!(civil_from_days(days), expected);
            assert_eq!(days_from_civil(year, month, day), days);
            expected = match (month, day == days_in_month(year, month)) {
                (12, true) => (year + 1, 1, 1),
                (_, true) => (year, month + 1, 1),
                (_, false) => (year, month, day + 1),
            };
        }
        assert_eq!(expected, (10_000, 1, 1));
    }

    #[test]
    fn times_are_read_and_written() {
        for (text, seconds, nanos) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("2009-02-13T23:31:30.5z", 1_234_567_890, 500_000_000),
            ("2009-02-14t01:31:30.000000001+02:00", 1_234_567_890, 1),
            ("2009-02-13T14:01:30-09:30", 1_234_567_890, 0),
            ("0001-01-01T00:00:00Z", FIRST_SECOND, 0),
            ("9999-12-31T23:59:59Z", LAST_SECOND, 0),
        ] {
            assert_eq!(parse_rfc3339(text), Some((seconds, nanos)), "{text}");
        }
        assert_eq!(Civil::from_seconds(1_234_567_890).to_string(), "2009-02-13T23:31:30");
        assert_eq!(Civil::from_seconds(1_234_567_890).day_of_week(), 5);
        assert_eq!(Civil::from_seconds(1_234_567_890).day_of_year(), 43);
        for bad in [
            "",
            "2009-02-13T23:31:30",
            "2009-02-13T23:31:60Z",
            "2009-02-13T24:00:00Z",
            "2009-02-29T00:00:00Z",
            "2009-02-13T23:31:30.Z",
            "2009-02-13T23:31:30.1234567890Z",
            "2009-02-13T23:31:30+0200",
            "2009-02-13T23:31:30+24:00",
            "2009-02-13T23:31:30Z ",
            "2009-2-13T23:31:30Z",
            "2009-02-13 23:31:30Z",
        ] {
            assert_eq!(parse_rfc3339(bad), None, "{bad}");
        }
        assert_eq!(parse_offset("-09:30"), Some(-34_200));
        assert_eq!(parse_offset("02:00"), Some(7_200));
        assert_eq!(parse_offset("+2:00"), None);
    }
}
