//! How values are written.

use std::ops::Range;

/// How the values of a language are written.
#[derive(Debug)]
pub(crate) struct Notation {
    pub(crate) null: &'static str,
    pub(crate) undefined: &'static str,
    /// False, then true.
    pub(crate) truths: [&'static str; 2],
    pub(crate) floats: Floats,
    /// Whether strings are in single quotes, where the text does not hold them alone.
    pub(crate) single_quotes: bool,
    /// Writes a character that is not shown as itself.
    pub(crate) escape: fn(point: u32) -> String,
    /// What stands before a symbol.
    pub(crate) symbol_prefix: &'static str,
    pub(crate) bytes: fn(bytes: &[u8]) -> String,
    /// What opens a tuple, closes one of a single item, and closes any other.
    pub(crate) tuple: [&'static str; 3],
    /// The empty set, then what opens and closes another.
    pub(crate) set: [&'static str; 3],
    /// What stands between the key and the value of a dict.
    pub(crate) between: &'static str,
}

/// How doubles are written.
#[derive(Debug)]
pub(crate) struct Floats {
    pub(crate) not_a_number: &'static str,
    pub(crate) infinity: &'static str,
    /// The decimal exponents of the numbers that are written without one.
    pub(crate) plain: Range<i32>,
    /// What follows a number without fraction that is written without an exponent.
    pub(crate) whole: &'static str,
    /// What follows the only digit before an exponent.
    pub(crate) mantissa: &'static str,
    /// How many digits an exponent has at least.
    pub(crate) exponent_digits: usize,
}

/// JSON with a blank after `,` and `:`, and words for what it does not have.
pub(crate) static JSON: Notation = json(Floats {
    not_a_number: "NaN",
    infinity: "Infinity",
    plain: -4..16,
    whole: ".0",
    mantissa: "",
    exponent_digits: 2,
});

/// The same with numbers as JavaScript writes them, where 59.0 is 59.
pub(crate) static JAVASCRIPT_JSON: Notation = json(Floats {
    not_a_number: "NaN",
    infinity: "Infinity",
    plain: -6..21,
    whole: "",
    mantissa: "",
    exponent_digits: 1,
});

const fn json(floats: Floats) -> Notation {
    Notation {
        null: "null",
        undefined: "null",
        truths: ["false", "true"],
        floats,
        single_quotes: false,
        escape,
        symbol_prefix: "",
        bytes: byte_array,
        tuple: ["[", "]", "]"],
        set: ["Set {}", "Set {", "}"],
        between: ": ",
    }
}

/// A character as `\u` and four digits.
pub(crate) fn escape(point: u32) -> String {
    format!("\\u{point:04x}")
}

/// Bytes as the items of a `Uint8Array`.
pub(crate) fn byte_array(bytes: &[u8]) -> String {
    let items: Vec<_> = bytes.iter().map(u8::to_string).collect();
    format!("Uint8Array({}) [{}]", bytes.len(), items.join(", "))
}
