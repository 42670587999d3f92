//! Exact decimal numbers: up to 34 significant digits, no binary rounding.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::limits::{MAX_DECIMAL_DIGITS, MAX_DECIMAL_EXPONENT};

/// An exact decimal number, `coefficient × 10^exponent`, always in its shortest form, so that
/// equal numbers are equal values.
///
/// The coefficient is held as two halves: an `i128` would align every value to 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    high: i64,
    low: u64,
    exponent: i32,
}

/// Why a number cannot be held or computed exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    #[error("the text is not a decimal number")]
    Malformed,
    /// The exact number needs more than [`MAX_DECIMAL_DIGITS`] digits.
    #[error("the number needs more than 34 significant digits")]
    TooPrecise,
    /// The number is outside ±10^[`MAX_DECIMAL_EXPONENT`], or as close to zero.
    #[error("the number is outside the range of decimals")]
    OutOfRange,
    #[error("division by zero")]
    DivisionByZero,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self { high: 0, low: 0, exponent: 0 };

    /// `coefficient × 10^exponent`.
    ///
    /// # Errors
    /// [`NumberError::TooPrecise`] and [`NumberError::OutOfRange`].
    pub fn new(coefficient: i128, exponent: i32) -> Result<Self, NumberError> {
        if coefficient == 0 {
            return Ok(Self::ZERO);
        }
        // Without trailing zeros equal numbers have equal fields, so equality and hashes can be derived.
        let (mut coefficient, mut exponent) = (coefficient, exponent);
        while coefficient % 10 == 0 {
            coefficient /= 10;
            exponent = exponent.saturating_add(1);
        }
        let digits = digits(coefficient);
        if digits > MAX_DECIMAL_DIGITS {
            return Err(NumberError::TooPrecise);
        }
        let adjusted = exponent.saturating_add(digits.cast_signed() - 1);
        if adjusted.abs() > MAX_DECIMAL_EXPONENT {
            return Err(NumberError::OutOfRange);
        }
        Ok(Self::raw(coefficient, exponent))
    }

    /// The exact sum.
    ///
    /// # Errors
    /// [`NumberError::TooPrecise`] and [`NumberError::OutOfRange`].
    pub fn plus(self, other: Self) -> Result<Self, NumberError> {
        if self.is_zero() {
            return Ok(other);
        }
        if other.is_zero() {
            return Ok(self);
        }
        // Numbers too far apart to share an exponent have a sum of more than 34 digits.
        let exponent = self.exponent.min(other.exponent);
        let sum = self
            .scaled_to(exponent)
            .zip(other.scaled_to(exponent))
            .and_then(|(a, b)| a.checked_add(b))
            .ok_or(NumberError::TooPrecise)?;
        Self::new(sum, exponent)
    }

    /// The exact difference.
    ///
    /// # Errors
    /// [`NumberError::TooPrecise`] and [`NumberError::OutOfRange`].
    pub fn minus(self, other: Self) -> Result<Self, NumberError> {
        self.plus(other.negate())
    }

    /// The exact product.
    ///
    /// # Errors
    /// [`NumberError::TooPrecise`] and [`NumberError::OutOfRange`].
    pub fn multiply(self, other: Self) -> Result<Self, NumberError> {
        let product = self.coefficient().checked_mul(other.coefficient()).ok_or(NumberError::TooPrecise)?;
        // No exponent is below -6177 or above 6144, so the sum fits.
        Self::new(product, self.exponent + other.exponent)
    }

    /// The quotient, rounded half to even at the 34th digit: the one operation that rounds.
    ///
    /// # Errors
    /// [`NumberError::DivisionByZero`] and [`NumberError::OutOfRange`].
    pub fn divide(self, other: Self) -> Result<Self, NumberError> {
        if other.is_zero() {
            return Err(NumberError::DivisionByZero);
        }
        let (a, b) = (self.coefficient().unsigned_abs(), other.coefficient().unsigned_abs());
        let mut quotient = a / b;
        let mut rest = a % b;
        let mut exponent = self.exponent - other.exponent;
        // Long division: `rest` is below 10^34, so `rest * 10` fits.
        // It ends when the quotient has 34 digits. Leading zeros do not count: they leave it at zero.
        while rest != 0 && quotient < 10u128.pow(MAX_DECIMAL_DIGITS - 1) {
            quotient = quotient * 10 + rest * 10 / b;
            rest = rest * 10 % b;
            exponent -= 1;
        }
        let round_up = match (rest * 2).cmp(&b) {
            Ordering::Greater => true,
            Ordering::Equal => quotient % 2 == 1,
            Ordering::Less => false,
        };
        let rounded = (quotient + u128::from(round_up)).cast_signed();
        let negative = (self.high < 0) != (other.high < 0);
        Self::new(if negative { -rounded } else { rounded }, exponent)
    }

    /// The number with the other sign.
    #[must_use]
    pub fn negate(self) -> Self {
        Self::raw(-self.coefficient(), self.exponent)
    }

    /// Whether this is zero.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.high == 0 && self.low == 0
    }

    /// The whole number this is, if it is one and fits.
    #[must_use]
    pub fn to_integer(self) -> Option<i128> {
        // In the shortest form a negative exponent always means a fraction.
        (self.exponent >= 0).then(|| self.scaled_to(0)).flatten()
    }

    /// The number without its fraction, if it fits.
    #[must_use]
    pub fn truncate(self) -> Option<i128> {
        if self.exponent >= 0 {
            return self.scaled_to(0);
        }
        // A power past 38 digits is larger than any coefficient, so nothing is left before the point.
        let divisor = 10i128.checked_pow(self.exponent.unsigned_abs());
        Some(divisor.map_or(0, |divisor| self.coefficient() / divisor))
    }

    fn raw(coefficient: i128, exponent: i32) -> Self {
        // Both casts cut off bits on purpose: the shift is arithmetic, so `high` keeps the sign and `low` the lower
        // bits.
        Self { high: (coefficient >> 64) as i64, low: coefficient as u64, exponent }
    }

    fn coefficient(self) -> i128 {
        (i128::from(self.high) << 64) | i128::from(self.low)
    }

    /// The coefficient this number has at a smaller exponent, if it fits.
    fn scaled_to(self, exponent: i32) -> Option<i128> {
        let shift = u32::try_from(self.exponent.checked_sub(exponent)?).ok()?;
        self.coefficient().checked_mul(10i128.checked_pow(shift)?)
    }

    /// The power of ten of the first digit.
    fn adjusted(self) -> i32 {
        self.exponent + digits(self.coefficient()).cast_signed() - 1
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self::from_integer(i128::from(value))
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        Self::from_integer(i128::from(value))
    }
}

impl Decimal {
    /// Sixty-four-bit integers have at most 20 digits, so nothing is lost.
    fn from_integer(value: i128) -> Self {
        Self::new(value, 0).unwrap_or(Self::ZERO)
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = (self.coefficient(), other.coefficient());
        if a.signum() != b.signum() || a == 0 {
            return a.signum().cmp(&b.signum());
        }
        let by_size = self.adjusted().cmp(&other.adjusted()).then_with(|| self.compare_aligned(*other));
        if a < 0 { by_size.reverse() } else { by_size }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Decimal {
    /// Compares the magnitudes of two numbers whose first digits stand at the same power of ten:
    /// both have at most 34 digits, so at the smaller exponent both fit.
    fn compare_aligned(self, other: Self) -> Ordering {
        let exponent = self.exponent.min(other.exponent);
        let magnitude = |number: Self| number.scaled_to(exponent).map(i128::unsigned_abs);
        magnitude(self).cmp(&magnitude(other))
    }
}

impl FromStr for Decimal {
    type Err = NumberError;

    /// Reads `-12.50e3` and the like. A sign, digits, one point and an exponent are allowed.
    fn from_str(text: &str) -> Result<Self, NumberError> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (negative, unsigned) = match mantissa.strip_prefix(['-', '+']) {
            Some(rest) => (mantissa.starts_with('-'), rest),
            None => (false, mantissa),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        if whole.is_empty() && fraction.is_empty() {
            return Err(NumberError::Malformed);
        }
        let (coefficient, shift) = parse_digits(whole, fraction)?;
        // Not returned yet: zero with an absurd exponent is zero.
        let exponent = i32::try_from(exponent + shift).map_err(|_| NumberError::OutOfRange);
        if coefficient == 0 {
            return Ok(Self::ZERO);
        }
        Self::new(if negative { -coefficient } else { coefficient }, exponent?)
    }
}

/// The value of an exponent; absurdly large ones saturate and are refused as out of range later.
fn parse_exponent(text: &str) -> Result<i64, NumberError> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(NumberError::Malformed);
    }
    // Small enough that adding the length of a fraction cannot overflow.
    let size = digits.parse::<i64>().unwrap_or(i64::MAX).min(1 << 40);
    Ok(if text.starts_with('-') { -size } else { size })
}

/// The digits as one number and the power of ten it stands for. Trailing zeros do not count
/// against the limit, however many there are.
fn parse_digits(whole: &str, fraction: &str) -> Result<(i128, i64), NumberError> {
    let (mut coefficient, mut zeros, mut dropped) = (0i128, 0u32, 0i64);
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return Err(NumberError::Malformed);
        }
        // Zeros are only counted until another digit follows, so `1000…0` of any length needs no large coefficient.
        if byte == b'0' {
            dropped += 1;
            zeros = zeros.saturating_add(u32::from(coefficient != 0));
            continue;
        }
        // 38 digits fit, more than allowed: `new` refuses what remains too precise.
        let power = 10i128.checked_pow(zeros + 1);
        coefficient = power
            .and_then(|power| coefficient.checked_mul(power))
            .and_then(|scaled| scaled.checked_add(i128::from(byte - b'0')))
            .ok_or(NumberError::TooPrecise)?;
        (zeros, dropped) = (0, 0);
    }
    let after_point = i64::try_from(fraction.len()).map_err(|_| NumberError::TooPrecise)?;
    Ok((coefficient, dropped - after_point))
}

fn digits(coefficient: i128) -> u32 {
    coefficient.unsigned_abs().checked_ilog10().map_or(1, |log| log + 1)
}

impl fmt::Display for Decimal {
    /// Plain notation from 10^-7 to 10^21, else one digit, the rest, and an exponent.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.coefficient().unsigned_abs().to_string();
        let sign = if self.high < 0 { "-" } else { "" };
        let adjusted = self.adjusted();
        if !(-7..=20).contains(&adjusted) {
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            return write!(f, "{sign}{first}{point}{rest}e{adjusted:+}");
        }
        let zeros = |count: i32| "0".repeat(usize::try_from(count).unwrap_or(0));
        if self.exponent >= 0 {
            write!(f, "{sign}{digits}{}", zeros(self.exponent))
        } else if adjusted < 0 {
            write!(f, "{sign}0.{}{digits}", zeros(-adjusted - 1))
        } else {
            let at = usize::try_from(adjusted + 1).unwrap_or(0);
            let (whole, fraction) = digits.split_at(at.min(digits.len()));
            write!(f, "{sign}{whole}.{fraction}")
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn reads_and_writes_the_shortest_form() {
        for (text, written) in [
            ("0.10", "0.1"),
            ("-0.0", "0"),
            ("1.50e3", "1500"),
            ("1e308", "1e+308"),
            ("-4.5e-3", "-0.0045"),
            ("123.456", "123.456"),
            ("1.38e-23", "1.38e-23"),
            ("100000000000000000000000000000000000000000", "1e+41"),
            (".5", "0.5"),
        ] {
            assert_eq!(decimal(text).to_string(), written, "{text}");
            assert_eq!(decimal(written), decimal(text), "{text}");
        }
    }

    #[test]
    fn arithmetic_is_exact_or_an_error() {
        assert_eq!(decimal("0.1").plus(decimal("0.2")), Ok(decimal("0.3")));
        assert_eq!(decimal("1e40").plus(decimal("1")), Err(NumberError::TooPrecise));
        assert_eq!(decimal("1").divide(decimal("8")), Ok(decimal("0.125")));
        let third = decimal("1").divide(decimal("3")).unwrap();
        assert_eq!(third.to_string(), format!("0.{}", "3".repeat(34)));
        let two_thirds = decimal("-2").divide(decimal("3")).unwrap();
        assert_eq!(two_thirds.to_string(), format!("-0.{}7", "6".repeat(33)));
        assert_eq!(decimal("1").divide(Decimal::ZERO), Err(NumberError::DivisionByZero));
        assert_eq!(decimal("1e6000").multiply(decimal("1e6000")), Err(NumberError::OutOfRange));
    }

    #[test]
    fn refuses_what_it_cannot_hold() {
        let digits = "1".repeat(35);
        assert_eq!(digits.parse::<Decimal>(), Err(NumberError::TooPrecise));
        assert_eq!("1e99999999999".parse::<Decimal>(), Err(NumberError::OutOfRange));
        assert_eq!("0e99999999999".parse::<Decimal>(), Ok(Decimal::ZERO));
        for text in ["", "-", ".", "e1", "1e", "1e+", "1.2.3", "NaN", "inf", "0x1"] {
            assert_eq!(text.parse::<Decimal>(), Err(NumberError::Malformed), "{text}");
        }
    }

    #[test]
    fn orders_across_magnitudes() {
        let mut numbers: Vec<_> = ["3", "-1e10", "0", "1e-300", "-2.5", "2.99", "1e300"].map(decimal).into();
        numbers.sort();
        let written: Vec<_> = numbers.iter().map(ToString::to_string).collect();
        assert_eq!(written, ["-10000000000", "-2.5", "0", "1e-300", "2.99", "3", "1e+300"]);
    }

    #[test]
    fn truncates_towards_zero() {
        assert_eq!(decimal("-7.9").truncate(), Some(-7));
        assert_eq!(decimal("1e-300").truncate(), Some(0));
        assert_eq!(decimal("1e99").truncate(), None);
        assert_eq!(decimal("12.0").to_integer(), Some(12));
        assert_eq!(decimal("12.5").to_integer(), None);
    }
}
