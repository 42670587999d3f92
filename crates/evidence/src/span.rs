//! Spans of time and expiry times, as rules write them: `90s`, `1h30m`, `7d`; `2030-12-31`.

use proofmark_receipt::Timestamp;
use proofmark_receipt::document::{Cause, DocumentError, Field, counted, shown};

const UNITS: [(&str, i64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", DAY_MILLIS)];
const DAY_MILLIS: i64 = 86_400_000;

/// Reads a span, more than zero, in milliseconds.
///
/// # Errors
/// [`DocumentError`] names the field and shows the form.
pub fn read(field: &Field<'_>) -> Result<i64, DocumentError> {
    let text = field.text()?;
    millis(text).ok_or_else(|| {
        let error = field.error(Cause::InvalidValue, format!("`{}` is not a span of time", shown(text)));
        error.with_help("write whole numbers with `ms`, `s`, `m`, `h` or `d`, as in `90s` or `1h30m`")
    })
}

/// The milliseconds of a span such as `90s`, `1h30m` or `7d`; `None` when the text is not a span, or zero.
#[must_use]
pub fn millis(text: &str) -> Option<i64> {
    let mut total: i64 = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, after) = rest.split_at_checked(digits)?;
        let letters = after.bytes().take_while(u8::is_ascii_lowercase).count();
        let (unit, after) = after.split_at_checked(letters)?;
        let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(*millis)?)?;
        rest = after;
    }
    (total > 0).then_some(total)
}

/// A span in words, in the largest unit that fits without a rest: `1 hour`, `90 seconds`.
#[must_use]
pub fn words(millis: i64) -> String {
    const NAMES: [(i64, &str); 5] =
        [(DAY_MILLIS, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"), (1, "millisecond")];
    let fits = NAMES.iter().find(|(unit, _)| millis % unit == 0);
    let (unit, name) = fits.copied().unwrap_or((1, "millisecond"));
    counted((millis / unit).unsigned_abs(), name)
}

/// Reads an expiry: a UTC time, or a day, at whose end it is.
///
/// # Errors
/// [`DocumentError`] names the field and shows the form.
pub fn read_end(field: &Field<'_>) -> Result<Timestamp, DocumentError> {
    let text = field.text()?;
    // The day that is written is the last one, so the end is the beginning of the next.
    let day =
        || format!("{text}T00:00:00Z").parse::<Timestamp>().map(|day| day.unix_millis().saturating_add(DAY_MILLIS));
    let end = text.parse::<Timestamp>().or_else(|_| day().map(Timestamp::from_unix_millis));
    end.map_err(|_| {
        let error = field.error(Cause::InvalidValue, format!("`{}` is not a day or a UTC time", shown(text)));
        error.with_help("write `2030-12-31` or `2030-12-31T12:00:00Z`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_whole_numbers_with_units() {
        for (text, expected) in [
            ("24h", 86_400_000),
            ("250ms", 250),
            ("7d", 604_800_000),
            ("1h30m", 5_400_000),
            ("1d2h3m4s5ms", 93_784_005),
        ] {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        for wrong in ["", "h", "24", "-1h", "1.5h", "0s", "1y", "1h 30m", "1h30", "99999999999999999999d", "ä", "1H"] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }
}
