//! The values programs answer with.

use proofmark_receipt::json::{Json, JsonError, Limits as JsonLimits, MAX_NODES};
use thiserror::Error;

mod from_json;
mod integer;
mod literal;
mod wide;

pub use integer::{Integer, Integers};
pub(crate) use literal::Literals;
pub(crate) use wide::code_points;

/// The longest wire text of one value that is read, in bytes: the cap of `output_bytes` with room for its framing.
pub(crate) const MAX_VALUE_BYTES: usize = 32 << 20;
/// The most values within an answer.
const MAX_VALUE_NODES: usize = 8 * MAX_NODES;

/// How deep the wire text may nest. A level of a dict takes three levels of wire text.
pub const MAX_VALUE_DEPTH: usize = 512;

/// How deep sets may nest in each other. They are shown sorted, which copies what they hold at every level.
pub const MAX_SET_DEPTH: usize = 16;

/// A value of one of the built-in types that programs may answer with.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `None`, `null`.
    Null,
    /// JavaScript's `undefined`.
    Undefined,
    Bool(bool),
    /// An integer of any size; in JavaScript a safe integer of type Number.
    Int(Integer),
    /// An IEEE 754 double.
    Float(f64),
    /// Python's `complex`: real and imaginary part.
    Complex(f64, f64),
    /// JavaScript's `BigInt`.
    BigInt(Integer),
    Text(String),
    /// Ruby's `Symbol`.
    Symbol(String),
    /// A string with lone surrogates: UTF-8 in which surrogates are encoded as other code points are.
    Wide(Vec<u8>),
    /// `bytes`, `bytearray`, `Uint8Array`.
    Bytes(Vec<u8>),
    /// `list`, `Array`.
    List(Vec<Value>),
    /// `tuple`.
    Tuple(Vec<Value>),
    /// `set`, `frozenset`, `Set`.
    Set(Vec<Value>),
    /// `dict`, a plain JavaScript object.
    Dict(Vec<(Value, Value)>),
    /// JavaScript's `Map`.
    Map(Vec<(Value, Value)>),
}

/// Why the wire text of a value cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ValueError {
    /// The value is of a type that cannot be compared.
    #[error("a value of the type `{0}` cannot be compared")]
    Unsupported(String),
    /// The wire text is not JSON, or exceeds `MAX_VALUE_BYTES` or [`MAX_VALUE_DEPTH`].
    #[error("the answer cannot be read: {0}")]
    Syntax(#[from] JsonError),
    /// The wire text is JSON, but says no value.
    #[error("the answer cannot be read: {0}")]
    Malformed(&'static str),
}

impl ValueError {
    /// What to answer instead.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            ValueError::Unsupported(_) => Some("answer with built-in types"),
            ValueError::Syntax(_) | ValueError::Malformed(_) => None,
        }
    }
}

impl Value {
    /// Reads the wire text in which the sandbox hands over one value.
    ///
    /// The wire text comes from the process of the submission, so it may be anything.
    ///
    /// # Errors
    ///
    /// [`ValueError`], with [`ValueError::Unsupported`] naming the type where the value is of another type.
    pub fn decode(wire: &[u8]) -> Result<Value, ValueError> {
        let limits = JsonLimits { max_bytes: MAX_VALUE_BYTES, max_depth: MAX_VALUE_DEPTH, max_nodes: MAX_VALUE_NODES };
        value(&Json::parse_with(wire, limits)?, 0)
    }

    /// The name of the type, as messages say it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Undefined => "undefined",
            Value::Bool(_) => "boolean",
            Value::Int(_) => "integer",
            Value::Float(_) => "float",
            Value::Complex(..) => "complex number",
            Value::BigInt(_) => "BigInt",
            Value::Text(_) | Value::Wide(_) => "string",
            Value::Symbol(_) => "symbol",
            Value::Bytes(_) => "byte string",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Set(_) => "set",
            Value::Dict(_) => "dict",
            Value::Map(_) => "Map",
        }
    }
}

/// Reads one value inside of so many sets.
fn value(wire: &Json, sets: usize) -> Result<Value, ValueError> {
    Ok(match wire {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(token) => Value::Int(integer(token.as_str())?),
        Json::String(text) => Value::Text(text.clone()),
        Json::Array(items) => Value::List(values(items, sets)?),
        Json::Object(object) => {
            let mut members = object.iter();
            match (members.next(), members.next()) {
                (Some((tag, body)), None) => tagged(tag, body, sets)?,
                (None, _) | (Some(_), Some(_)) => {
                    return Err(ValueError::Malformed("an object without exactly one tag"));
                }
            }
        }
    })
}

fn tagged(tag: &str, body: &Json, sets: usize) -> Result<Value, ValueError> {
    Ok(match (tag, body) {
        ("f", Json::String(repr)) => Value::Float(float(repr)?),
        ("t", Json::Array(items)) => Value::Tuple(values(items, sets)?),
        ("s", Json::Array(_)) if sets == MAX_SET_DEPTH => {
            return Err(ValueError::Malformed("sets nested too deep"));
        }
        ("s", Json::Array(items)) => Value::Set(values(items, sets + 1)?),
        ("d", Json::Array(items)) => Value::Dict(pairs(items, sets)?),
        ("m", Json::Array(items)) => Value::Map(pairs(items, sets)?),
        ("b", Json::String(hex)) => Value::Bytes(bytes(hex)?),
        ("w", Json::String(hex)) => wide_text(bytes(hex)?)?,
        ("n", Json::String(digits)) => Value::BigInt(integer(digits)?),
        ("y", Json::String(name)) => Value::Symbol(name.clone()),
        ("u", Json::Number(_)) => Value::Undefined,
        ("c", Json::Array(parts)) => complex(parts)?,
        ("x", Json::String(name)) => return Err(ValueError::Unsupported(name.clone())),
        _ => return Err(ValueError::Malformed("an unknown tag")),
    })
}

fn values(items: &[Json], sets: usize) -> Result<Vec<Value>, ValueError> {
    items.iter().map(|item| value(item, sets)).collect()
}

fn pairs(items: &[Json], sets: usize) -> Result<Vec<(Value, Value)>, ValueError> {
    items
        .iter()
        .map(|item| match item.as_array() {
            Some([key, member]) => Ok((value(key, sets)?, value(member, sets)?)),
            Some(_) | None => Err(ValueError::Malformed("an entry that is not a pair")),
        })
        .collect()
}

fn complex(parts: &[Json]) -> Result<Value, ValueError> {
    match parts {
        [Json::String(re), Json::String(im)] => Ok(Value::Complex(float(re)?, float(im)?)),
        _ => Err(ValueError::Malformed("a complex number without two parts")),
    }
}

fn integer(token: &str) -> Result<Integer, ValueError> {
    Integer::new(token).ok_or(ValueError::Malformed("a number that is not an integer"))
}

fn float(repr: &str) -> Result<f64, ValueError> {
    match repr {
        "nan" => return Ok(f64::NAN),
        "inf" => return Ok(f64::INFINITY),
        "-inf" => return Ok(f64::NEG_INFINITY),
        _ => {}
    }
    // Rust's `parse` also reads `infinity` and `+nan`, which no harness writes.
    let plain = repr.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    let number = repr.parse::<f64>().ok().filter(|number| plain && number.is_finite());
    number.ok_or(ValueError::Malformed("a float that is not a number"))
}

fn bytes(hex: &str) -> Result<Vec<u8>, ValueError> {
    // It is read digit by digit: `from_str_radix` would read `+1` as well.
    let digit = |byte: u8| char::from(byte).to_digit(16);
    hex.as_bytes()
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect::<Option<_>>()
        .ok_or(ValueError::Malformed("bytes that are not hexadecimal"))
}

/// A wide string without a lone surrogate is the plain string it spells, so that equal strings are equal values.
fn wide_text(bytes: Vec<u8>) -> Result<Value, ValueError> {
    if code_points(&bytes).is_none() {
        return Err(ValueError::Malformed("a string that is not UTF-8"));
    }
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Value::Text(text),
        Err(error) => Value::Wide(error.into_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn int(digits: &str) -> Value {
        Value::Int(Integer::new(digits).unwrap())
    }

    #[test]
    fn every_tag_is_read() {
        let table: [(&str, Value); 17] = [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("-0", int("0")),
            ("123456789012345678901234567890", int("123456789012345678901234567890")),
            ("\"a\\u00e9\"", Value::Text("aé".to_owned())),
            ("[1,[]]", Value::List(vec![int("1"), Value::List(vec![])])),
            (r#"{"f":"1e+21"}"#, Value::Float(1e21)),
            (r#"{"f":"-inf"}"#, Value::Float(f64::NEG_INFINITY)),
            (r#"{"t":[1]}"#, Value::Tuple(vec![int("1")])),
            (r#"{"s":[1]}"#, Value::Set(vec![int("1")])),
            (r#"{"d":[["a",1]]}"#, Value::Dict(vec![(Value::Text("a".to_owned()), int("1"))])),
            (r#"{"m":[[1,null]]}"#, Value::Map(vec![(int("1"), Value::Null)])),
            (r#"{"b":"00fF"}"#, Value::Bytes(vec![0, 255])),
            (r#"{"w":"eda080"}"#, Value::Wide(vec![0xed, 0xa0, 0x80])),
            (r#"{"y":"a"}"#, Value::Symbol("a".to_owned())),
            (r#"{"n":"-7"}"#, Value::BigInt(Integer::new("-7").unwrap())),
            (r#"{"c":["1","-2.5"]}"#, Value::Complex(1.0, -2.5)),
        ];
        for (wire, expected) in table {
            assert_eq!(Value::decode(wire.as_bytes()), Ok(expected), "{wire}");
        }
        assert_eq!(Value::decode(br#"{"u":0}"#), Ok(Value::Undefined));
        assert!(matches!(Value::decode(br#"{"f":"nan"}"#), Ok(Value::Float(x)) if x.is_nan()));
        assert_eq!(Value::decode(br#"{"w":"61"}"#), Ok(Value::Text("a".to_owned())));
    }

    #[test]
    fn forged_wire_text_is_refused() {
        let wires = [
            "",
            "1.5",
            "1e3",
            "{}",
            r#"{"f":1}"#,
            r#"{"f":"1e999"}"#,
            r#"{"f":"infinity"}"#,
            r#"{"f":"+nan"}"#,
            r#"{"t":1}"#,
            r#"{"d":[[1]]}"#,
            r#"{"d":[1]}"#,
            r#"{"b":"0"}"#,
            r#"{"b":"+1"}"#,
            r#"{"w":"ff"}"#,
            r#"{"n":"1n"}"#,
            r#"{"n":"007"}"#,
            r#"{"n":""}"#,
            r#"{"c":["1"]}"#,
            r#"{"c":[1,2]}"#,
            r#"{"y":1}"#,
            r#"{"z":0}"#,
            r#"{"t":[],"s":[]}"#,
            "1 2",
            "NaN",
        ];
        for wire in wires {
            assert!(Value::decode(wire.as_bytes()).is_err(), "{wire}");
        }
    }

    #[test]
    fn an_unsupported_type_is_named_wherever_it_stands() {
        let error = Value::decode(br#"[{"t":[{"x":"Decimal"}]}]"#).unwrap_err();
        assert_eq!(error, ValueError::Unsupported("Decimal".to_owned()));
        assert_eq!(error.to_string(), "a value of the type `Decimal` cannot be compared");
        assert_eq!(error.help(), Some("answer with built-in types"));
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |open: &str, close: &str, depth: usize| format!("{}0{}", open.repeat(depth), close.repeat(depth));
        assert!(Value::decode(nested("[", "]", MAX_VALUE_DEPTH).as_bytes()).is_ok());
        assert!(Value::decode(nested("[", "]", MAX_VALUE_DEPTH + 1).as_bytes()).is_err());
        assert!(Value::decode(nested("[", "]", 1_000_000).as_bytes()).is_err());
        assert!(Value::decode(nested(r#"{"d":[[0,"#, "]]}", 1_000_000).as_bytes()).is_err());
        assert!(Value::decode(nested(r#"{"s":["#, "]}", MAX_SET_DEPTH).as_bytes()).is_ok());
        assert!(Value::decode(nested(r#"{"s":["#, "]}", MAX_SET_DEPTH + 1).as_bytes()).is_err());
        assert!(Value::decode(nested(r#"{"s":[[{"d":[[0,"#, "]]}]]}", MAX_SET_DEPTH + 1).as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn decoding_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Value::decode(&bytes);
        }

        #[test]
        fn decoding_never_panics_near_the_wire_text(wire in r#"(\{"[ftsdmbwnucxy]":|\[|\]|\}|,|"[0-9a-fx.]*"|[0-9]+|null){0,24}"#) {
            let _ = Value::decode(wire.as_bytes());
        }
    }
}
