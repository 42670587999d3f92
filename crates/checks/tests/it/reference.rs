//! `docs/requests.md` says what the constants say, and what it shows can be read.

use std::time::Duration;

use proofmark_checks::limits::*;
use proofmark_checks::*;

fn reference() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/requests.md");
    std::fs::read_to_string(path).unwrap()
}

fn millis(time: Duration) -> String {
    time.as_millis().to_string()
}

#[test]
fn the_limits_are_those_of_the_constants() {
    let text = reference();
    let disk = DEFAULT_DISK_MB.to_string();
    let rows = [
        ("memory_mb", DEFAULT_MEMORY_MB.to_string(), MAX_MEMORY_MB.to_string()),
        ("timeout_ms", millis(DEFAULT_TIMEOUT), millis(MAX_TIMEOUT)),
        ("total_timeout_ms", millis(DEFAULT_TOTAL_TIMEOUT), millis(MAX_TOTAL_TIMEOUT)),
        ("output_bytes", DEFAULT_OUTPUT_BYTES.to_string(), MAX_OUTPUT_BYTES.to_string()),
        ("processes", DEFAULT_PROCESSES.to_string(), MAX_PROCESSES.to_string()),
        ("disk_mb", disk, MAX_DISK_MB.to_string()),
    ];
    for (field, default, cap) in rows {
        assert!(text.contains(&format!("| `{field}` | {default} | {cap} |")), "{field}");
    }
    let sentences = [
        format!("1 to {MAX_TESTS} tests"),
        format!("at most {MAX_NAME_CHARS} characters"),
        format!("at most {MAX_REQUEST_BYTES} bytes and at most {MAX_REQUEST_DEPTH} levels of nesting"),
        format!("longer than {MAX_SHOWN_CHARS} characters are cut"),
        format!("has at most {MAX_DIFFERENCE_CHARS} characters and aligns"),
        format!("the last {MAX_WRITTEN_BYTES} bytes that the check wrote"),
        format!("sets within sets {MAX_SET_DEPTH} levels"),
        format!("A receipt has at most {} bytes", proofmark_receipt::json::MAX_BYTES),
        format!("1 to {MAX_WORDS} words"),
        format!("A path has at most {MAX_PATH_BYTES} bytes. Its names"),
        format!("at most {MAX_FILES} files"),
        format!(
            "By default a command has {DEFAULT_COMMAND_MEMORY_MB} MiB of memory, {DEFAULT_COMMAND_DISK_MB} MiB of disk, \
             {DEFAULT_COMMAND_PROCESSES} processes and threads, and {} ms; at most {MAX_COMMAND_MEMORY_MB} MiB, \
             {MAX_COMMAND_DISK_MB} MiB, {MAX_COMMAND_PROCESSES} and {} ms",
            millis(DEFAULT_COMMAND_TIMEOUT),
            millis(MAX_TOTAL_TIMEOUT)
        ),
        format!("at most {MAX_CONSTRAINT_BYTES} bytes, and a request at most {MAX_CONSTRAINTS} constraints"),
        format!("a compiled pattern has at most {MAX_PATTERN_BYTES} bytes"),
        format!("The first {MAX_VIOLATIONS} violations are listed"),
        format!("A suite has at most {MAX_PACKAGES}."),
        format!("within {NEAR_ZERO:e} of the expected number"),
        format!("A path has at most {} bytes", proofmark_predicate::limits::MAX_PATH_BYTES),
    ];
    let text = text.replace('\n', " ");
    for sentence in sentences {
        assert!(text.contains(&sentence), "{sentence}");
    }
}

#[test]
fn every_example_can_be_read() {
    let text = reference();
    let examples: Vec<_> = text.split("```json\n").skip(1).filter_map(|rest| rest.split("\n```\n").next()).collect();
    let read = |text: &str| drop(Request::read(text.as_bytes(), Format::Json, None).unwrap());
    let (whole, tests): (Vec<&str>, Vec<&str>) = examples.iter().partition(|text| text.contains("verification"));
    whole.iter().for_each(|text| read(text));
    let heads = [r#""language": "python", "entrypoint": "f""#, r#""language": "python""#, r#""language": "bash""#];
    assert_eq!((whole.len(), tests.len()), (14, heads.len()));
    for (head, example) in heads.into_iter().zip(tests) {
        read(&format!(
            r#"{{"output": {{"content": ""}}, "verification": {{"kind": "test_suite", {head}, "tests": [{example}]}}}}"#
        ));
    }
}

/// The last column of the table of constraints holds one of each form.
#[test]
fn every_example_of_a_constraint_can_be_read() {
    let text = reference();
    let table = text.split("| constraint | passes if").nth(1).unwrap().split("\n\n").next().unwrap();
    let examples: Vec<_> = table.lines().skip(2).map(|row| row.split('`').rev().nth(1).unwrap()).collect();
    assert_eq!(examples.len(), 12);
    for example in examples.into_iter().filter(|example| *example != "json_schema") {
        let request = format!(
            r#"{{"output": {{"content": ""}}, "verification": {{"kind": "schema_check", "checks": [{{"name": "a", "constraint": "{example}"}}]}}}}"#
        );
        Request::read(request.as_bytes(), Format::Json, None).unwrap();
    }
}
