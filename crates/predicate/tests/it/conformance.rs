//! The applicable cases of the CEL conformance suite.

use proofmark_predicate::{CompileError, Duration, Key, Map, Predicate, Timestamp, TypeName, UnknownError, Value};
use std::collections::BTreeMap;

use crate::left_out;
use serde_json::Value as Json;

/// Fewer passing cases than this means something was lost.
const LEAST_PASSED: usize = 1056;

enum Answer {
    Value(Value),
    Refused(CompileError),
    Unknown(UnknownError),
}

#[test]
fn applicable_cases_pass() {
    let Some(cases) = cases() else { return };
    let (mut passed, mut wrong, mut out) = (0, Vec::new(), BTreeMap::<_, usize>::new());
    for case in &cases {
        if let Some(reason) = left_out::reason(case) {
            *out.entry(reason).or_default() += 1;
            if left_out::is_single(case) && verdict(case).is_ok() {
                wrong.push(format!("{} | passes, yet is left out", left_out::name(case)));
            }
            continue;
        }
        match verdict(case) {
            Ok(()) => passed += 1,
            Err(message) => wrong.push(format!("{} | {message}", left_out::name(case))),
        }
    }
    println!("passed: {passed} of {}", cases.len());
    for (reason, count) in &out {
        println!("left out: {count:4} {reason}");
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(passed >= LEAST_PASSED, "only {passed} passed");
}

fn cases() -> Option<Vec<Json>> {
    let text = std::fs::read_to_string(proofmark_testing::conformance("cel/simple.json")?).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn verdict(case: &Json) -> Result<(), String> {
    let source = case["expr"].as_str().unwrap();
    let answer = answer(source, &facts(&case["b"]));
    let expected = &case["exp"];
    let shown = || format!("`{source}` expected {expected}");
    match (expected.get("value"), answer) {
        (Some(expected), Answer::Value(found)) if same(expected, &found) => Ok(()),
        (Some(_), Answer::Value(found)) => Err(format!("{}, found {found:?}", shown())),
        (Some(_), Answer::Refused(error)) => Err(format!("{}, refused: {error}", shown())),
        (Some(_), Answer::Unknown(error)) => Err(format!("{}, unknown: {error}", shown())),
        // An error for want of a function or a syntax would not be the error that is meant.
        (None, Answer::Refused(error)) if error.code() == "unknown_name" => {
            Err(format!("{}, refused: {error}", shown()))
        }
        (None, Answer::Refused(_) | Answer::Unknown(_)) => Ok(()),
        (None, Answer::Value(found)) => Err(format!("{}, found {found:?}", shown())),
    }
}

fn answer(source: &str, facts: &Value) -> Answer {
    match Predicate::compile(source) {
        Err(error) => Answer::Refused(error),
        Ok(predicate) => match predicate.value(facts) {
            Ok(value) => Answer::Value(value),
            Err(unknown) => Answer::Unknown(unknown),
        },
    }
}

fn facts(bindings: &Json) -> Value {
    let bindings = bindings.as_object().unwrap().iter();
    bindings.map(|(name, value)| (name.as_str(), read(value).unwrap())).collect()
}

fn same(expected: &Json, found: &Value) -> bool {
    match read(expected) {
        Some(expected) => expected == *found,
        None => false,
    }
}

/// A value as the suite writes it; none for those this language does not have.
fn read(json: &Json) -> Option<Value> {
    let (kind, value) = json.as_object()?.iter().next()?;
    let text = || value.as_str();
    Some(match kind.as_str() {
        "null" => Value::Null,
        "bool" => Value::Bool(value.as_bool()?),
        "int" => Value::Int(text()?.parse().ok()?),
        "uint" => Value::UInt(text()?.parse().ok()?),
        "double" => Value::Decimal(text()?.parse().ok()?),
        "string" => Value::from(text()?),
        "bytes" => {
            let bytes = value.as_array()?.iter();
            Value::Bytes(bytes.map(|byte| byte.as_u64().and_then(|b| u8::try_from(b).ok())).collect::<Option<_>>()?)
        }
        "list" => value.as_array()?.iter().map(read).collect::<Option<Vec<_>>>()?.into(),
        "map" => {
            let entries = value.as_array()?.iter().map(|entry| {
                let key = match read(&entry[0])? {
                    Value::Bool(key) => Key::Bool(key),
                    Value::Int(key) => Key::Int(key),
                    Value::UInt(key) => Key::UInt(key),
                    Value::String(key) => Key::String(key),
                    _ => return None,
                };
                Some((key, read(&entry[1])?))
            });
            Value::Map(Map::from_entries(entries.collect::<Option<_>>()?))
        }
        "duration" => Value::Duration(Duration::from_nanos(text()?.parse().ok()?)),
        "timestamp" => Value::Timestamp(Timestamp::from_seconds(text()?.parse().ok()?).ok()?),
        "type" => Value::Type(type_name(text()?)?),
        _ => return None,
    })
}

fn type_name(name: &str) -> Option<TypeName> {
    Some(match name {
        "null_type" => TypeName::Null,
        "bool" => TypeName::Bool,
        "int" => TypeName::Int,
        "uint" => TypeName::UInt,
        "double" => TypeName::Decimal,
        "string" => TypeName::String,
        "bytes" => TypeName::Bytes,
        "list" => TypeName::List,
        "map" => TypeName::Map,
        "type" => TypeName::Type,
        "google.protobuf.Timestamp" => TypeName::Timestamp,
        "google.protobuf.Duration" => TypeName::Duration,
        _ => return None,
    })
}
