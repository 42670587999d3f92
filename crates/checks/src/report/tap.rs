//! TAP versions 13 and 14 (testanything.org), as node's test runner writes it. Tests inside of tests are counted by the
//! outermost line that reports them.

use proofmark_receipt::Status;
use proofmark_receipt::document::shown;

use super::{NO_TESTS, ReportError, Reported, bad};

/// Whether the text holds TAP: its first line, or a plan.
pub(super) fn begins(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("TAP version ") || plan(line).is_some())
}

pub(super) fn read(text: &str) -> Result<Vec<Reported>, ReportError> {
    let mut reader = Reader::default();
    text.lines().try_for_each(|line| reader.line(line))?;
    if reader.block.is_some() {
        return Err(bad(OPEN_BLOCK));
    }
    let (planned, tests) = (reader.planned, reader.tests);
    match planned {
        None => Err(bad("the report is cut: it has no plan (`1..n`)")),
        Some(planned) if planned != tests.len() => Err(bad(format!(
            "the report is cut or contradicts itself: it plans {planned} tests and holds {}",
            tests.len()
        ))),
        Some(_) => Ok(tests),
    }
}

/// The error for a block that hides the tests after it.
const OPEN_BLOCK: &str = "the report is cut: the block of a test has no end (`...`)";

#[derive(Default)]
struct Reader {
    tests: Vec<Reported>,
    planned: Option<usize>,
    /// Whether the line before reported a test of the outermost level.
    after_test: bool,
    /// What was reported inside of the test whose own line is still to come, by how deep it stands.
    levels: Vec<Level>,
    block: Option<Block>,
}

/// The tests of one depth inside of a test.
#[derive(Default)]
struct Level {
    indent: usize,
    /// How many of them tested something, as far as is known.
    tested: usize,
    /// Whether the last of them holds tests.
    last_holds_tests: bool,
    /// Whether one of them, or the whole, is without tests.
    empty: bool,
}

/// A block of YAML, which belongs to the test before it.
struct Block {
    indent: usize,
    /// Whether that is a test of the outermost level.
    of_outermost: bool,
    /// Whether the message goes on in deeper lines.
    in_message: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), ReportError> {
        let after_test = std::mem::take(&mut self.after_test);
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(block) = &mut self.block {
            match (trimmed, indent == block.indent) {
                ("...", true) => self.block = None,
                _ if indent < block.indent && reports(trimmed) => return Err(bad(OPEN_BLOCK)),
                _ if block.of_outermost => {
                    self.tests.iter_mut().last().into_iter().for_each(|test| note(test, block, line))
                }
                _ if indent == block.indent && is_suite(trimmed) => self.inner_suite(),
                _ => {}
            }
        } else if trimmed == "---" && indent > 0 {
            self.block = Some(Block { indent, of_outermost: after_test, in_message: false });
        } else if indent > 0 {
            self.inner(trimmed, indent)?;
        } else {
            self.outermost(trimmed)?;
        }
        Ok(())
    }

    /// A line inside of a test whose own line is still to come.
    fn inner(&mut self, line: &str, indent: usize) -> Result<(), ReportError> {
        gave_up(line)?;
        if plan(line) == Some(0) {
            self.level(indent).empty = true;
        }
        let Some((_, rest)) = outcome(line) else { return Ok(()) };
        let skipped = directive(rest).1.is_some();
        let inside = self.inside(indent);
        let level = self.level(indent);
        level.last_holds_tests = inside.tested > 0;
        match (skipped, inside.is_hollow()) {
            (true, _) => {}
            (false, true) => level.empty = true,
            (false, false) => level.tested += 1,
        }
        Ok(())
    }

    /// The last inner test turns out to be a suite, which tests nothing by itself.
    fn inner_suite(&mut self) {
        if let Some(level) = self.levels.last_mut().filter(|level| !level.last_holds_tests && level.tested > 0) {
            level.tested -= 1;
            level.empty = true;
        }
    }

    fn level(&mut self, indent: usize) -> &mut Level {
        let mut level = self.levels.pop_if(|level| level.indent >= indent).unwrap_or_default();
        level.indent = indent;
        self.levels.push_mut(level)
    }

    /// Takes what is deeper than this, all of it together.
    fn inside(&mut self, indent: usize) -> Level {
        let shallower = self.levels.iter().take_while(|level| level.indent <= indent).count();
        self.levels.drain(shallower..).fold(Level::default(), |all, level| Level {
            tested: all.tested + level.tested,
            empty: all.empty | level.empty,
            ..all
        })
    }

    fn outermost(&mut self, line: &str) -> Result<(), ReportError> {
        gave_up(line)?;
        if let Some(count) = plan(line)
            && self.planned.replace(count).is_some()
        {
            return Err(bad("the report contradicts itself: it has two plans"));
        }
        let Some(mut test) = test(line, self.tests.len() + 1)? else { return Ok(()) };
        let inside = self.inside(0);
        test.holds_tests = inside.tested > 0;
        if inside.is_hollow() {
            no_tests(&mut test);
        }
        self.after_test = true;
        self.tests.push(test);
        Ok(())
    }
}

impl Level {
    /// Whether a test that holds these tested nothing.
    fn is_hollow(&self) -> bool {
        self.empty && self.tested == 0
    }
}

fn gave_up(line: &str) -> Result<(), ReportError> {
    match line.strip_prefix("Bail out!") {
        Some(why) => Err(bad(format!("the tests gave up:{}", shown(why)))),
        None => Ok(()),
    }
}

/// Whether a line says something of the tests.
fn reports(line: &str) -> bool {
    outcome(line).is_some() || plan(line).is_some() || gave_up(line).is_err()
}

/// Whether a test passed, and the rest of its line; `None` where the line reports no test.
fn outcome(line: &str) -> Option<(bool, &str)> {
    let outcome = line.strip_prefix("not ok").map(|rest| (false, rest));
    let outcome = outcome.or_else(|| line.strip_prefix("ok").map(|rest| (true, rest)));
    outcome.filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '))
}

/// Whether a line of a block is node's word for a `describe`.
fn is_suite(line: &str) -> bool {
    line.split_once(':').is_some_and(|(key, value)| key == "type" && value.trim().trim_matches(['\'', '"']) == "suite")
}

/// The number of tests in a line `1..n`, which a comment may follow.
fn plan(line: &str) -> Option<usize> {
    line.strip_prefix("1..")?.split('#').next()?.trim().parse().ok()
}

/// The test a line reports. Its number, where it has one, must be `expected`.
fn test(line: &str, expected: usize) -> Result<Option<Reported>, ReportError> {
    let Some((ok, rest)) = outcome(line) else { return Ok(None) };
    let (described, directive) = directive(rest);
    let described = described.trim();
    let (number, name) = described.split_once(' ').unwrap_or((described, ""));
    let name = match number.parse::<usize>() {
        Ok(number) if number == expected => name.trim_start(),
        Ok(number) => {
            return Err(bad(format!("the report contradicts itself: test {expected} has the number {number}")));
        }
        // Numbers are optional in TAP: without one the whole text is the name.
        Err(_) => described,
    };
    let name = name.strip_prefix("- ").unwrap_or(name);
    let status = if ok { Status::Pass } else { Status::Fail };
    let name = unescaped(name);
    let mut test = Reported { name, status, message: None, elapsed_ms: None, skipped: false, holds_tests: false };
    if let Some(why) = directive {
        test.skip(why);
    }
    Ok(Some(test))
}

/// Takes `# SKIP why` or `# TODO why` off the end of a line.
fn directive(line: &str) -> (&str, Option<&str>) {
    let line = line.trim_end();
    let mut rest = line;
    // Each run of `#` is looked at once: a hostile line holds nothing else.
    while let Some((before, after)) = rest.split_once('#') {
        let directive = after.trim_start_matches('#');
        // `\#` is a part of the name; the next one is not.
        let escaped = before.ends_with('\\');
        let begins = !escaped || directive.len() < after.len();
        let word = directive.trim_start();
        let kind = word.get(..4).filter(|_| begins).unwrap_or_default();
        if kind.eq_ignore_ascii_case("skip") || kind.eq_ignore_ascii_case("todo") {
            let name = line.get(..line.len() - after.len() - usize::from(!escaped)).unwrap_or_default();
            return (name, Some(word));
        }
        rest = directive;
    }
    (line, None)
}

fn unescaped(name: &str) -> String {
    name.replace("\\#", "#").replace("\\\\", "\\")
}

/// A suite without tests tested nothing.
fn no_tests(test: &mut Reported) {
    if test.status == Status::Pass {
        test.skip(NO_TESTS);
    }
}

/// Takes the time, the kind and the error from a line of a test's block.
fn note(test: &mut Reported, block: &mut Block, line: &str) {
    let trimmed = line.trim();
    if trimmed.is_empty() || line.len() - line.trim_start().len() > block.indent {
        if let Some(message) = test.message.as_mut().filter(|_| block.in_message) {
            message.push_str(if message.is_empty() { "" } else { "\n" });
            message.push_str(trimmed);
        }
        return;
    }
    block.in_message = false;
    let Some((key, value)) = trimmed.split_once(':') else { return };
    let value = value.trim();
    match key {
        // The clamp keeps the cast in range; NaN, which it lets through, becomes 0.
        "duration_ms" => test.elapsed_ms = value.parse::<f64>().ok().map(|time| time.clamp(0.0, 1e12) as u64),
        "type" if is_suite(trimmed) && !test.holds_tests => no_tests(test),
        "error" | "message" if test.message.is_none() && test.status == Status::Fail => {
            block.in_message = value.starts_with(['|', '>']);
            let message = if block.in_message { "" } else { value.trim_matches(['\'', '"']) };
            test.message = Some(message.to_owned());
        }
        _ => {}
    }
}
