//! Integers of any size.

/// What the integers of a language are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integers {
    /// Integers of any size.
    Exact,
    /// Doubles: those past 2^53 stand for their neighbours, too.
    Doubles,
}

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

    /// The decimal digits, with a minus sign for a negative integer.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The nearest double; infinite where the integer is past the largest.
    pub fn to_f64(&self) -> f64 {
        // Decimal digits always parse; too many of them give infinity.
        self.0.parse().unwrap_or(f64::NAN)
    }

    /// The double that is this integer, exactly, where there is one.
    pub fn as_float(&self) -> Option<f64> {
        // The largest double has 309 digits.
        if self.0.len() > 310 {
            return None;
        }
        let number = self.to_f64();
        // Integers up to 15 digits are below 2^53.
        // `{:.0}` writes every digit of the double, so the texts are equal only where the values are.
        (self.0.len() <= 15 || (number.is_finite() && format!("{number:.0}") == self.0)).then_some(number)
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
    fn an_integer_is_a_double_only_exactly() {
        let float = |token: &str| Integer::new(token).and_then(|integer| integer.as_float());
        assert_eq!(float("-0"), Some(0.0));
        assert_eq!(float("999999999999999"), Some(999_999_999_999_999.0));
        assert_eq!(float("-9007199254740992"), Some(-9_007_199_254_740_992.0));
        assert_eq!(float("9007199254740993"), None);
        assert_eq!(float("99999999999999991611392"), Some(1e23));
        assert_eq!(float("100000000000000000000000"), None);
        assert_eq!(float(&format!("{:.0}", f64::MAX)), Some(f64::MAX));
        assert_eq!(float(&format!("-{:.0}", f64::MAX)), Some(f64::MIN));
        assert_eq!(float(&format!("1{}", "0".repeat(309))), None);
        assert_eq!(float(&"9".repeat(1_000_000)), None);
    }
}
