//! Canonical texts: two values have the same one just when they are equal without tolerance.

use super::Rules;
use crate::job::Language;
use crate::value::{Integer, Value};

/// The canonical text of a value. Sets and dicts are written sorted, so comparing them takes no search.
pub(crate) fn canonical_key(value: &Value, rules: Rules) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, rules, &mut out);
    out
}

/// Whether a tuple equals the list of its items.
pub(crate) fn is_sequence_alike(rules: Rules) -> bool {
    match rules {
        Rules::Json(_) => true,
        Rules::Python | Rules::JavaScript => false,
    }
}

fn write(value: &Value, rules: Rules, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(b'N'),
        Value::Undefined if is_sequence_alike(rules) => out.push(b'N'),
        Value::Undefined => out.push(b'U'),
        Value::Bool(truth) => boolean(*truth, rules, out),
        Value::Int(integer) => self::integer(integer, rules, out),
        Value::Float(number) => float(*number, out),
        // In Python 1+0j == 1.
        Value::Complex(re, im) if *im == 0.0 => float(*re, out),
        Value::Complex(re, im) => {
            out.push(b'c');
            float(*re, out);
            float(*im, out);
        }
        Value::BigInt(integer) => counted(b'n', integer.as_str().as_bytes(), out),
        Value::Text(text) => counted(b's', text.as_bytes(), out),
        Value::Wide(bytes) => counted(b's', bytes, out),
        Value::Bytes(bytes) => counted(b'b', bytes, out),
        Value::List(items) => sequence(b'[', items, rules, out),
        Value::Tuple(items) if is_sequence_alike(rules) => sequence(b'[', items, rules, out),
        Value::Tuple(items) => sequence(b'(', items, rules, out),
        Value::Set(items) => sorted(b'{', items.iter().map(|item| canonical_key(item, rules)), out),
        Value::Dict(pairs) => sorted(b'd', entries(pairs, rules), out),
        Value::Map(pairs) => sorted(b'm', entries(pairs, rules), out),
    }
}

fn boolean(truth: bool, rules: Rules, out: &mut Vec<u8>) {
    match rules {
        Rules::Python => counted(b'i', if truth { b"1" } else { b"0" }, out),
        Rules::JavaScript | Rules::Json(_) => out.push(if truth { b'T' } else { b'F' }),
    }
}

fn integer(integer: &Integer, rules: Rules, out: &mut Vec<u8>) {
    match rules {
        Rules::Python | Rules::Json(Language::Python | Language::Bash) => counted(b'i', integer.as_str().as_bytes(), out),
        Rules::JavaScript | Rules::Json(Language::JavaScript) => float(integer.to_f64(), out),
    }
}

/// A float that is an integer is written as that integer, exactly, so that it equals it whatever its size.
fn float(number: f64, out: &mut Vec<u8>) {
    match Integer::of_float(number) {
        Some(integer) => counted(b'i', integer.as_str().as_bytes(), out),
        None if number.is_nan() => out.push(b'?'),
        None => {
            out.push(b'f');
            out.extend(number.to_bits().to_be_bytes());
        }
    }
}

fn sequence(open: u8, items: &[Value], rules: Rules, out: &mut Vec<u8>) {
    out.push(open);
    for item in items {
        write(item, rules, out);
    }
    out.push(b']');
}

fn entries(pairs: &[(Value, Value)], rules: Rules) -> impl Iterator<Item = Vec<u8>> {
    pairs.iter().map(move |(key, member)| {
        let mut entry = canonical_key(key, rules);
        write(member, rules, &mut entry);
        entry
    })
}

fn sorted(open: u8, keys: impl Iterator<Item = Vec<u8>>, out: &mut Vec<u8>) {
    let mut keys: Vec<_> = keys.collect();
    keys.sort_unstable();
    out.push(open);
    keys.iter().for_each(|key| out.extend(key));
    out.push(b'}');
}

/// The length stands before the bytes, so that no text can imitate its neighbours.
fn counted(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend(bytes.len().to_string().as_bytes());
    out.push(b':');
    out.extend(bytes);
}
