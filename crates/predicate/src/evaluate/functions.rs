//! The functions and methods of the language, but for `matches`, `path` and the macros.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{Flow, Machine, Operand};
use crate::ast::{Function, Node};
use crate::error::{Failure, Missing};
use crate::time::{Field, TimeError, Timestamp, parse_offset};
use crate::value::Value;

const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

impl<'a> Machine<'a> {
    pub(super) fn call(&mut self, node: &'a Node, function: Function, arguments: &'a [Node]) -> Flow<Operand<'a>> {
        let Some((first_node, rest)) = arguments.split_first() else {
            return Err(self.absent(node));
        };
        let first = self.eval(first_node)?;
        if let Some(length) = text_length(&first) {
            self.charge_bytes(node, length)?;
        }
        let value = match function {
            Function::Dyn => return Ok(first),
            Function::Type => Ok(Value::Type(first.type_name())),
            Function::Size => size(&first),
            Function::StartsWith | Function::EndsWith | Function::Contains => {
                return self.text_test(function, first_node, &first, rest);
            }
            Function::Int => int(&first),
            Function::UInt => uint(&first),
            Function::Decimal => decimal(&first),
            Function::String => string(&first),
            Function::Bool => boolean(&first),
            Function::Bytes => bytes(&first),
            Function::Sha256 => sha256(&first),
            Function::Timestamp => timestamp(&first),
            Function::Duration => duration(&first),
            Function::Time(field) => {
                return self.time_field(node, field, first_node, &first, rest);
            }
        };
        value.map(Operand::Owned).map_err(|why| self.refused(node, first_node, why, &first))
    }

    fn text_test(
        &mut self,
        function: Function,
        text_node: &'a Node,
        text: &Value,
        rest: &'a [Node],
    ) -> Flow<Operand<'a>> {
        let Value::String(text) = text else {
            return Err(self.wrong_type(text_node, "string", text));
        };
        let Some(part_node) = rest.first() else {
            return Err(self.absent(text_node));
        };
        let part = self.eval(part_node)?;
        let Value::String(part) = &*part else {
            return Err(self.wrong_type(part_node, "string", &part));
        };
        self.charge_bytes(part_node, part.len())?;
        Ok(Operand::from(match function {
            Function::StartsWith => text.starts_with(&**part),
            Function::EndsWith => text.ends_with(&**part),
            _ => text.contains(&**part),
        }))
    }

    fn time_field(
        &mut self,
        node: &'a Node,
        field: Field,
        time_node: &'a Node,
        time: &Value,
        rest: &'a [Node],
    ) -> Flow<Operand<'a>> {
        let offset = match rest.first() {
            None => 0,
            Some(offset_node) => match &*self.eval(offset_node)? {
                Value::String(text) => parse_offset(text).map_err(|_| self.failed(offset_node, Failure::Conversion))?,
                other => return Err(self.wrong_type(offset_node, "string", other)),
            },
        };
        let value = match time {
            Value::Timestamp(time) => Some(time.field(field, offset)),
            Value::Duration(span) if rest.is_empty() => span.field(field),
            _ => None,
        };
        match value {
            Some(value) => Ok(Operand::Owned(Value::Int(value))),
            None => Err(self.refused(node, time_node, Refusal::Type("timestamp"), time)),
        }
    }

    fn refused(&self, node: &'a Node, argument: &'a Node, refusal: Refusal, found: &Value) -> Vec<Missing> {
        match refusal {
            Refusal::Type(expected) => self.wrong_type(argument, expected, found),
            Refusal::Failed(failure) => self.failed(node, failure),
        }
    }
}

/// Why a function gives nothing.
enum Refusal {
    /// It takes values of this type.
    Type(&'static str),
    Failed(Failure),
}

type Answer = Result<Value, Refusal>;

fn text_length(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.len()),
        Value::Bytes(bytes) => Some(bytes.len()),
        _ => None,
    }
}

/// Code points of a text, bytes of bytes, elements of a list, entries of a map.
fn size(value: &Value) -> Answer {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.entries().len(),
        _ => return Err(Refusal::Type("string, bytes, list or map")),
    };
    i64::try_from(size).map(Value::Int).map_err(|_| Refusal::Failed(Failure::Overflow))
}

fn int(value: &Value) -> Answer {
    let number = match value {
        Value::Int(_) => return Ok(value.clone()),
        Value::Timestamp(time) => return Ok(Value::Int(time.seconds())),
        Value::String(text) => return parsed(text.parse().map(Value::Int)),
        Value::UInt(value) => Some(i128::from(*value)),
        Value::Decimal(value) => value.truncate(),
        _ => return Err(Refusal::Type("number, string or timestamp")),
    };
    let fitting = number.and_then(|number| i64::try_from(number).ok());
    fitting.map(Value::Int).ok_or(Refusal::Failed(Failure::Overflow))
}

fn uint(value: &Value) -> Answer {
    let number = match value {
        Value::UInt(_) => return Ok(value.clone()),
        Value::String(text) => return parsed(text.parse().map(Value::UInt)),
        Value::Int(value) => Some(i128::from(*value)),
        Value::Decimal(value) => value.truncate(),
        _ => return Err(Refusal::Type("number or string")),
    };
    let fitting = number.and_then(|number| u64::try_from(number).ok());
    fitting.map(Value::UInt).ok_or(Refusal::Failed(Failure::Overflow))
}

fn decimal(value: &Value) -> Answer {
    match value {
        Value::String(text) => parsed(text.parse().map(Value::Decimal)),
        other => other.as_decimal().map(Value::Decimal).ok_or(Refusal::Type("number or string")),
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
        _ => return Err(Refusal::Type("text, number, bool, bytes or time")),
    }))
}

fn boolean(value: &Value) -> Answer {
    match value {
        Value::Bool(_) => Ok(value.clone()),
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => Err(Refusal::Failed(Failure::Conversion)),
        },
        _ => Err(Refusal::Type("bool or string")),
    }
}

fn bytes(value: &Value) -> Answer {
    match value {
        Value::Bytes(_) => Ok(value.clone()),
        Value::String(text) => Ok(Value::Bytes(Arc::from(text.as_bytes()))),
        _ => Err(Refusal::Type("string or bytes")),
    }
}

/// `sha256:` and 64 lower-case hex digits of SHA-256, FIPS 180-4, over the bytes of the argument;
/// of a text those are its UTF-8.
fn sha256(value: &Value) -> Answer {
    let bytes = match value {
        Value::Bytes(bytes) => bytes,
        Value::String(text) => text.as_bytes(),
        _ => return Err(Refusal::Type("string or bytes")),
    };
    let digest = Sha256::digest(bytes);
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let hex = digits.filter_map(|digit| HEX.get(usize::from(digit)));
    Ok(Value::from("sha256:".chars().chain(hex.copied()).collect::<String>()))
}

fn timestamp(value: &Value) -> Answer {
    match value {
        Value::Timestamp(_) => Ok(value.clone()),
        Value::String(text) => text.parse().map(Value::Timestamp).map_err(untimely),
        Value::Int(seconds) => Timestamp::from_seconds(*seconds).map(Value::Timestamp).map_err(untimely),
        _ => Err(Refusal::Type("RFC 3339 text")),
    }
}

fn duration(value: &Value) -> Answer {
    match value {
        Value::Duration(_) => Ok(value.clone()),
        Value::String(text) => text.parse().map(Value::Duration).map_err(untimely),
        _ => Err(Refusal::Type("text such as `1h30m`")),
    }
}

fn parsed<E>(result: Result<Value, E>) -> Answer {
    result.map_err(|_| Refusal::Failed(Failure::Conversion))
}

fn untimely(error: TimeError) -> Refusal {
    Refusal::Failed(match error {
        TimeError::Malformed => Failure::Conversion,
        TimeError::OutOfRange => Failure::Time,
    })
}
