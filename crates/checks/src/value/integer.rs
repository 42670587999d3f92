//! Integers of any size.

/// An integer in decimal digits, in the one form that has no leading zero and no minus sign before 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Integer(String);

impl Integer {
    /// Reads decimal digits with an optional minus sign; leading zeros are refused.
    pub fn new(token: &str) -> Option<Integer> {
        let digits = token.strip_prefix('-').unwrap_or(token);
        let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !decimal || (digits.len() > 1 && digits.starts_with('0')) {
            return None;
        }
        Some(Integer(if digits == "0" { digits } else { token }.to_owned()))
    }

    /// The integer a float is, exactly, where it is one.
    pub fn of_float(number: f64) -> Option<Integer> {
        if !number.is_finite() || number.fract() != 0.0 {
            return None;
        }
        Integer::new(&format!("{number:.0}"))
    }

    /// The decimal digits, with a minus sign for a negative integer.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The nearest double; infinite where the integer is past the largest.
    pub fn to_f64(&self) -> f64 {
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// The integer where it fits.
    pub fn to_i128(&self) -> Option<i128> {
        self.0.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_form_for_each_integer() {
        assert_eq!(Integer::new("-0"), Integer::new("0"));
        for token in ["", "-", "01", "-01", "+1", "1.0", "1e3", " 1", "٣"] {
            assert_eq!(Integer::new(token), None, "{token}");
        }
    }

    #[test]
    fn a_float_is_the_integer_it_stands_for() {
        assert_eq!(Integer::of_float(-0.0), Integer::new("0"));
        assert_eq!(Integer::of_float(1e23), Integer::new("99999999999999991611392"));
        assert_eq!(Integer::of_float(0.5), None);
        assert_eq!(Integer::of_float(f64::INFINITY), None);
    }
}
