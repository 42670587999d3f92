//! TAP versions 13 and 14 (testanything.org), as node's test runner writes it. Tests inside of tests are counted by the
//! outermost line that reports them.

use proofmark_receipt::Status;

use super::{BadReport, Reported, bad};

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
    block: Option<Block>,
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
        let test = test(line, self.tests.len() + 1)?;
        self.after_test = test.is_some();
        self.tests.extend(test);
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
    let (status, message) = match (ok, directive) {
        (_, Some(why)) => (Status::Error, Some(format!("skipped: {why}"))),
        (true, None) => (Status::Pass, None),
        (false, None) => (Status::Fail, None),
    };
    Ok(Some(Reported { name: unescaped(name), status, message, elapsed_ms: None }))
}

/// Takes `# SKIP why` or `# TODO why` off the end of a line.
fn directive(line: &str) -> (&str, Option<&str>) {
    let hashes =
        line.match_indices('#').filter(|(at, _)| !line.get(..*at).is_some_and(|before| before.ends_with('\\')));
    for (at, _) in hashes {
        let (before, said) = line.split_at(at);
        let said = said.trim_start_matches('#').trim();
        let word = said.get(..4).unwrap_or_default();
        if word.eq_ignore_ascii_case("skip") || word.eq_ignore_ascii_case("todo") {
            return (before, Some(said));
        }
    }
    (line, None)
}

fn unescaped(name: &str) -> String {
    name.replace("\\#", "#").replace("\\\\", "\\")
}

/// Takes the time and the error from a line of a test's block.
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
        "error" | "message" if test.message.is_none() && test.status == Status::Fail => {
            block.in_message = value.starts_with(['|', '>']);
            let said = if block.in_message { "" } else { value.trim_matches(['\'', '"']) };
            test.message = Some(said.to_owned());
        }
        _ => {}
    }
}
