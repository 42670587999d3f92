//! JUnit's XML, as pytest, jest and many others write it.

use proofmark_receipt::Status;
use roxmltree::{Document, Node, ParsingOptions};

use super::{BadReport, Reported, bad};

/// The most nodes a report may have.
const MAX_NODES: u32 = 1_000_000;

pub(super) fn read(text: &str) -> Result<Vec<Reported>, BadReport> {
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| bad(format!("the report is cut or no XML: {error}")))?;
    let root = document.root_element();
    if !matches!(root.tag_name().name(), "testsuites" | "testsuite") {
        return Err(bad("the report is no JUnit XML: it begins with neither `testsuites` nor `testsuite`"));
    }
    let suites = root.descendants().filter(|node| node.has_tag_name("testsuite"));
    suites.into_iter().try_for_each(agrees)?;
    Ok(root.descendants().filter(|node| node.has_tag_name("testcase")).map(reported).collect())
}

/// What a suite says of itself must be what it holds.
fn agrees(suite: Node<'_, '_>) -> Result<(), BadReport> {
    let cases = || suite.descendants().filter(|node| node.has_tag_name("testcase"));
    let count = |tag: &str| cases().filter(|case| case.children().any(|child| child.has_tag_name(tag))).count();
    for (attribute, found) in
        [("tests", cases().count()), ("failures", count("failure")), ("errors", count("error"))]
    {
        if let Some(said) = suite.attribute(attribute)
            && said.trim().parse() != Ok(found)
        {
            let said: String = said.chars().take(20).collect();
            return Err(bad(format!("the report contradicts itself: it says {said} {attribute} and holds {found}")));
        }
    }
    Ok(())
}

fn reported(case: Node<'_, '_>) -> Reported {
    let part = |name: &str| case.attribute(name).unwrap_or_default();
    let class = part("classname");
    let name = if class.is_empty() { part("name").to_owned() } else { format!("{class}::{}", part("name")) };
    let found = |tag: &str| case.children().find(|child| child.has_tag_name(tag));
    let (status, message) = match (found("error"), found("failure"), found("skipped")) {
        (Some(error), _, _) => (Status::Error, Some(said(error))),
        (None, Some(failure), _) => (Status::Fail, Some(said(failure))),
        (None, None, Some(skipped)) => (Status::Error, Some(format!("skipped: {}", said(skipped)))),
        (None, None, None) => (Status::Pass, None),
    };
    let seconds: Option<f64> = part("time").parse().ok().filter(|time: &f64| (0.0..1e9).contains(time));
    Reported { name, status, message, elapsed_ms: seconds.map(|seconds| (seconds * 1000.0) as u64) }
}

fn said(node: Node<'_, '_>) -> String {
    let message = node.attribute("message").unwrap_or_default();
    if message.is_empty() { node.text().unwrap_or_default().trim().to_owned() } else { message.to_owned() }
}
