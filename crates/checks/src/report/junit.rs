//! JUnit's XML, as pytest, jest and many others write it.

use proofmark_receipt::Status;
use proofmark_receipt::document::shown;
use roxmltree::{Document, Node, ParsingOptions};

use super::excerpt::{self, Sources};
use super::{INSIDE, MAX_DEPTH, ReportError, Reported, bad};

/// The most nodes a report may have.
const MAX_NODES: u32 = 1_000_000;
/// The most attributes one element may have: the reader compares each with every other.
const MAX_ATTRIBUTES: usize = 32;

/// The elements that say that a test did not run.
const NOT_RUN: [&str; 3] = ["skipped", "disabled", "ignored"];
/// What the attributes `status` and `result` say of such a test.
const NOT_RUN_WORDS: [&str; 6] = ["notrun", "skipped", "disabled", "ignored", "suppressed", "pending"];

/// What mocha calls the suite of its report.
const SUITE_OF_MOCHA: &str = "Mocha Tests";

const SUITES: [&str; 2] = ["testsuites", "testsuite"];

/// What node says of a test in place of its class.
const CLASS_OF_NODE: &str = "test";

pub(super) fn read(text: &str, sources: Sources<'_>) -> Result<Vec<Reported>, ReportError> {
    within_limits(text)?;
    // Without a DTD there are no entities, which could expand to far more than the report.
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)
        .map_err(|error| bad(format!("the report is cut, or not XML: {error}")))?;
    let root = document.root_element();
    if !is_suite(root) {
        return Err(bad("the report is not JUnit XML: it begins with neither `testsuites` nor `testsuite`"));
    }
    root.descendants().filter(|node| is_suite(*node)).try_for_each(agrees)?;
    let cases = root.descendants().filter(|node| node.has_tag_name("testcase"));
    let suites = root.descendants().filter(|node| is_suite(*node));
    let reported = cases.map(|case| reported(case, sources));
    Ok(reported.chain(suites.filter_map(|suite| broken(suite, sources))).collect())
}

/// What went wrong in a suite outside of its tests.
fn broken(suite: Node<'_, '_>, sources: Sources<'_>) -> Option<Reported> {
    let error = suite.children().find(|child| child.has_tag_name("error") || child.has_tag_name("failure"))?;
    let name = suite.attribute("name").unwrap_or_default();
    Some(Reported { excerpts: excerpts(error, sources), ..Reported::new(name, Status::Error) })
}

fn is_suite(node: Node<'_, '_>) -> bool {
    SUITES.iter().any(|name| node.has_tag_name(*name))
}

/// Refuses what the reader would need too long for, in one pass over the text.
fn within_limits(text: &str) -> Result<(), ReportError> {
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some((_, tag)) = rest.split_once('<') {
        let after =
            |opening: &str, closing: &str| Some(tag.strip_prefix(opening)?.split_once(closing).unwrap_or_default().1);
        if let Some(after) = after("!--", "-->").or_else(|| after("![CDATA[", "]]>")).or_else(|| after("?", "?>")) {
            rest = after;
            continue;
        }
        let (attributes, alone, after) = tag_end(tag);
        match (tag.starts_with('/'), alone) {
            // Below 0 it is not well-formed, which the reader finds.
            (true, _) => depth = depth.saturating_sub(1),
            (false, false) => depth += 1,
            (false, true) => {}
        }
        if attributes > MAX_ATTRIBUTES || depth > MAX_DEPTH {
            return Err(bad(format!(
                "the report nests more than {MAX_DEPTH} deep, or an element has more than {MAX_ATTRIBUTES} attributes"
            )));
        }
        rest = after;
    }
    Ok(())
}

/// How many attributes a tag has, whether it is empty, and the text after it.
fn tag_end(tag: &str) -> (usize, bool, &str) {
    let mut attributes = 0;
    let mut rest = tag;
    while let Some(at) = rest.find(['"', '\'', '>']) {
        let (before, found) = rest.split_at(at);
        let mut characters = found.chars();
        match characters.next() {
            Some('>') | None => return (attributes, before.ends_with('/'), characters.as_str()),
            Some(quote) => {
                attributes += 1;
                rest = characters.as_str().split_once(quote).unwrap_or_default().1;
            }
        }
    }
    (attributes, true, "")
}

/// The counts that a suite states must be those of its tests.
fn agrees(suite: Node<'_, '_>) -> Result<(), ReportError> {
    if suite.attribute("name") == Some(SUITE_OF_MOCHA) {
        return agrees_with_mocha(suite);
    }
    let cases = || suite.descendants().filter(|node| node.has_tag_name("testcase"));
    let parts =
        |tag: &'static str| cases().map(move |case| case.children().filter(|child| child.has_tag_name(tag)).count());
    let elements = |tag| parts(tag).sum();
    let with = |tag| parts(tag).filter(|count| *count > 0).count();
    let (tests, failures, errors) = (cases().count(), elements("failure"), elements("error"));
    // pytest counts a subtest as a test of its own, and an error after a test as another test or not.
    let most = if is_of_pytest(suite) { usize::MAX } else { tests };
    let least = if is_of_pytest(suite) && tests > 0 { tests.saturating_sub(errors).max(1) } else { tests };
    agrees_on(suite, "tests", tests, |stated| (least..=most).contains(&stated) && (tests > 0 || stated == 0))?;
    // Runners count each `failure`, or each test that has one; so with errors.
    agrees_on(suite, "failures", failures, |stated| stated == failures || stated == with("failure"))?;
    agrees_on(suite, "errors", errors, |stated| stated == errors || stated == with("error"))?;
    // An upper bound only: `not_run` also finds tests that runners do not count as skipped.
    let skipped = cases().filter(|case| not_run(*case).is_some()).count();
    agrees_on(suite, "skipped", skipped, |stated| stated <= skipped || is_of_pytest(suite))
}

/// Mocha states fewer tests than it writes where a hook fails or a test is done twice, each failure as an error, and as skipped
/// what is left of these, which may be negative. That hides nothing: every test in the report is judged, so only a count
/// above it tells of one that is missing.
fn agrees_with_mocha(suite: Node<'_, '_>) -> Result<(), ReportError> {
    let cases = || suite.descendants().filter(|node| node.has_tag_name("testcase"));
    let failed = |case: &Node<'_, '_>| case.children().any(|child| child.has_tag_name("failure"));
    let (tests, failures) = (cases().count(), cases().filter(failed).count());
    agrees_on(suite, "tests", tests, |stated| stated <= tests)?;
    agrees_on(suite, "failures", failures, |stated| stated <= failures)?;
    agrees_on(suite, "errors", failures, |stated| stated <= failures)
}

fn is_of_pytest(suite: Node<'_, '_>) -> bool {
    let name = suite.attribute("name").unwrap_or_default();
    name == "pytest" || name == "pytest tests"
}

fn agrees_on(suite: Node<'_, '_>, what: &str, found: usize, fits: impl Fn(usize) -> bool) -> Result<(), ReportError> {
    match suite.attribute(what) {
        Some(stated) if !stated.trim().parse().is_ok_and(fits) => {
            let stated = shown(stated);
            Err(bad(format!("the report contradicts itself: it states `{stated}` {what} and holds {found}")))
        }
        Some(_) | None => Ok(()),
    }
}

fn reported(case: Node<'_, '_>, sources: Sources<'_>) -> Reported {
    let found = |tag: &str| case.children().find(|child| child.has_tag_name(tag));
    let (status, error) = match (found("error"), found("failure")) {
        (Some(error), _) => (Status::Error, Some(error)),
        (None, Some(failure)) => (Status::Fail, Some(failure)),
        (None, None) => (Status::Pass, None),
    };
    let mut test = Reported::new(name(case), status);
    if let Some(error) = error {
        test.excerpts = excerpts(error, sources);
        let output = |tag: &str| excerpt::output(&text(found(tag)?));
        (test.excerpts.stdout, test.excerpts.stderr) = (output("system-out"), output("system-err"));
    }
    // The range leaves out NaN and infinity too, so the cast below is in bounds.
    let seconds: Option<f64> =
        case.attribute("time").unwrap_or_default().parse().ok().filter(|time: &f64| (0.0..1e9).contains(time));
    test.elapsed_ms = seconds.map(|seconds| (seconds * 1000.0) as u64);
    // A failure weighs more than a mark that the test did not run.
    if let (Status::Pass, Some(why)) = (status, not_run(case)) {
        test.skip(&why);
    }
    test
}

/// The class and the name; of node the suites around it and the name.
fn name(case: Node<'_, '_>) -> String {
    let name = case.attribute("name").unwrap_or_default();
    match case.attribute("classname").unwrap_or_default() {
        "" => name.to_owned(),
        CLASS_OF_NODE => {
            let around = case.ancestors().filter(|node| node.has_tag_name("testsuite"));
            let mut names: Vec<&str> = around.filter_map(|suite| suite.attribute("name")).collect();
            names.reverse();
            names.push(name);
            names.join(INSIDE)
        }
        class => format!("{class}::{name}"),
    }
}

/// Why a test did not run, where it did not.
fn not_run(case: Node<'_, '_>) -> Option<String> {
    let element = case.children().find(|child| NOT_RUN.iter().any(|tag| child.has_tag_name(*tag)));
    element.map(message).or_else(|| {
        let words = ["status", "result"].into_iter().filter_map(|name| case.attribute(name));
        words.map(str::to_ascii_lowercase).find(|word| NOT_RUN_WORDS.contains(&word.as_str()))
    })
}

fn message(node: Node<'_, '_>) -> String {
    let message = node.attribute("message").unwrap_or_default();
    if message.is_empty() { text(node).trim().to_owned() } else { message.to_owned() }
}

fn excerpts(error: Node<'_, '_>, sources: Sources<'_>) -> excerpt::Excerpts {
    excerpt::failure(error.attribute("message").unwrap_or_default(), &text(error), sources)
}

/// The text of an element, which may be in several pieces.
fn text(node: Node<'_, '_>) -> String {
    node.children().filter_map(|child| child.text().filter(|_| child.is_text())).collect()
}
