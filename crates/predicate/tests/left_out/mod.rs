//! The cases of the suite that do not apply, and why.

use serde_json::Value as Json;

/// The full name of a case.
pub(crate) fn name(case: &Json) -> String {
    let part = |key: &str| case[key].as_str().unwrap_or_default().to_owned();
    format!("{}/{}/{}", part("file"), part("section"), part("name"))
}

/// Why a case does not apply, if it does not.
pub(crate) fn reason(case: &Json) -> Option<&'static str> {
    let part = |key: &str| case[key].as_str().unwrap_or_default();
    if case["proto"] == true {
        return Some("needs protobuf messages");
    }
    match (part("file"), part("section")) {
        ("block_ext" | "bindings_ext" | "encoders_ext" | "math_ext" | "network_ext" | "string_ext" | "optionals", _) => {
            return Some("an optional extension library");
        }
        _ => {}
    }
    if part("container") != "" {
        return Some("name resolution in a protobuf container");
    }
    None
}
