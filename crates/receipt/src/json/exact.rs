//! Which numbers a signature under a profile covers: those whose canonical form has exactly one value.

use super::canonical::number_text;
use super::profile::{CanonicalError, Profile};
use super::{Json, Number, Object};
use crate::shown;

/// Checks that the canonical form of `object` under `profile` keeps every number in it.
///
/// [`Profile::Vrf`] takes the integers every reader keeps ([`Number::is_safe`]) and nothing else. The others write
/// what they read, so a number counts when its decimal value is that of what is written: `1.50` for `1.5`, and not
/// 2^53+1 for 2^53.
///
/// # Errors
/// [`CanonicalError`] names the first number that is not kept.
pub(crate) fn check_exact(object: &Object, profile: Profile) -> Result<(), CanonicalError> {
    object.iter().try_for_each(|(_, value)| check(value, profile))
}

fn check(value: &Json, profile: Profile) -> Result<(), CanonicalError> {
    match value {
        Json::Null | Json::Bool(_) | Json::String(_) => Ok(()),
        Json::Number(number) => check_number(number, profile),
        Json::Array(items) => items.iter().try_for_each(|item| check(item, profile)),
        Json::Object(object) => check_exact(object, profile),
    }
}

fn check_number(number: &Number, profile: Profile) -> Result<(), CanonicalError> {
    // All profiles write a safe number alike. That is the usual case, and needs no comparison.
    let exact = number.is_safe()
        || match profile {
            Profile::Vrf => false,
            Profile::Jcs | Profile::PyUtf8 | Profile::PyAscii => {
                Decimal::of(&number_text(number, profile)?) == Decimal::of(number.as_str())
            }
        };
    if exact { Ok(()) } else { Err(CanonicalError::NotExact { number: shown(number.as_str()), profile }) }
}

/// The value of a number: its sign, its digits without zeros at either end, and the power of ten of the last digit.
#[derive(PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: String,
    power: i64,
}

impl Decimal {
    /// `token` must follow the grammar of RFC 8259.
    fn of(token: &str) -> Self {
        let (negative, token) = match token.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, token),
        };
        let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let written = format!("{whole}{fraction}");
        let significant = written.trim_end_matches('0');
        let zeros = written.len() - significant.len();
        let digits = significant.trim_start_matches('0').to_owned();
        // An exponent past 64 bits is that of zero, of infinity, or of what a double rounds to zero.
        let exponent = exponent.parse::<i64>().unwrap_or(i64::MAX);
        let power = exponent.saturating_sub_unsigned(fraction.len() as u64).saturating_add_unsigned(zeros as u64);
        // Zero is zero with any exponent, but its sign counts: Python and ECMAScript write `-0` as `0`.
        let power = if digits.is_empty() { 0 } else { power };
        Self { negative, digits, power }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kept(token: &str) -> [bool; 4] {
        let number: Number = token.parse().unwrap();
        Profile::ALL.map(|profile| check_number(&number, profile).is_ok())
    }

    proptest! {
        #[test]
        fn numbers_that_share_a_form_have_one_value(
            digits in "[1-9][0-9]{0,20}", point in 0_usize..20, more in "[0-9]{0,3}", power in -330_i32..310
        ) {
            let number = |digits: &str| {
                let (whole, fraction) = digits.split_at(point.clamp(1, digits.len()));
                let dot = if fraction.is_empty() { "" } else { "." };
                format!("{whole}{dot}{fraction}e{power}").parse::<Number>().unwrap()
            };
            let (first, second) = (number(&digits), number(&format!("{digits}{more}")));
            for profile in Profile::ALL {
                let form = |number: &Number| check_number(number, profile).and_then(|()| number_text(number, profile));
                if let (Ok(left), Ok(right)) = (form(&first), form(&second)) {
                    let same = Decimal::of(first.as_str()) == Decimal::of(second.as_str());
                    prop_assert_eq!(left == right, same, "{} {}", first, second);
                }
            }
        }
    }

    #[test]
    fn a_number_counts_where_its_value_is_kept() {
        for (token, vrf, jcs, python) in [
            ("0", true, true, true),
            ("-9007199254740991", true, true, true),
            ("9007199254740992", false, true, true),
            ("9007199254740993", false, false, true),
            ("9007199254740993.0", false, false, false),
            ("-0", false, false, false),
            ("-0.0", false, false, true),
            ("0e99999999999999999999", false, true, true),
            ("1e-99999999999999999999", false, false, false),
            ("1e400", false, false, false),
            ("1.50", false, true, true),
            ("15e-1", false, true, true),
            ("1500e-3", false, true, true),
            ("0.1", false, true, true),
            ("0.10000000000000000001", false, false, false),
            ("333333333.33333329", false, false, false),
            ("5e-324", false, true, true),
            ("4.9e-324", false, false, false),
            ("1e21", false, true, true),
            ("123456789012345678901", false, false, true),
        ] {
            assert_eq!(kept(token), [vrf, jcs, python, python], "{token}");
        }
    }
}
