//! What Python's `json` writes of what it read.

use super::Number;
use super::profile::{CanonicalError, Profile, finite};
use super::text::{write_escape, write_unit};
use crate::shown;

/// Python refuses to read longer integers (`sys.get_int_max_str_digits`).
const MAX_INTEGER_DIGITS: usize = 4300;

/// Appends `text` quoted as `ensure_ascii=True` does: printable ASCII as it is, all else as UTF-16 escapes.
pub(super) fn write_ascii_string(out: &mut String, text: &str) {
    out.push('"');
    let mut units = [0; 2];
    let mut bytes = [0; 4];
    for character in text.chars() {
        match character {
            '"' | '\\' | '\0'..' ' => write_escape(out, character.encode_utf8(&mut bytes)),
            ' '..='~' => out.push(character),
            // U+007F, too: Python escapes all that is not printable ASCII; the other profiles write it as it is.
            _ => character.encode_utf16(&mut units).iter().for_each(|unit| write_unit(out, *unit)),
        }
    }
    out.push('"');
}

/// Appends what Python writes for the `int` or `float` it reads from this token.
pub(super) fn write_number(out: &mut String, number: &Number, profile: Profile) -> Result<(), CanonicalError> {
    let token = number.as_str();
    if !number.is_integer() {
        write_float(out, finite(number, profile)?);
        return Ok(());
    }
    // Python limits the digits of an `int`, not of a `float`, so a fraction or an exponent is exempt.
    if token.trim_start_matches('-').len() > MAX_INTEGER_DIGITS {
        return Err(CanonicalError::IntegerTooLong { number: shown(token), profile });
    }
    out.push_str(if token == "-0" { "0" } else { token });
    Ok(())
}

/// `float.__repr__`: the shortest digits that read back as the same double, with an exponent when it is below -4 or
/// at least 16.
fn write_float(out: &mut String, value: f64) {
    // Rust, too, writes the shortest digits that read back as the same double; only the layout differs.
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let digits = mantissa.replace('.', "");
    if value.is_sign_negative() {
        out.push('-');
    }
    match usize::try_from(exponent) {
        Ok(exponent @ 0..16) => write_point_within(out, &digits, exponent + 1),
        Err(_) if exponent >= -4 => {
            out.push_str("0.");
            out.extend((exponent + 1..0).map(|_| '0'));
            out.push_str(&digits);
        }
        _ => write_exponent(out, &digits, exponent),
    }
}

/// `digits` with the point after the first `whole`, padded with zeros: `12` and 3 is `120.0`.
fn write_point_within(out: &mut String, digits: &str, whole: usize) {
    let (before, after) = digits.split_at(whole.min(digits.len()));
    out.push_str(before);
    out.extend((before.len()..whole).map(|_| '0'));
    out.push('.');
    out.push_str(if after.is_empty() { "0" } else { after });
}

/// `1e-05`, `1.5e+16`: two digits of exponent at least, always signed.
fn write_exponent(out: &mut String, digits: &str, exponent: i32) {
    let (first, rest) = digits.split_at(1.min(digits.len()));
    out.push_str(first);
    if !rest.is_empty() {
        out.push('.');
        out.push_str(rest);
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    out.push_str(&format!("e{sign}{:02}", exponent.unsigned_abs()));
}
