//! Canonical texts: two values have the same one just when they are equal without tolerance.

use proofmark_receipt::Sha256Digest;

use super::Rules;
use crate::value::{Integer, Integers, Value};

/// Texts of members longer than this are replaced by their digest, so that nesting does not copy them at every level.
const MAX_MEMBER_BYTES: usize = 64;

/// The canonical text of a value. Sets and dicts are written sorted, so comparing them takes no search.
pub(crate) fn canonical_key(value: &Value, rules: Rules) -> Vec<u8> {
    let mut out = Vec::new();
    write(value, rules, &mut out);
    out
}

/// The canonical text of the entries of a dict.
pub(crate) fn canonical_entries(pairs: &[(Value, Value)], rules: Rules) -> Vec<u8> {
    let mut out = Vec::new();
    sorted(b'd', entries(pairs, rules), &mut out);
    out
}

fn write(value: &Value, rules: Rules, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.push(b'N'),
        Value::Undefined if rules.json => out.push(b'N'),
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
        Value::Symbol(name) => counted(if rules.json { b's' } else { b'y' }, name.as_bytes(), out),
        // The tag of `Text` is safe here: decoding makes `Wide` only of bytes that are not UTF-8.
        Value::Wide(bytes) => counted(b's', bytes, out),
        Value::Bytes(bytes) => counted(b'b', bytes, out),
        Value::List(items) => sequence(b'[', items, rules, out),
        Value::Tuple(items) if rules.json => sequence(b'[', items, rules, out),
        Value::Tuple(items) => sequence(b'(', items, rules, out),
        Value::Set(items) => sorted(b'{', items.iter().map(|item| canonical_key(item, rules)), out),
        Value::Dict(pairs) => sorted(b'd', entries(pairs, rules), out),
        Value::Map(pairs) => sorted(b'm', entries(pairs, rules), out),
    }
}

fn boolean(truth: bool, rules: Rules, out: &mut Vec<u8>) {
    if rules.booleans_are_numbers {
        float(f64::from(u8::from(truth)), out)
    } else {
        out.push(if truth { b'T' } else { b'F' })
    }
}

/// An integer that is a double is written as that double, whatever its size, so that it equals it.
fn integer(integer: &Integer, rules: Rules, out: &mut Vec<u8>) {
    match (integer.as_float(), rules.integers) {
        (Some(number), _) => float(number, out),
        (None, Integers::Exact) => counted(b'i', integer.as_str().as_bytes(), out),
        (None, Integers::Doubles) => float(integer.to_f64(), out),
    }
}

/// Every NaN is the same, and so are both zeros.
fn float(number: f64, out: &mut Vec<u8>) {
    if number.is_nan() {
        out.push(b'?');
        return;
    }
    let number = if number == 0.0 { 0.0 } else { number };
    out.push(b'f');
    out.extend(number.to_bits().to_be_bytes());
}

fn sequence(open: u8, items: &[Value], rules: Rules, out: &mut Vec<u8>) {
    out.push(open);
    // Every item says itself where it ends, so `[[1], 2]` and `[[1, 2]]` differ without counts.
    for item in items {
        write(item, rules, out);
    }
    out.push(b']');
}

fn entries(pairs: &[(Value, Value)], rules: Rules) -> impl Iterator<Item = Vec<u8>> {
    pairs.iter().map(move |(key, member)| {
        let mut entry = short(canonical_key(key, rules));
        write(member, rules, &mut entry);
        entry
    })
}

fn sorted(open: u8, keys: impl Iterator<Item = Vec<u8>>, out: &mut Vec<u8>) {
    let mut keys: Vec<_> = keys.map(short).collect();
    keys.sort_unstable();
    out.push(open);
    keys.iter().for_each(|key| out.extend(key));
    out.push(b'}');
}

fn short(key: Vec<u8>) -> Vec<u8> {
    if key.len() <= MAX_MEMBER_BYTES {
        return key;
    }
    // No value begins with `#`, so a digest is never taken for the text of a value.
    let mut digest = vec![b'#'];
    digest.extend(Sha256Digest::of(&key).as_bytes());
    digest
}

/// The length stands before the bytes, so that no text can imitate its neighbours.
fn counted(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend(bytes.len().to_string().as_bytes());
    out.push(b':');
    out.extend(bytes);
}
