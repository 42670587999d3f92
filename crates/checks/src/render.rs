//! Values as text, for the details of a receipt.

use proofmark_receipt::Sha256Digest;

use crate::value::{Value, code_points};

mod float;
mod notation;
mod text;

pub(crate) use notation::{Floats, JAVASCRIPT_JSON, JSON, Notation, byte_array, escape};
pub(crate) use text::{is_blank, is_unseen};

/// How many characters of a text a receipt carries.
pub const MAX_SHOWN_CHARS: usize = 1024;

/// Writes a value out in full. Sets, which have no order, are written sorted: equal requests give equal receipts.
pub(crate) fn render(value: &Value, notation: &Notation) -> String {
    let mut out = Out { text: String::new(), limit: usize::MAX };
    out.write(value, notation);
    out.text
}

/// A value as [`render`] writes it; past so many characters cut, with `…` at the end. Takes no longer for a long value.
pub(crate) fn render_up_to(value: &Value, notation: &Notation, chars: usize) -> String {
    // No character has more bytes.
    let mut out = Out { text: String::new(), limit: chars * 4 };
    out.write(value, notation);
    match out.text.char_indices().nth(chars) {
        Some((end, _)) => {
            out.text.truncate(end);
            out.text.push('…');
            out.text
        }
        None => out.text,
    }
}

/// What opens and closes a container with so many members.
pub(crate) fn brackets(value: &Value, notation: &Notation, members: usize) -> [&'static str; 2] {
    match (value, members) {
        (Value::Tuple(_), _) => {
            let [open, close_one, close] = notation.tuple;
            [open, if members == 1 { close_one } else { close }]
        }
        (Value::Set(_), 0) => [notation.set[0], ""],
        (Value::Set(_), _) => [notation.set[1], notation.set[2]],
        (Value::Dict(_), _) => ["{", "}"],
        (Value::Map(_), _) => ["Map {", "}"],
        _ => ["[", "]"],
    }
}

/// A text as receipts carry it: past so many characters only those around the byte `at`, with the length and the digest of the
/// whole.
pub(crate) fn excerpt(text: &str, at: usize, chars: usize) -> String {
    if text.char_indices().nth(chars).is_none() {
        return text.to_owned();
    }
    let count = text.chars().count();
    // Most of what is shown is behind the byte; what comes before it was equal.
    let lead = chars / 4;
    let position = text.get(..at).map_or(0, |before| before.chars().count());
    let start = if position + lead < chars { 0 } else { (position - lead).min(count - chars) };
    let shown: String = text.chars().skip(start).take(chars).collect();
    let before = if start > 0 { "…" } else { "" };
    let behind = if start + chars < count { "…" } else { "" };
    format!("{before}{shown}{behind} ({count} characters, {})", Sha256Digest::of(text.as_bytes()))
}

/// Text that is being written.
struct Out {
    text: String,
    /// The bytes past which nothing more is written; a little more may be.
    limit: usize,
}

impl Out {
    fn room(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    fn write(&mut self, value: &Value, notation: &Notation) {
        let [no, yes] = notation.truths;
        // A code point takes a byte at least; one more than there is room for shows that the text is cut.
        let room = self.room().saturating_add(1);
        let out = &mut self.text;
        match value {
            Value::Null => out.push_str(notation.null),
            Value::Undefined => out.push_str(notation.undefined),
            Value::Bool(truth) => out.push_str(if *truth { yes } else { no }),
            Value::Int(integer) => out.push_str(beginning(integer.as_str(), room)),
            Value::Float(number) => out.push_str(&float::text(*number, &notation.floats)),
            Value::Complex(re, im) => out.push_str(&float::complex(*re, *im, &notation.floats)),
            Value::BigInt(integer) => out.push_str(&format!("{}n", beginning(integer.as_str(), room))),
            Value::Text(text) => text::quoted(text.chars().map(u32::from).take(room), notation, out),
            Value::Symbol(name) => {
                out.push_str(notation.symbol_prefix);
                text::name(name, notation, out);
            }
            // Decoding has checked the bytes, so there are code points.
            Value::Wide(bytes) => {
                text::quoted(code_points(bytes).unwrap_or_default().into_iter().take(room), notation, out)
            }
            Value::Bytes(bytes) => out.push_str(&(notation.bytes)(bytes.get(..room).unwrap_or(bytes))),
            Value::List(items) | Value::Tuple(items) => {
                let [open, close] = brackets(value, notation, items.len());
                self.list(open, items, close, notation);
            }
            Value::Set(items) => self.set(value, items, notation),
            Value::Dict(pairs) => self.dict("{", pairs, notation.between, notation),
            Value::Map(pairs) => self.dict("Map {", pairs, " => ", notation),
        }
    }

    fn list(&mut self, open: &str, items: &[Value], close: &str, notation: &Notation) {
        self.text.push_str(open);
        for (index, item) in items.iter().enumerate() {
            if self.room() == 0 {
                return;
            }
            if index > 0 {
                self.text.push_str(", ");
            }
            self.write(item, notation);
        }
        self.text.push_str(close);
    }

    fn set(&mut self, value: &Value, items: &[Value], notation: &Notation) {
        let mut shown: Vec<_> = items
            .iter()
            .map(|item| {
                let mut out = Out { text: String::new(), limit: self.room() };
                out.write(item, notation);
                (magnitude(item), out.text)
            })
            .collect();
        shown.sort_by(|(left, left_text), (right, right_text)| {
            // `total_cmp` puts NaN, which stands for all that is not a number, behind infinity.
            left.total_cmp(right).then_with(|| left_text.cmp(right_text))
        });
        let texts: Vec<_> = shown.into_iter().map(|(_, text)| text).collect();
        let [open, close] = brackets(value, notation, items.len());
        self.text.extend([open, &texts.join(", "), close]);
    }

    fn dict(&mut self, open: &str, pairs: &[(Value, Value)], between: &str, notation: &Notation) {
        self.text.push_str(open);
        for (index, (key, member)) in pairs.iter().enumerate() {
            if self.room() == 0 {
                return;
            }
            if index > 0 {
                self.text.push_str(", ");
            }
            self.write(key, notation);
            self.text.push_str(between);
            self.write(member, notation);
        }
        self.text.push('}');
    }
}

/// The first digits of an integer.
fn beginning(digits: &str, room: usize) -> &str {
    digits.get(..room).unwrap_or(digits)
}

/// Numbers sort by their size and stand before everything else.
fn magnitude(value: &Value) -> f64 {
    match value {
        Value::Int(integer) | Value::BigInt(integer) => integer.to_f64(),
        Value::Float(number) if !number.is_nan() => *number,
        _ => f64::NAN,
    }
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
        assert_eq!(excerpt(&fits, 0, MAX_SHOWN_CHARS), fits);
        let long = "é".repeat(1025);
        let digest = Sha256Digest::of(long.as_bytes());
        assert_eq!(excerpt(&long, 0, MAX_SHOWN_CHARS), format!("{fits}… (1025 characters, {digest})"));
    }

    #[test]
    fn a_long_text_is_cut_around_what_differs() {
        let text = format!("{}X{}", "a".repeat(5_000), "b".repeat(5_000));
        let digest = Sha256Digest::of(text.as_bytes());
        let shown = format!("…aaXbbbbb… (10001 characters, {digest})");
        assert_eq!(excerpt(&text, 5_000, 8), shown);
        assert_eq!(excerpt(&text, 10_001, 8), format!("…bbbbbbbb (10001 characters, {digest})"));
        assert_eq!(excerpt(&text, 5, 8), format!("aaaaaaaa… (10001 characters, {digest})"));
    }

    #[test]
    fn a_value_is_rendered_up_to_a_limit() {
        let value = Value::decode(br#"[["abcdef",123456],{"d":[["k",[1,2,3]]]}]"#).unwrap();
        let notation = Language::Python.notation();
        let whole = render(&value, notation);
        for chars in 0..whole.len() {
            assert_eq!(render_up_to(&value, notation, chars), format!("{}…", &whole[..chars]));
        }
        assert_eq!(render_up_to(&value, notation, whole.len()), whole);
    }
}
