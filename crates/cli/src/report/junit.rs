//! JUnit XML. XML cannot hold most control characters: they are escaped before the writer would leave them out.

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{Case, Group, Status};
use crate::paint::{printable, printable_lines};

/// The report: a suite for each group.
pub(crate) fn report(title: &str, groups: &[Group]) -> Report {
    let mut report = Report::new(format!("proofmark {title}"));
    for group in groups {
        report.add_test_suite(suite(group));
    }
    report
}

fn suite(group: &Group) -> TestSuite {
    let mut suite = TestSuite::new(printable(&group.name));
    if let Some(time) = group.time {
        suite.set_time(time);
    }
    if let Some(receipt) = &group.receipt {
        suite.add_property(("receipt", receipt.as_str()));
    }
    if group.decided_inside > 0 {
        suite.add_property(("decided", "submission"));
    }
    for note in &group.notes {
        suite.add_property(("note", printable(note).as_str()));
    }
    for case in &group.cases {
        suite.add_test_case(test_case(group, case));
    }
    suite
}

fn test_case(group: &Group, case: &Case) -> TestCase {
    let mut test = TestCase::new(printable(&case.name), status(group, case));
    test.set_classname(printable(&group.name));
    if let Some(time) = case.time {
        test.set_time(time);
    }
    if let Some(location) = &case.location {
        test.extra.insert("file".into(), printable(location.path()).into());
        if let Some(line) = location.line {
            test.extra.insert("line".into(), line.to_string().into());
        }
    }
    if let Some(stdout) = case.detail("stdout") {
        test.set_system_out(lines(stdout));
    }
    if let Some(stderr) = case.detail("stderr") {
        test.set_system_err(lines(stderr));
    }
    test
}

fn status(group: &Group, case: &Case) -> TestCaseStatus {
    let mut status = match case.status {
        Status::Pass => return TestCaseStatus::success(),
        // A warning of what passed as a whole is no failure.
        Status::Warning if group.passes(case) => return TestCaseStatus::success(),
        Status::Skipped => TestCaseStatus::skipped(),
        Status::Warning | Status::Fail => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Status::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
    };
    status.set_message(printable(&case.why()));
    if let Some(code) = &case.code {
        status.set_type(printable(code));
    }
    let description = description(case);
    if !description.is_empty() {
        status.set_description(description);
    }
    status
}

/// What is not in the attribute `message`, which has one line.
fn description(case: &Case) -> String {
    let mut parts = Vec::new();
    if let Some(message) = case.message.as_deref().filter(|message| *message != case.why()) {
        parts.push(lines(message));
    }
    for (name, value) in case.details.iter().filter(|(name, _)| !matches!(*name, "stdout" | "stderr")) {
        let name = case.heading(name);
        parts.push(if value.contains('\n') {
            format!("{name}:\n{}", lines(value))
        } else {
            format!("{name}: {}", printable(value))
        });
    }
    parts.extend(case.help.as_deref().map(|help| format!("help: {}", lines(help))));
    parts.join("\n")
}

fn lines(text: &str) -> String {
    printable_lines(text).collect::<Vec<_>>().join("\n")
}
