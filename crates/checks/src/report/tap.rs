//! TAP versions 13 and 14 (testanything.org), as node's test runner writes it. Tests inside of tests are counted by the
//! outermost line that reports them.

use proofmark_receipt::Status;

use super::{BadReport, NO_TESTS, Reported, bad};

/// Whether the text holds TAP: its first line, or a plan.
pub(super) fn begins(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("TAP version ") || plan(line).is_some())
}

pub(super) fn read(text: &str) -> Result<Vec<Reported>, BadReport> {
    let mut reader = Reader::default();
    text.lines().try_for_each(|line| reader.line(line))?;
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

#[derive(Default)]
struct Reader {
    tests: Vec<Reported>,
    planned: Option<usize>,
    /// Whether the line before reported a test of the outermost level.
    after_test: bool,
    /// What was reported inside of the test whose own line is still to come.
    inside: Inside,
    block: Option<Block>,
}

/// What an outermost test holds.
#[derive(Default)]
struct Inside {
    tests: bool,
    /// A plan of no tests.
    empty_plan: bool,
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
    fn line(&mut self, line: &str) -> Result<(), BadReport> {
        let after_test = std::mem::take(&mut self.after_test);
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(block) = &mut self.block {
            match (trimmed, indent == block.indent) {
                ("...", true) => self.block = None,
                _ if block.of_outermost => {
                    self.tests.iter_mut().last().into_iter().for_each(|test| note(test, block, line))
                }
                _ => {}
            }
        } else if indent > 0 {
            let block = || Block { indent, of_outermost: after_test, in_message: false };
            self.block = (trimmed == "---").then(block);
            self.inside.tests |= trimmed.starts_with("ok") || trimmed.starts_with("not ok");
            self.inside.empty_plan |= plan(trimmed) == Some(0);
        } else {
            self.outermost(trimmed)?;
        }
        Ok(())
    }

    fn outermost(&mut self, line: &str) -> Result<(), BadReport> {
        if let Some(why) = line.strip_prefix("Bail out!") {
            return Err(bad(format!("the tests gave up:{}", why.chars().take(200).collect::<String>())));
        }
        if let Some(count) = plan(line)
            && self.planned.replace(count).is_some()
        {
            return Err(bad("the report contradicts itself: it has two plans"));
        }
        let Some(mut test) = test(line, self.tests.len() + 1)? else { return Ok(()) };
        let inside = std::mem::take(&mut self.inside);
        test.holds_tests = inside.tests;
        if inside.empty_plan && !inside.tests {
            no_tests(&mut test);
        }
        self.after_test = true;
        self.tests.push(test);
        Ok(())
    }
}

/// The number of tests in a line `1..n`, which a comment may follow.
fn plan(line: &str) -> Option<usize> {
    line.strip_prefix("1..")?.split('#').next()?.trim().parse().ok()
}

/// The test a line reports, which must have the number that is due where it has one.
fn test(line: &str, due: usize) -> Result<Option<Reported>, BadReport> {
    let (ok, rest) = match (line.strip_prefix("ok"), line.strip_prefix("not ok")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return Ok(None),
    };
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return Ok(None);
    }
    let (described, directive) = directive(rest);
    let described = described.trim();
    let (number, name) = described.split_once(' ').unwrap_or((described, ""));
    let name = match number.parse::<usize>() {
        Ok(number) if number == due => name.trim_start(),
        Ok(number) => {
            return Err(bad(format!("the report contradicts itself: test {due} has the number {number}")));
        }
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
        let said = after.trim_start_matches('#');
        // `\#` is a part of the name; the next one is not.
        let escaped = before.ends_with('\\');
        let begins = !escaped || said.len() < after.len();
        let word = said.trim_start();
        let kind = word.get(..4).filter(|_| begins).unwrap_or_default();
        if kind.eq_ignore_ascii_case("skip") || kind.eq_ignore_ascii_case("todo") {
            let name = line.get(..line.len() - after.len() - usize::from(!escaped)).unwrap_or_default();
            return (name, Some(word));
        }
        rest = said;
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
        "duration_ms" => test.elapsed_ms = value.parse::<f64>().ok().map(|time| time.clamp(0.0, 1e12) as u64),
        // Node's word for a `describe`.
        "type" if value.trim_matches(['\'', '"']) == "suite" && !test.holds_tests => no_tests(test),
        "error" | "message" if test.message.is_none() && test.status == Status::Fail => {
            block.in_message = value.starts_with(['|', '>']);
            let said = if block.in_message { "" } else { value.trim_matches(['\'', '"']) };
            test.message = Some(said.to_owned());
        }
        _ => {}
    }
}
