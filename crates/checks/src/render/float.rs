//! Doubles in the shortest digits that read back as the same double, as Python, JavaScript and JSON write them.

use super::Floats;

/// A double in one notation.
pub(super) fn text(number: f64, notation: &Floats) -> String {
    if number.is_nan() {
        return notation.not_a_number.to_owned();
    }
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}{}", notation.infinity);
    }
    let (digits, exponent) = shortest(number);
    let body = if notation.plain.contains(&exponent) {
        fixed(&digits, exponent, notation.whole)
    } else {
        scientific(&digits, exponent, notation)
    };
    format!("{sign}{body}")
}

/// A complex number as Python writes it.
pub(super) fn complex(re: f64, im: f64, notation: &Floats) -> String {
    let part = |number: f64| {
        let text = text(number, notation);
        text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
    };
    // A real part of -0.0 is written: Python has `(-0+1j)` for it, which is not `1j`.
    if re == 0.0 && re.is_sign_positive() {
        return format!("{}j", part(im));
    }
    // `text` writes NaN without a sign, whatever its sign bit says.
    let plus = if im.is_sign_negative() && !im.is_nan() { "" } else { "+" };
    format!("({}{plus}{}j)", part(re), part(im))
}

/// Digits without a point, and the decimal exponent of the first digit.
fn shortest(number: f64) -> (String, i32) {
    // Rust's `{:e}` has the shortest digits that read back as the same double; the rest only moves the point.
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.replace('.', ""), exponent.parse().unwrap_or_default())
}

fn fixed(digits: &str, exponent: i32, integer_mark: &str) -> String {
    if exponent < 0 {
        let zeros = usize::try_from(-exponent - 1).unwrap_or_default();
        return format!("0.{}{digits}", "0".repeat(zeros));
    }
    let whole = usize::try_from(exponent).unwrap_or_default() + 1;
    match digits.split_at_checked(whole) {
        Some((whole, fraction)) if !fraction.is_empty() => format!("{whole}.{fraction}"),
        Some(_) | None => format!("{digits:0<whole$}{integer_mark}"),
    }
}

fn scientific(digits: &str, exponent: i32, notation: &Floats) -> String {
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let fraction = if rest.is_empty() { notation.mantissa.to_owned() } else { format!(".{rest}") };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{fraction}e{sign}{:0>width$}", exponent.unsigned_abs(), width = notation.exponent_digits)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::language::Language;

    #[test]
    fn doubles_read_as_in_their_language() {
        let table = [
            (0.1, "0.1", "0.1"),
            (1.0, "1.0", "1"),
            (-0.0, "-0.0", "-0"),
            (100.0, "100.0", "100"),
            (1e16, "1e+16", "10000000000000000"),
            (123_456_789_012_345_680.0, "1.2345678901234568e+17", "123456789012345680"),
            (1e21, "1e+21", "1e+21"),
            (1e-4, "0.0001", "0.0001"),
            (1e-5, "1e-05", "0.00001"),
            (1.5e-7, "1.5e-07", "1.5e-7"),
            (1e-6, "1e-06", "0.000001"),
            (1e300, "1e+300", "1e+300"),
            (f64::NAN, "nan", "NaN"),
            (f64::NEG_INFINITY, "-inf", "-Infinity"),
        ];
        for (number, python, javascript) in table {
            assert_eq!(text(number, &Language::Python.notation().floats), python);
            assert_eq!(text(number, &Language::JavaScript.notation().floats), javascript);
        }
    }

    proptest! {
        #[test]
        fn every_double_reads_back(number in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            for language in Language::ALL {
                prop_assert_eq!(text(number, &language.notation().floats).parse::<f64>().unwrap(), number);
            }
        }
    }
}
