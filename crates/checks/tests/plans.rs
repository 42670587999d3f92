//! The jobs a request asks for, and the limits they get.

use std::time::Duration;

use proofmark_checks::limits::{
    DEFAULT_DISK_MB, DEFAULT_MEMORY_MB, DEFAULT_OUTPUT_BYTES, DEFAULT_PROCESSES, DEFAULT_TIMEOUT,
    DEFAULT_TOTAL_TIMEOUT, MAX_TIMEOUT,
};
use proofmark_checks::{Caps, Format, MAX_MEMORY_MB, Program, Request, RequestError};

fn json(text: &str) -> Result<Request, RequestError> {
    Request::read(text.as_bytes(), Format::Json, None)
}

/// A request whose verification block is a suite of the kind and these members.
fn suite(members: &str) -> Result<Request, RequestError> {
    json(&format!(r#"{{"output": {{"content": "x"}}, "verification": {{"kind": "test_suite", {members}}}}}"#))
}

/// A suite in python of one test with these members.
fn test(head: &str, members: &str) -> Result<Request, RequestError> {
    suite(&format!(r#""language": "python", {head} "tests": [{{{members}}}]"#))
}

#[test]
fn a_plan_has_defaults_takes_what_is_asked_and_grants_no_more_than_the_caps() {
    const OK: &str = r#""name": "a", "input": "1", "expected_output": "2""#;
    let plan = test("", OK).unwrap().plan(&Caps::default()).unwrap();
    let limits = plan.submission.as_ref().unwrap().limits;
    assert_eq!((limits.memory_mb, limits.total_timeout), (DEFAULT_MEMORY_MB, DEFAULT_TOTAL_TIMEOUT));
    assert_eq!((limits.output_bytes, limits.processes), (DEFAULT_OUTPUT_BYTES, DEFAULT_PROCESSES));
    assert_eq!(limits.disk_mb, DEFAULT_DISK_MB);
    assert_eq!(plan.submission.as_ref().unwrap().cases[0].timeout, DEFAULT_TIMEOUT);

    let head = r#""limits": {"memory_mb": 99999999999, "timeout_ms": 70000, "output_bytes": 10, "processes": 3, "disk_mb": 2},"#;
    let plan = test(head, OK).unwrap().plan(&Caps::default()).unwrap();
    let limits = plan.submission.as_ref().unwrap().limits;
    assert_eq!((limits.memory_mb, limits.output_bytes, limits.processes, limits.disk_mb), (MAX_MEMORY_MB, 10, 3, 2));
    assert_eq!(plan.submission.as_ref().unwrap().cases[0].timeout, MAX_TIMEOUT);

    let own = format!(r#"{OK}, "timeout_ms": 7"#);
    let plan = test(head, &own).unwrap().plan(&Caps::default()).unwrap();
    assert_eq!(plan.submission.as_ref().unwrap().cases[0].timeout, Duration::from_millis(7));

    let caps = Caps {
        memory_mb: 1,
        timeout: Duration::from_millis(2),
        total_timeout: Duration::from_millis(3),
        ..Caps::default()
    };
    let plan = test(head, OK).unwrap().plan(&caps).unwrap();
    assert_eq!(plan.submission.as_ref().unwrap().limits.memory_mb, 1);
    assert_eq!(plan.submission.as_ref().unwrap().limits.total_timeout, Duration::from_millis(3));
    assert_eq!(plan.submission.as_ref().unwrap().cases[0].timeout, Duration::from_millis(2));
    let error = test("", OK).unwrap().plan(&Caps { tests: 0, ..caps }).unwrap_err();
    assert_eq!(error.code(), "too_many");
}

#[test]
fn the_job_of_a_submission_holds_nothing_of_what_is_expected() {
    let requests = [
        test("", r#""name": "a", "input": "f()", "expected_output": "'sEcReT' + ''""#),
        test(r#""entrypoint": "f","#, r#""name": "a", "input": [], "expected_output": "\"sEcReT\"""#),
        test(r#""mode": "stdio","#, r#""name": "a", "input": "f()", "expected_output": "sEcReT""#),
    ];
    for request in requests {
        let plan = request.unwrap().plan(&Caps::default()).unwrap();
        assert!(!format!("{:?}", plan.submission).contains("sEcReT"));
        assert_eq!(plan.submission.as_ref().unwrap().cases.len(), 1);
        if let Some(expected) = plan.expected {
            assert_eq!(expected.program, Program::Pristine);
            assert_eq!(expected.cases[0].input, "'sEcReT' + ''");
        } else {
            assert!(!matches!(plan.submission.unwrap().program, Program::Expression { .. }));
        }
    }
}
