//! Points and spans of time as pure values. There is no clock: the present is a fact.

use std::fmt;
use std::str::FromStr;

const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// 0001-01-01T00:00:00Z, in seconds from 1970.
const FIRST_SECOND: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z, in seconds from 1970.
const LAST_SECOND: i64 = 253_402_300_799;
/// Spans longer than about 292 years do not fit 64-bit nanoseconds.
const DURATION_UNITS: [(&str, i64); 7] = [
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
    ("h", 3_600 * NANOS_PER_SECOND),
    ("m", 60 * NANOS_PER_SECOND),
    ("s", NANOS_PER_SECOND),
];

/// A point in time between the years 1 and 9999, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp {
    seconds: i64,
    nanos: u32,
}

/// A span of time in nanoseconds, up to about 292 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration {
    nanos: i64,
}

/// Why a time cannot be read or computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    #[error("the text is not an RFC 3339 time, a duration such as `1h30m`, or an offset such as `+02:00`")]
    Malformed,
    /// The time is outside the years 1 to 9999, or the span past 292 years.
    #[error("the time is out of range")]
    OutOfRange,
}

/// The fields of a calendar date and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    FullYear,
    Month,
    Date,
    DayOfMonth,
    DayOfWeek,
    DayOfYear,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

impl Timestamp {
    /// The point `seconds` after 1970-01-01T00:00:00Z.
    ///
    /// # Errors
    /// [`TimeError::OutOfRange`] outside the years 1 to 9999.
    pub fn from_seconds(seconds: i64) -> Result<Self, TimeError> {
        Self::new(i128::from(seconds) * i128::from(NANOS_PER_SECOND))
    }

    /// Whole seconds since 1970-01-01T00:00:00Z, rounded down.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.seconds
    }

    /// The point a span later.
    ///
    /// # Errors
    /// [`TimeError::OutOfRange`].
    pub fn plus(self, span: Duration) -> Result<Self, TimeError> {
        Self::new(self.total_nanos() + i128::from(span.nanos))
    }

    /// The point a span earlier.
    ///
    /// # Errors
    /// [`TimeError::OutOfRange`].
    pub fn minus(self, span: Duration) -> Result<Self, TimeError> {
        Self::new(self.total_nanos() - i128::from(span.nanos))
    }

    /// The span from an earlier point to this one.
    ///
    /// # Errors
    /// [`TimeError::OutOfRange`] when the span is past 292 years.
    pub fn since(self, earlier: Self) -> Result<Duration, TimeError> {
        Duration::new(self.total_nanos() - earlier.total_nanos())
    }

    pub(crate) fn field(self, field: Field, offset_seconds: i64) -> i64 {
        let local = self.seconds + offset_seconds;
        let days = local.div_euclid(SECONDS_PER_DAY);
        let second = local.rem_euclid(SECONDS_PER_DAY);
        let (year, month, day) = civil_from_days(days);
        match field {
            Field::FullYear => year,
            Field::Month => month - 1,
            Field::Date => day,
            Field::DayOfMonth => day - 1,
            Field::DayOfWeek => (days + 4).rem_euclid(7),
            Field::DayOfYear => days - days_from_civil(year, 1, 1),
            Field::Hours => second / 3600,
            Field::Minutes => second / 60 % 60,
            Field::Seconds => second % 60,
            Field::Milliseconds => i64::from(self.nanos / 1_000_000),
        }
    }

    fn new(total_nanos: i128) -> Result<Self, TimeError> {
        let per_second = i128::from(NANOS_PER_SECOND);
        let seconds = i64::try_from(total_nanos.div_euclid(per_second));
        let nanos = u32::try_from(total_nanos.rem_euclid(per_second));
        match (seconds, nanos) {
            (Ok(seconds @ FIRST_SECOND..=LAST_SECOND), Ok(nanos)) => Ok(Self { seconds, nanos }),
            _ => Err(TimeError::OutOfRange),
        }
    }

    fn total_nanos(self) -> i128 {
        i128::from(self.seconds) * i128::from(NANOS_PER_SECOND) + i128::from(self.nanos)
    }
}

impl Duration {
    /// A span of so many nanoseconds.
    #[must_use]
    pub fn from_nanos(nanos: i64) -> Self {
        Self { nanos }
    }

    /// Whole seconds, rounded towards zero.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.nanos / NANOS_PER_SECOND
    }

    /// The sum of two spans.
    ///
    /// # Errors
    /// [`TimeError::OutOfRange`].
    pub fn plus(self, other: Self) -> Result<Self, TimeError> {
        Self::new(i128::from(self.nanos) + i128::from(other.nanos))
    }

    /// The difference of two spans.
    ///
    /// # Errors
    /// [`TimeError::OutOfRange`].
    pub fn minus(self, other: Self) -> Result<Self, TimeError> {
        Self::new(i128::from(self.nanos) - i128::from(other.nanos))
    }

    /// Whole hours, minutes or seconds of the span, or its milliseconds past the second.
    pub(crate) fn field(self, field: Field) -> Option<i64> {
        Some(match field {
            Field::Hours => self.seconds() / 3600,
            Field::Minutes => self.seconds() / 60,
            Field::Seconds => self.seconds(),
            Field::Milliseconds => self.nanos % NANOS_PER_SECOND / 1_000_000,
            _ => return None,
        })
    }

    fn new(nanos: i128) -> Result<Self, TimeError> {
        i64::try_from(nanos).map(Self::from_nanos).map_err(|_| TimeError::OutOfRange)
    }
}

/// The seconds east of UTC that `UTC`, `+02:00`, `-09:30` or `02:00` stand for. Names of time
/// zones are left out: their database changes, and decisions have to replay.
pub(crate) fn parse_offset(text: &str) -> Result<i64, TimeError> {
    if matches!(text, "UTC" | "Z") {
        return Ok(0);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let mut reader = Reader(unsigned.as_bytes());
    let hours = reader.number(2, 0, 23)?;
    reader.expect(b':')?;
    let minutes = reader.number(2, 0, 59)?;
    reader.end()?;
    let seconds = hours * 3600 + minutes * 60;
    Ok(if text.starts_with('-') { -seconds } else { seconds })
}

impl FromStr for Timestamp {
    type Err = TimeError;

    /// Reads RFC 3339, `2009-02-13T23:31:30.5Z` or with an offset. A leap second is refused.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let mut reader = Reader(text.as_bytes());
        let year = reader.number(4, 0, 9999)?;
        reader.expect(b'-')?;
        let month = reader.number(2, 1, 12)?;
        reader.expect(b'-')?;
        let day = reader.number(2, 1, days_in_month(year, month))?;
        reader.expect_one_of(b"Tt")?;
        let hour = reader.number(2, 0, 23)?;
        reader.expect(b':')?;
        let minute = reader.number(2, 0, 59)?;
        reader.expect(b':')?;
        let second = reader.number(2, 0, 59)?;
        let nanos = reader.fraction()?;
        let offset = match reader.0 {
            [b'Z' | b'z'] => 0,
            [b'+' | b'-', ..] => {
                let rest = std::str::from_utf8(reader.0).map_err(|_| TimeError::Malformed)?;
                parse_offset(rest)?
            }
            _ => return Err(TimeError::Malformed),
        };
        let seconds = days_from_civil(year, month, day) * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second - offset;
        Self::new(i128::from(seconds) * i128::from(NANOS_PER_SECOND) + i128::from(nanos))
    }
}

impl FromStr for Duration {
    type Err = TimeError;

    /// Reads numbers with units, `1h30m`, `-1.5s`, `250ms`.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
        if rest == "0" {
            return Ok(Self::from_nanos(0));
        }
        let mut total = 0i128;
        let mut parts = 0;
        while !rest.is_empty() {
            let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
            let (number, tail) = rest.split_at(digits);
            let (unit, nanos) =
                DURATION_UNITS.iter().find(|(unit, _)| tail.starts_with(unit)).ok_or(TimeError::Malformed)?;
            total += scaled_nanos(number, *nanos)?;
            rest = tail.strip_prefix(unit).unwrap_or_default();
            parts += 1;
            if parts > 16 {
                return Err(TimeError::Malformed);
            }
        }
        if parts == 0 {
            return Err(TimeError::Malformed);
        }
        Self::new(if text.starts_with('-') { -total } else { total })
    }
}

/// A decimal count of a unit in nanoseconds; fractions of a nanosecond are dropped.
fn scaled_nanos(number: &str, unit: i64) -> Result<i128, TimeError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(TimeError::Malformed);
    }
    if whole.len() > 15 || fraction.len() > 15 {
        return Err(TimeError::OutOfRange);
    }
    let read = |digits: &str| digits.parse::<i128>().unwrap_or(0);
    let scale = 10i128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let unit = i128::from(unit);
    Ok(read(whole) * unit + read(fraction) * unit / scale)
}

/// The rest of a text that is being read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self, width: usize, least: i64, most: i64) -> Result<i64, TimeError> {
        let (digits, rest) = self.0.split_at_checked(width).ok_or(TimeError::Malformed)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(TimeError::Malformed);
        }
        self.0 = rest;
        let value = digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        (least..=most).contains(&value).then_some(value).ok_or(TimeError::Malformed)
    }

    fn expect(&mut self, byte: u8) -> Result<(), TimeError> {
        self.expect_one_of(&[byte])
    }

    fn expect_one_of(&mut self, bytes: &[u8]) -> Result<(), TimeError> {
        match self.0 {
            [first, rest @ ..] if bytes.contains(first) => {
                self.0 = rest;
                Ok(())
            }
            _ => Err(TimeError::Malformed),
        }
    }

    /// The nanoseconds of an optional fraction of up to nine digits.
    fn fraction(&mut self) -> Result<i64, TimeError> {
        if self.expect(b'.').is_err() {
            return Ok(0);
        }
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=9).contains(&digits) {
            return Err(TimeError::Malformed);
        }
        let value = self.number(digits, 0, NANOS_PER_SECOND - 1)?;
        Ok(value * 10i64.pow(9 - u32::try_from(digits).unwrap_or(9)))
    }

    fn end(&self) -> Result<(), TimeError> {
        self.0.is_empty().then_some(()).ok_or(TimeError::Malformed)
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

/// Days from 1970-01-01 in the proleptic Gregorian calendar. Counting years from March puts the
/// leap day last, so that month lengths follow (153 m + 2) / 5.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The year, month (from 1) and day (from 1) of a day counted from 1970-01-01.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + shifted.div_euclid(146_097) * 400 + i64::from(month <= 2);
    (year, month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = |field| self.field(field, 0);
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
            field(Field::FullYear),
            field(Field::Month) + 1,
            field(Field::Date),
            field(Field::Hours),
            field(Field::Minutes),
            field(Field::Seconds),
        )?;
        write_fraction(f, self.nanos)?;
        f.write_str("Z")
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.nanos < 0 { "-" } else { "" };
        let nanos = self.nanos.unsigned_abs();
        let per_second = NANOS_PER_SECOND.unsigned_abs();
        write!(f, "{sign}{}", nanos / per_second)?;
        write_fraction(f, u32::try_from(nanos % per_second).unwrap_or(0))?;
        f.write_str("s")
    }
}

fn write_fraction(f: &mut fmt::Formatter<'_>, nanos: u32) -> fmt::Result {
    if nanos == 0 {
        return Ok(());
    }
    write!(f, ".{}", format!("{nanos:09}").trim_end_matches('0'))
}
