//! Any response has one result or none, and none of what is quoted.

#![no_main]

use libfuzzer_sys::fuzz_target;
use proofmark_contract::response::extract;

fuzz_target!(|text: &str| {
    if let Err(error) = extract(text.as_bytes()) {
        assert!(!error.code().is_empty());
    }
    let quoted: String = text.split(['\n', '\r']).map(|line| format!("> {line}\n")).collect();
    assert!(extract(quoted.as_bytes()).is_err());
});
