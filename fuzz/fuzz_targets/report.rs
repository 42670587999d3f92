//! Any bytes are a report of a test runner or none: there is an answer, and a pass only with the exit status 0.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use proofmark_checks::{CaseOutcome, End, Format, Outcome, Request, Written};
use proofmark_receipt::Verdict;

const COMMANDS: [&str; 3] = [r#"["pytest"]"#, r#"["node", "--test"]"#, r#"["bash", "run.sh"]"#];

fuzz_target!(|bytes: &[u8]| {
    for command in COMMANDS {
        let text = format!(
            r#"{{"output": {{"files": {{}}}}, "verification": {{"kind": "test_suite", "mode": "command", "command": {command}}}}}"#
        );
        let Ok(request) = Request::read(text.as_bytes(), Format::Json, None) else { return };
        for status in [0, 1] {
            let (output, report) = (bytes.to_vec(), Some(bytes.to_vec()));
            let end = End::Ran { status, output, errors: Vec::new(), report };
            let case = CaseOutcome { end, elapsed: Duration::ZERO, timeout: Duration::ZERO, written: Written::default(), inside: None };
            let outcome = Outcome { runtime: "python3.11".to_owned(), cases: vec![case], ..Outcome::default() };
            let judgment = request.judge(Some(&outcome), None);
            assert!(judgment.results.total > 0);
            assert!(status == 0 || judgment.verdict != Verdict::Pass);
        }
    }
});
