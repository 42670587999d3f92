use super::{Json, Object};

/// Appends `value` on one line, members in document order.
pub(super) fn write_value(out: &mut String, value: &Json) {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(number) => out.push_str(number.as_str()),
        Json::String(text) => write_string(out, text),
        Json::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(out, index);
                write_value(out, item);
            }
            out.push(']');
        }
        Json::Object(object) => write_object(out, object),
    }
}

impl Object {
    /// The object on one line, as [`Json::to_text`] writes it.
    pub fn to_text(&self) -> String {
        let mut out = String::with_capacity(2048);
        write_object(&mut out, self);
        out
    }
}

/// Appends `object` on one line, members in document order.
fn write_object(out: &mut String, object: &Object) {
    out.push('{');
    write_members(out, object.iter());
    out.push('}');
}

/// Appends members of an object without its braces.
pub(crate) fn write_members<'a>(out: &mut String, members: impl Iterator<Item = (&'a str, &'a Json)>) {
    for (index, (name, item)) in members.enumerate() {
        separate(out, index);
        write_string(out, name);
        out.push(':');
        write_value(out, item);
    }
}

/// Appends the comma before every item but the first.
pub(super) fn separate(out: &mut String, index: usize) {
    if index > 0 {
        out.push(',');
    }
}

/// Appends `text` quoted: only `"`, `\` and what is below U+0020 is escaped.
pub(super) fn write_string(out: &mut String, text: &str) {
    out.push('"');
    // Most texts need no escape. Without an early end the loop looks at many bytes at a time.
    if !text.bytes().fold(false, |found, byte| found | matches!(byte, b'"' | b'\\' | 0..0x20)) {
        out.push_str(text);
        out.push('"');
        return;
    }
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20)) {
        // On a boundary of characters: the byte found is ASCII, and so a character of its own.
        let (plain, from) = rest.split_at(at);
        out.push_str(plain);
        let (escaped, after) = from.split_at(1);
        write_escape(out, escaped);
        rest = after;
    }
    out.push_str(rest);
    out.push('"');
}

/// Appends the escape of one ASCII character that needs one: the short form where JSON has it.
pub(super) fn write_escape(out: &mut String, character: &str) {
    match character {
        "\"" => out.push_str("\\\""),
        "\\" => out.push_str("\\\\"),
        "\u{8}" => out.push_str("\\b"),
        "\u{c}" => out.push_str("\\f"),
        "\n" => out.push_str("\\n"),
        "\r" => out.push_str("\\r"),
        "\t" => out.push_str("\\t"),
        other => other.encode_utf16().for_each(|unit| write_unit(out, unit)),
    }
}

/// Appends `\uxxxx` in lower case.
pub(super) fn write_unit(out: &mut String, unit: u16) {
    out.push_str("\\u");
    for shift in [12, 8, 4, 0] {
        let digit = u32::from(unit >> shift) & 0xF;
        out.extend(char::from_digit(digit, 16));
    }
}
