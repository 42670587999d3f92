//! Values as text, for the details of a receipt.

use proofmark_receipt::Sha256Digest;

use crate::value::{Value, code_points};

mod float;
mod notation;
mod text;

pub(crate) use notation::{Floats, JSON, Notation, byte_array, escape};

/// How many characters of a text a receipt carries.
pub const MAX_SHOWN_CHARS: usize = 1024;

/// Writes a value out in full. Sets, which have no order, are written sorted: equal requests give equal receipts.
pub(crate) fn render(value: &Value, notation: &Notation) -> String {
    let mut out = String::new();
    write(value, notation, &mut out);
    out
}

/// A text as receipts carry it: past so many characters cut, with its length and the digest of the whole.
pub(crate) fn cut(text: &str, chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars) else {
        return text.to_owned();
    };
    let digest = Sha256Digest::of(text.as_bytes());
    let shown = text.get(..end).unwrap_or_default();
    format!("{shown}… ({} characters, {digest})", text.chars().count())
}

fn write(value: &Value, notation: &Notation, out: &mut String) {
    let [no, yes] = notation.truths;
    match value {
        Value::Null => out.push_str(notation.null),
        Value::Undefined => out.push_str(notation.undefined),
        Value::Bool(truth) => out.push_str(if *truth { yes } else { no }),
        Value::Int(integer) => out.push_str(integer.as_str()),
        Value::Float(number) => out.push_str(&float::text(*number, &notation.floats)),
        Value::Complex(re, im) => out.push_str(&float::complex(*re, *im, &notation.floats)),
        Value::BigInt(integer) => out.push_str(&format!("{}n", integer.as_str())),
        Value::Text(text) => text::quoted(text.chars().map(u32::from), notation, out),
        Value::Symbol(name) => {
            out.push_str(notation.symbol_prefix);
            text::name(name, notation, out);
        }
        // Decoding has checked the bytes, so there are code points.
        Value::Wide(bytes) => text::quoted(code_points(bytes).unwrap_or_default().into_iter(), notation, out),
        Value::Bytes(bytes) => out.push_str(&(notation.bytes)(bytes)),
        Value::List(items) => list("[", items, "]", notation, out),
        Value::Tuple(items) => {
            let [open, close_one, close] = notation.tuple;
            list(open, items, if items.len() == 1 { close_one } else { close }, notation, out);
        }
        Value::Set(items) => set(items, notation, out),
        Value::Dict(pairs) => dict("{", pairs, notation.between, notation, out),
        Value::Map(pairs) => dict("Map {", pairs, " => ", notation, out),
    }
}

fn list(open: &str, items: &[Value], close: &str, notation: &Notation, out: &mut String) {
    out.push_str(open);
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(item, notation, out);
    }
    out.push_str(close);
}

fn set(items: &[Value], notation: &Notation, out: &mut String) {
    let mut shown: Vec<_> = items.iter().map(|item| (magnitude(item), render(item, notation))).collect();
    shown.sort_by(|(left, left_text), (right, right_text)| {
        // `total_cmp` puts NaN, which stands for all that is not a number, behind infinity.
        left.total_cmp(right).then_with(|| left_text.cmp(right_text))
    });
    let texts: Vec<_> = shown.into_iter().map(|(_, text)| text).collect();
    let [empty, open, close] = notation.set;
    match texts.as_slice() {
        [] => out.push_str(empty),
        texts => out.extend([open, &texts.join(", "), close]),
    }
}

/// Numbers sort by their size and stand before everything else.
fn magnitude(value: &Value) -> f64 {
    match value {
        Value::Int(integer) | Value::BigInt(integer) => integer.to_f64(),
        Value::Float(number) if !number.is_nan() => *number,
        _ => f64::NAN,
    }
}

fn dict(open: &str, pairs: &[(Value, Value)], between: &str, notation: &Notation, out: &mut String) {
    out.push_str(open);
    for (index, (key, member)) in pairs.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(key, notation, out);
        out.push_str(between);
        write(member, notation, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;

    fn shown(wire: &str, language: Language) -> String {
        render(&Value::decode(wire.as_bytes()).unwrap(), language.notation())
    }

    #[test]
    fn python_reads_as_repr_writes_it() {
        let table = [
            (r#"[null,true,false,-3,"it's"]"#, r#"[None, True, False, -3, "it's"]"#),
            (r#"{"t":[]}"#, "()"),
            (r#"{"t":[1]}"#, "(1,)"),
            (r#"{"t":[1,{"f":"2.0"}]}"#, "(1, 2.0)"),
            (r#"{"s":[]}"#, "set()"),
            (r#"{"s":[10,9,"b","a",{"f":"9.5"}]}"#, "{9, 9.5, 10, 'a', 'b'}"),
            (r#"{"d":[["k",{"d":[]}],[1,{"t":[1,2]}]]}"#, "{'k': {}, 1: (1, 2)}"),
            (r#""a\nb\\'\"\u202e\u00e9""#, r#"'a\nb\\\'"\u202eé'"#),
            (r#"{"w":"61eda080"}"#, r"'a\ud800'"),
            (r#"{"b":"6100ff27"}"#, r#"b"a\x00\xff'""#),
            (r#"{"c":["0.0","1.5"]}"#, "1.5j"),
            (r#"{"c":["1.0","-2.0"]}"#, "(1-2j)"),
        ];
        for (wire, text) in table {
            assert_eq!(shown(wire, Language::Python), text, "{wire}");
        }
    }

    #[test]
    fn javascript_reads_as_literals() {
        let table = [
            (r#"[null,{"u":0},true,{"f":"1e+21"},{"n":"5"}]"#, "[null, undefined, true, 1e+21, 5n]"),
            (r#"{"d":[["a",1],["b c","x\"y"]]}"#, r#"{"a": 1, "b c": "x\"y"}"#),
            (r#"{"m":[[1,{"s":[2,1]}]]}"#, "Map {1 => Set {1, 2}}"),
            (r#"{"b":"01ff"}"#, "Uint8Array(2) [1, 255]"),
        ];
        for (wire, text) in table {
            assert_eq!(shown(wire, Language::JavaScript), text, "{wire}");
        }
    }

    #[test]
    fn long_texts_are_cut_with_length_and_digest() {
        let fits = "é".repeat(MAX_SHOWN_CHARS);
        assert_eq!(cut(&fits, MAX_SHOWN_CHARS), fits);
        let long = "é".repeat(1025);
        let digest = Sha256Digest::of(long.as_bytes());
        assert_eq!(cut(&long, MAX_SHOWN_CHARS), format!("{fits}… (1025 characters, {digest})"));
    }
}
