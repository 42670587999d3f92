//! The functions and methods of the language, one row each: the parser, the type checker and the evaluator read this
//! table, and `docs/predicate.md` explains every row.
//!
//! `has`, `path`, `matches` and the macros have a syntax of their own and are not rows.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::decimal::Decimal;
use crate::error::Failure;
use crate::limits::MAX_STRING_BYTES;
use crate::time::{Field, TimeError, Timestamp, parse_offset};
use crate::types::{Class, Type};
use crate::value::Value;

/// A row of the table. The evaluator charges the length of every argument that is a text or bytes before it calls
/// `run`, and the items of a list where `walks` says so. So a function whose work is linear in that needs no charge of its own.
pub(crate) struct Signature {
    /// The name in messages.
    name: &'static str,
    synonyms: &'static [&'static str],
    form: Form,
    /// What a method is called on is its first argument.
    pub(crate) takes: &'static [Parameter],
    pub(crate) gives: Type<'static>,
    pub(crate) run: Run,
    /// Whether it looks at each item of a list.
    pub(crate) walks: bool,
}

/// How a function is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `name(x)`
    Function,
    /// `x.name()`
    Method,
    /// `name(x)` or `x.name()`
    Both,
}

/// What a function takes as one argument.
pub(crate) struct Parameter {
    /// The types of which it may be; none for any.
    pub(crate) classes: &'static [Class],
    /// The same in the words of an unknown answer.
    pub(crate) expected: &'static str,
}

/// The code of a function, by how many arguments it takes.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    One(fn(&Value) -> Answer),
    Two(fn(&Value, &Value) -> Answer),
    OneOrTwo(fn(&Value, Option<&Value>) -> Answer),
}

/// Why a function has no answer.
pub(crate) enum Refusal {
    /// The first argument is not what its parameter expects.
    Type,
    /// The call cannot be computed.
    Call(Failure),
    /// The second argument cannot be used.
    Second(Failure),
}

type Answer = Result<Value, Refusal>;

const ANY: Parameter = Parameter { classes: &[], expected: "anything" };
const TEXT: Parameter = Parameter { classes: &[Class::String], expected: "string" };
const SIZED: Parameter = Parameter {
    classes: &[Class::String, Class::Bytes, Class::List, Class::Map],
    expected: "string, bytes, list or map",
};
const LIST: Parameter = Parameter { classes: &[Class::List], expected: "list of numbers" };
const INTEGER: Parameter = Parameter {
    classes: &[Class::Number, Class::String, Class::Timestamp, Class::Duration],
    expected: "number, string or timestamp",
};
const NUMBER: Parameter = Parameter { classes: &[Class::Number, Class::String], expected: "number or string" };
const PRINTABLE: Parameter = Parameter {
    classes: &[Class::String, Class::Number, Class::Bool, Class::Bytes, Class::Timestamp, Class::Duration],
    expected: "text, number, bool, bytes or time",
};
const TRUTH: Parameter = Parameter { classes: &[Class::Bool, Class::String], expected: "bool or string" };
const OCTETS: Parameter = Parameter { classes: &[Class::Bytes, Class::String], expected: "string or bytes" };
const INSTANT: Parameter =
    Parameter { classes: &[Class::Timestamp, Class::String, Class::Number], expected: "RFC 3339 text" };
const SPAN: Parameter = Parameter { classes: &[Class::Duration, Class::String], expected: "text such as `1h30m`" };
const TIME: Parameter = Parameter { classes: &[Class::Timestamp, Class::Duration], expected: "timestamp" };

static FUNCTIONS: [Signature; 27] = [
    Signature { form: Form::Both, ..function("size", &[SIZED], Type::Number, size) },
    comparison("startsWith", |text, part| in_texts(text, part, |text, part| text.starts_with(part))),
    comparison("endsWith", |text, part| in_texts(text, part, |text, part| text.ends_with(part))),
    comparison("contains", |text, part| in_texts(text, part, |text, part| text.contains(part))),
    Signature { form: Form::Both, ..function("lower", &[TEXT], Type::String, lower) },
    Signature { form: Form::Both, walks: true, ..function("sum", &[LIST], Type::Number, sum) },
    function("int", &[INTEGER], Type::Number, int),
    function("uint", &[NUMBER], Type::Number, uint),
    Signature { synonyms: &["decimal"], ..function("double", &[NUMBER], Type::Number, decimal) },
    function("string", &[PRINTABLE], Type::String, string),
    function("bool", &[TRUTH], Type::Bool, boolean),
    function("bytes", &[OCTETS], Type::Bytes, bytes),
    function("timestamp", &[INSTANT], Type::Timestamp, timestamp),
    function("duration", &[SPAN], Type::Duration, duration),
    function("type", &[ANY], Type::Denotation, |value| Ok(Value::Type(value.type_name()))),
    function("dyn", &[ANY], Type::Any, |value| Ok(value.clone())),
    function("sha256", &[OCTETS], Type::String, sha256),
    calendar("getFullYear", |time, offset| field(Field::FullYear, time, offset)),
    calendar("getMonth", |time, offset| field(Field::Month, time, offset)),
    calendar("getDate", |time, offset| field(Field::Date, time, offset)),
    calendar("getDayOfMonth", |time, offset| field(Field::DayOfMonth, time, offset)),
    calendar("getDayOfWeek", |time, offset| field(Field::DayOfWeek, time, offset)),
    calendar("getDayOfYear", |time, offset| field(Field::DayOfYear, time, offset)),
    calendar("getHours", |time, offset| field(Field::Hours, time, offset)),
    calendar("getMinutes", |time, offset| field(Field::Minutes, time, offset)),
    calendar("getSeconds", |time, offset| field(Field::Seconds, time, offset)),
    calendar("getMilliseconds", |time, offset| field(Field::Milliseconds, time, offset)),
];

/// What has a syntax of its own.
// Only for suggestions and lists of names: the parser looks for these before it searches the table.
const SPECIAL_FUNCTIONS: [&str; 3] = ["has", "path", "matches"];
const SPECIAL_METHODS: [&str; 2] = ["path", "matches"];

/// `name(x)`
const fn function(
    name: &'static str,
    takes: &'static [Parameter],
    gives: Type<'static>,
    run: fn(&Value) -> Answer,
) -> Signature {
    Signature { name, synonyms: &[], form: Form::Function, takes, gives, run: Run::One(run), walks: false }
}

/// `text.name(text)`, which is true or false.
const fn comparison(name: &'static str, run: fn(&Value, &Value) -> Answer) -> Signature {
    let (takes, run) = (&[TEXT, TEXT], Run::Two(run));
    Signature { name, synonyms: &[], form: Form::Method, takes, gives: Type::Bool, run, walks: false }
}

/// `time.name()`, or `time.name(offset)`.
const fn calendar(name: &'static str, run: fn(&Value, Option<&Value>) -> Answer) -> Signature {
    let (takes, run) = (&[TIME, TEXT], Run::OneOrTwo(run));
    Signature { name, synonyms: &[], form: Form::Method, takes, gives: Type::Number, run, walks: false }
}

/// A function or method, but for `has`, `path`, `matches` and the macros.
#[derive(Clone, Copy)]
pub struct Function(&'static Signature);

impl Function {
    /// Its name, whichever of its synonyms was written.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0.name
    }

    pub(crate) fn signature(self) -> &'static Signature {
        self.0
    }

    /// What `name(…)` calls.
    pub(crate) fn named(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|row| row.form != Form::Method && row.is_called(name)).map(Self)
    }

    /// What `x.name(…)` calls.
    pub(crate) fn method(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|row| row.form != Form::Function && row.is_called(name)).map(Self)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The names of what is called as `name(…)`.
pub(crate) fn function_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().filter(|row| row.form != Form::Method).flat_map(Signature::names).chain(SPECIAL_FUNCTIONS)
}

/// The names of what is called as `x.name(…)`, without the macros.
pub(crate) fn method_names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().filter(|row| row.form != Form::Function).flat_map(Signature::names).chain(SPECIAL_METHODS)
}

impl Signature {
    fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.synonyms.iter().copied())
    }

    fn is_called(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }
}

impl Parameter {
    pub(crate) fn admits(&self, value: &Value) -> bool {
        self.classes.is_empty() || self.classes.contains(&Class::of_type(value.type_name()))
    }
}

impl Run {
    pub(crate) fn takes(self, count: usize) -> bool {
        match self {
            Self::One(_) => count == 1,
            Self::Two(_) => count == 2,
            Self::OneOrTwo(_) => count == 1 || count == 2,
        }
    }
}

fn in_texts(text: &Value, part: &Value, test: fn(&str, &str) -> bool) -> Answer {
    match (text, part) {
        (Value::String(text), Value::String(part)) => Ok(Value::Bool(test(text, part))),
        _ => Err(Refusal::Type),
    }
}

fn field(field: Field, time: &Value, offset: Option<&Value>) -> Answer {
    let seconds = match offset {
        Some(Value::String(text)) => Some(parse_offset(text).map_err(|_| Refusal::Second(Failure::Conversion))?),
        _ => None,
    };
    let value = match (time, seconds) {
        (Value::Timestamp(time), seconds) => Some(time.field(field, seconds.unwrap_or(0))),
        (Value::Duration(span), None) => span.field(field),
        _ => None,
    };
    value.map(Value::Int).ok_or(Refusal::Type)
}

/// Code points of a text, bytes of bytes, elements of a list, entries of a map.
fn size(value: &Value) -> Answer {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.entries().len(),
        _ => return Err(Refusal::Type),
    };
    i64::try_from(size).map(Value::Int).map_err(|_| Refusal::Call(Failure::Overflow))
}

/// Of the numbers of a list: an integer if all of them are, and 0 of none.
fn sum(value: &Value) -> Answer {
    let Value::List(items) = value else { return Err(Refusal::Type) };
    let mut total = Decimal::ZERO;
    for item in items.iter() {
        let item = item.as_decimal().ok_or(Refusal::Type)?;
        total = total.plus(item).map_err(|_| Refusal::Call(Failure::Inexact))?;
    }
    if items.iter().any(|item| matches!(item, Value::Decimal(_))) {
        return Ok(Value::Decimal(total));
    }
    let total = total.to_integer().and_then(|total| i64::try_from(total).ok());
    total.map(Value::Int).ok_or(Refusal::Call(Failure::Overflow))
}

/// Unicode's lower case, which may have more bytes than the text.
fn lower(value: &Value) -> Answer {
    let Value::String(text) = value else { return Err(Refusal::Type) };
    let lower = text.to_lowercase();
    // Checked after the work, which the charge for the argument covers: a character has at most three in lower case.
    if lower.len() > MAX_STRING_BYTES {
        return Err(Refusal::Call(Failure::SizeLimit));
    }
    Ok(Value::from(lower))
}

fn int(value: &Value) -> Answer {
    let number = match value {
        Value::Int(_) => return Ok(value.clone()),
        Value::Timestamp(time) => return Ok(Value::Int(time.seconds())),
        Value::String(text) => return parsed(text.parse().map(Value::Int)),
        Value::UInt(value) => Some(i128::from(*value)),
        // CEL's `int()` drops the fraction, towards zero.
        Value::Decimal(value) => value.truncate(),
        _ => return Err(Refusal::Type),
    };
    let fitting = number.and_then(|number| i64::try_from(number).ok());
    fitting.map(Value::Int).ok_or(Refusal::Call(Failure::Overflow))
}

fn uint(value: &Value) -> Answer {
    let number = match value {
        Value::UInt(_) => return Ok(value.clone()),
        Value::String(text) => return parsed(text.parse().map(Value::UInt)),
        Value::Int(value) => Some(i128::from(*value)),
        Value::Decimal(value) => value.truncate(),
        _ => return Err(Refusal::Type),
    };
    let fitting = number.and_then(|number| u64::try_from(number).ok());
    fitting.map(Value::UInt).ok_or(Refusal::Call(Failure::Overflow))
}

fn decimal(value: &Value) -> Answer {
    match value {
        Value::String(text) => parsed(text.parse().map(Value::Decimal)),
        other => other.as_decimal().map(Value::Decimal).ok_or(Refusal::Type),
    }
}

fn string(value: &Value) -> Answer {
    Ok(Value::from(match value {
        Value::String(_) => return Ok(value.clone()),
        Value::Int(value) => value.to_string(),
        Value::UInt(value) => value.to_string(),
        Value::Decimal(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Timestamp(value) => value.to_string(),
        Value::Duration(value) => value.to_string(),
        Value::Bytes(bytes) => return parsed(std::str::from_utf8(bytes).map(Value::from)),
        _ => return Err(Refusal::Type),
    }))
}

fn boolean(value: &Value) -> Answer {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(Refusal::Call(Failure::Conversion)),
        },
        _ => Err(Refusal::Type),
    }
}

fn bytes(value: &Value) -> Answer {
    match value {
        Value::Bytes(_) => Ok(value.clone()),
        Value::String(text) => Ok(Value::Bytes(Arc::from(text.as_bytes()))),
        _ => Err(Refusal::Type),
    }
}

/// `sha256:` and 64 lower-case hex digits of SHA-256, FIPS 180-4, over the bytes of the argument;
/// of a text those are its UTF-8.
fn sha256(value: &Value) -> Answer {
    let bytes = match value {
        Value::Bytes(bytes) => bytes,
        Value::String(text) => text.as_bytes(),
        _ => return Err(Refusal::Type),
    };
    let nibbles = Sha256::digest(bytes).into_iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = nibbles.filter_map(|nibble| char::from_digit(u32::from(nibble), 16));
    Ok(Value::from("sha256:".chars().chain(digits).collect::<String>()))
}

fn timestamp(value: &Value) -> Answer {
    match value {
        Value::Timestamp(_) => Ok(value.clone()),
        Value::String(text) => text.parse().map(Value::Timestamp).map_err(untimely),
        Value::Int(seconds) => Timestamp::from_seconds(*seconds).map(Value::Timestamp).map_err(untimely),
        _ => Err(Refusal::Type),
    }
}

fn duration(value: &Value) -> Answer {
    match value {
        Value::Duration(_) => Ok(value.clone()),
        Value::String(text) => text.parse().map(Value::Duration).map_err(untimely),
        _ => Err(Refusal::Type),
    }
}

fn parsed<E>(result: Result<Value, E>) -> Answer {
    result.map_err(|_| Refusal::Call(Failure::Conversion))
}

fn untimely(error: TimeError) -> Refusal {
    Refusal::Call(match error {
        TimeError::Malformed => Failure::Conversion,
        TimeError::OutOfRange => Failure::Time,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_agree_with_themselves() {
        for row in &FUNCTIONS {
            let most = match row.run {
                Run::One(_) => 1,
                Run::Two(_) | Run::OneOrTwo(_) => 2,
            };
            assert_eq!(row.takes.len(), most, "{}", row.name);
        }
    }

    #[test]
    fn a_name_calls_one_thing() {
        for mut names in [function_names().collect::<Vec<_>>(), method_names().collect()] {
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{names:?}");
        }
    }
}
