//! Spans of time as contracts write them: `90s`, `24h`, `7d`.

use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// A whole number and a unit, in milliseconds.
pub(crate) fn read(field: &Field<'_>) -> Result<u64, DocumentError> {
    let text = field.text()?;
    millis(text).ok_or_else(|| {
        let message =
            format!("`{}` is no span of time; write a whole number and `ms`, `s`, `m`, `h` or `d`", shown(text));
        field.error(Cause::InvalidValue, message)
    })
}

fn millis(text: &str) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*millis).filter(|span| *span > 0)
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn reads_whole_numbers_with_a_unit() {
        assert_eq!(millis("24h"), Some(86_400_000));
        assert_eq!(millis("250ms"), Some(250));
        assert_eq!(millis("7d"), Some(604_800_000));
        for wrong in ["", "h", "24", "-1h", "1.5h", "0s", "1y", "99999999999999999999d", "ä"] {
            assert_eq!(millis(wrong), None, "{wrong}");
        }
    }
}
