//! Points and spans of time as pure values. There is no clock: the present is a fact.

use std::fmt;
use std::str::FromStr;

use proofmark_calendar::{Civil, FIRST_SECOND, LAST_SECOND, parse_rfc3339};

const NANOS_PER_SECOND: i64 = 1_000_000_000;
/// Spans longer than about 292 years do not fit 64-bit nanoseconds.
// `ms` stands before `m`: the first unit that the text begins with is taken.
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
        // In 128 bits, since nanoseconds since 1970 leave 64 bits in the year 2262.
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
        let civil = Civil::from_seconds(self.seconds + offset_seconds);
        match field {
            Field::FullYear => civil.year,
            // CEL counts months and `getDayOfMonth` from 0, but `getDate` from 1.
            Field::Month => civil.month - 1,
            Field::Date => civil.day,
            Field::DayOfMonth => civil.day - 1,
            Field::DayOfWeek => civil.day_of_week(),
            Field::DayOfYear => civil.day_of_year(),
            Field::Hours => civil.hour,
            Field::Minutes => civil.minute,
            Field::Seconds => civil.second,
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
    proofmark_calendar::parse_offset(text).ok_or(TimeError::Malformed)
}

impl FromStr for Timestamp {
    type Err = TimeError;

    /// Reads RFC 3339, `2009-02-13T23:31:30.5Z` or with an offset. A leap second is refused.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let (seconds, nanos) = parse_rfc3339(text).ok_or(TimeError::Malformed)?;
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
            // Units may repeat and come in any order, as in Go, so this bounds the sum.
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
    // 15 digits times the nanoseconds of an hour, 16 times over, are far below 2^127.
    if whole.len() > 15 || fraction.len() > 15 {
        return Err(TimeError::OutOfRange);
    }
    // The caller passes digits and points only, so all that fails to parse is an empty half, as in `.5s` or `1.s`.
    let read = |digits: &str| digits.parse::<i128>().unwrap_or(0);
    let scale = 10i128.pow(u32::try_from(fraction.len()).unwrap_or(0));
    let unit = i128::from(unit);
    Ok(read(whole) * unit + read(fraction) * unit / scale)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Civil::from_seconds(self.seconds))?;
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
