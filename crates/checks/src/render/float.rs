//! Doubles as Python, JavaScript and JSON write them: the shortest digits that read back as the same double.

use super::Notation;

/// A double in one notation.
pub(super) fn text(number: f64, notation: Notation) -> String {
    if !number.is_finite() {
        return special(number, notation).to_owned();
    }
    let (sign, digits, exponent) = shortest(number);
    let body = match notation {
        Notation::Python | Notation::Json if (-4..16).contains(&exponent) => fixed(&digits, exponent, ".0"),
        Notation::JavaScript if (-6..21).contains(&exponent) => fixed(&digits, exponent, ""),
        Notation::Python | Notation::Json => scientific(&digits, exponent, 2),
        Notation::JavaScript => scientific(&digits, exponent, 1),
    };
    format!("{sign}{body}")
}

/// A complex number as Python writes it.
pub(super) fn complex(re: f64, im: f64) -> String {
    let part = |number: f64| {
        let text = text(number, Notation::Python);
        text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
    };
    if re == 0.0 && re.is_sign_positive() {
        return format!("{}j", part(im));
    }
    let plus = if im.is_sign_negative() && !im.is_nan() { "" } else { "+" };
    format!("({}{plus}{}j)", part(re), part(im))
}

fn special(number: f64, notation: Notation) -> &'static str {
    match (notation, number.is_nan(), number > 0.0) {
        (Notation::Python, true, _) => "nan",
        (Notation::Python, false, true) => "inf",
        (Notation::Python, false, false) => "-inf",
        (Notation::JavaScript | Notation::Json, true, _) => "NaN",
        (Notation::JavaScript | Notation::Json, false, true) => "Infinity",
        (Notation::JavaScript | Notation::Json, false, false) => "-Infinity",
    }
}

/// Sign, digits without a point, and the decimal exponent of the first digit.
fn shortest(number: f64) -> (&'static str, String, i32) {
    let text = format!("{:e}", number.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let sign = if number.is_sign_negative() { "-" } else { "" };
    (sign, mantissa.replace('.', ""), exponent.parse().unwrap_or_default())
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

fn scientific(digits: &str, exponent: i32, width: usize) -> String {
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{:0>width$}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            assert_eq!(text(number, Notation::Python), python);
            assert_eq!(text(number, Notation::JavaScript), javascript);
        }
    }

    proptest! {
        #[test]
        fn every_double_reads_back(number in proptest::num::f64::NORMAL | proptest::num::f64::SUBNORMAL) {
            for notation in [Notation::Python, Notation::JavaScript, Notation::Json] {
                prop_assert_eq!(text(number, notation).parse::<f64>().unwrap(), number);
            }
        }
    }
}
