//! TAP versions 13 and 14 (testanything.org), as node's test runner, node-tap, tape, ava and bats write it. Of tests inside of tests,
//! the innermost count; node counts the others too, unless they are suites.

mod notes;
mod test;

use proofmark_receipt::document::shown;

use self::notes::Notes;
use self::test::Test;
use super::excerpt::Sources;
use super::{MAX_DEPTH, MAX_TESTS, ReportError, Reported, bad};
use crate::job::PROJECT_FOLDER;
use crate::reporting::Runner;

/// Whether the text holds TAP: its first line, or a plan.
pub(super) fn begins(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("TAP version ") || plan(line).is_some())
}

pub(super) fn read(text: &str, sources: Sources<'_>, runner: Option<Runner>) -> Result<Vec<Reported>, ReportError> {
    let mut reader = Reader::new(sources, runner == Some(Runner::NodeTest));
    text.lines().try_for_each(|line| reader.line(line))?;
    if reader.block.is_some() {
        return Err(bad(OPEN_BLOCK));
    }
    match reader.planned {
        None => Err(bad("the report is cut: it has no plan (`1..n`)")),
        Some(planned) if planned != reader.outermost => Err(bad(format!(
            "the report is cut or contradicts itself: it plans {planned} tests and holds {}",
            reader.outermost
        ))),
        Some(_) => Ok(reader.finish()),
    }
}

/// The error for a block that hides the tests after it.
const OPEN_BLOCK: &str = "the report is cut: the block of a test has no end (`...`)";

/// The most lines that report a test, with those of tests that hold others.
const MAX_REPORTED: usize = 4 * MAX_TESTS;
/// The width of one level: subtests of TAP 14 are indented by four spaces.
const LEVEL_WIDTH: usize = 4;
/// How much of what a run printed between its tests is kept, in bytes.
const MAX_PRINTED: usize = 16 << 10;

struct Reader<'a> {
    sources: Sources<'a>,
    /// Whether node's test runner wrote it.
    of_node: bool,
    planned: Option<usize>,
    /// How many tests of the outermost level there are.
    outermost: usize,
    /// How many lines reported a test.
    reported: usize,
    /// The tests read so far whose holder is still to come, by how deep they stand.
    levels: Vec<Level>,
    /// How deep the test stands that the line before reported.
    after_test: Option<usize>,
    block: Option<Block>,
    /// What was printed since the last test of the outermost level.
    printed: String,
}

/// The tests of one depth.
#[derive(Default)]
struct Level {
    indent: usize,
    done: Vec<Reported>,
    /// The last test, whose block may follow.
    last: Option<Test>,
    /// Whether the plan says that there are no tests.
    empty: bool,
}

/// A block of YAML, which belongs to the test before it.
struct Block {
    indent: usize,
    /// How deep that test stands.
    of: Option<usize>,
}

impl<'a> Reader<'a> {
    fn new(sources: Sources<'a>, of_node: bool) -> Reader<'a> {
        Reader {
            sources,
            of_node,
            planned: None,
            outermost: 0,
            reported: 0,
            levels: Vec::new(),
            after_test: None,
            block: None,
            printed: String::new(),
        }
    }

    fn line(&mut self, line: &str) -> Result<(), ReportError> {
        let after_test = self.after_test.take();
        let trimmed = line.trim();
        let indent = line.len() - line.trim_start().len();
        if let Some(block) = &self.block {
            let level = self.levels.iter_mut().find(|level| Some(level.indent) == block.of);
            let notes = level.and_then(|level| level.last.as_mut()).map(|test| &mut test.notes);
            match (trimmed, indent == block.indent) {
                ("...", true) => {
                    notes.into_iter().for_each(Notes::close);
                    self.block = None;
                }
                _ if indent < block.indent && reports(trimmed) => return Err(bad(OPEN_BLOCK)),
                _ => notes.into_iter().for_each(|notes| notes.line(line)),
            }
        } else if trimmed == "---" && indent > 0 {
            self.block = Some(Block { indent, of: after_test });
        } else {
            gave_up(trimmed)?;
            self.brace(trimmed, indent);
            self.plan(trimmed, indent)?;
            self.test(trimmed, indent)?;
            if let Some(comment) = trimmed.strip_prefix('#').filter(|_| indent == 0) {
                self.comment(comment);
            }
        }
        Ok(())
    }

    /// Node-tap writes some tests before those that they hold, which then stand in braces.
    fn brace(&mut self, line: &str, indent: usize) {
        let Some(index) = self.levels.iter().position(|level| level.indent == indent) else { return };
        let deeper = if line == "}" { self.levels.split_off(index + 1) } else { Vec::new() };
        let Some(level) = self.levels.last_mut() else { return };
        match (line, level.last.as_mut()) {
            ("{", Some(test)) if level.indent == indent => test.opens = true,
            ("}", Some(test)) if test.opens => {
                test.opens = false;
                test.hold(deeper, self.sources);
            }
            // A test printed it: what stands deeper belongs to the next test.
            _ => self.levels.extend(deeper),
        }
    }

    fn plan(&mut self, line: &str, indent: usize) -> Result<(), ReportError> {
        match (plan(line), indent) {
            (Some(count), 0) => match self.planned.replace(count) {
                // Node writes one of no tests for each file that takes `node:test` and has none.
                Some(0) if self.of_node => Ok(()),
                Some(_) => Err(bad("the report contradicts itself: it has two plans")),
                None => Ok(()),
            },
            (Some(0), 1..) => self.level(indent).map(|level| level.empty = true),
            _ => Ok(()),
        }
    }

    fn test(&mut self, line: &str, indent: usize) -> Result<(), ReportError> {
        // The tests print any other line; it reports nothing.
        if !indent.is_multiple_of(LEVEL_WIDTH) {
            return Ok(());
        }
        let Some(mut test) = test(line, (indent == 0).then_some(self.outermost + 1))? else { return Ok(()) };
        test.of_node = self.of_node;
        self.reported += 1;
        if self.reported > MAX_REPORTED {
            return Err(super::too_many());
        }
        if indent == 0 {
            self.outermost += 1;
            test.printed = std::mem::take(&mut self.printed);
        }
        let shallower = self.levels.iter().take_while(|level| level.indent <= indent).count();
        test.hold(self.levels.split_off(shallower), self.sources);
        let sources = self.sources;
        let level = self.level(indent)?;
        let before = level.last.replace(test);
        level.done.extend(before.into_iter().flat_map(|before| before.finish(sources)));
        self.after_test = Some(indent);
        Ok(())
    }

    fn comment(&mut self, comment: &str) {
        let comment = comment.strip_prefix(' ').unwrap_or(comment);
        if self.printed.len() + comment.len() < MAX_PRINTED && !comment.starts_with("Subtest: ") {
            self.printed.push_str(&unescaped(comment));
            self.printed.push('\n');
        }
    }

    fn level(&mut self, indent: usize) -> Result<&mut Level, ReportError> {
        let index = self.levels.iter().take_while(|level| level.indent < indent).count();
        if self.levels.get(index).is_none_or(|level| level.indent != indent) {
            self.levels.insert(index, Level { indent, ..Level::default() });
        }
        if self.levels.len() > MAX_DEPTH {
            return Err(bad(format!("the report nests more than {MAX_DEPTH} deep")));
        }
        self.levels.get_mut(index).ok_or_else(|| bad(OPEN_BLOCK))
    }

    /// The tests of the outermost level and those they hold. What stands deeper at the end belongs to no test.
    fn finish(self) -> Vec<Reported> {
        let outermost = self.levels.into_iter().find(|level| level.indent == 0);
        outermost.map(|level| level.finish(self.sources)).unwrap_or_default()
    }
}

impl Test {
    /// Takes in the tests that it holds.
    fn hold(&mut self, levels: Vec<Level>, sources: Sources<'_>) {
        for level in levels {
            self.empty |= level.empty;
            self.holds.extend(level.finish(sources));
        }
    }
}

impl Level {
    fn finish(self, sources: Sources<'_>) -> Vec<Reported> {
        let mut tests = self.done;
        tests.extend(self.last.into_iter().flat_map(|test| test.finish(sources)));
        tests
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

/// The number of tests in a line `1..n`, which a comment may follow.
fn plan(line: &str) -> Option<usize> {
    line.strip_prefix("1..")?.split('#').next()?.trim().parse().ok()
}

/// The test a line reports. Its number, where it has one, must be `expected`, where that is known.
fn test(line: &str, expected: Option<usize>) -> Result<Option<Test>, ReportError> {
    let Some((ok, rest)) = outcome(line) else { return Ok(None) };
    let (rest, opens) = rest.trim_end().strip_suffix(" {").map_or((rest, false), |rest| (rest, true));
    let (described, directive) = directive(untimed(rest));
    let described = described.trim();
    let (number, name) = described.split_once(' ').unwrap_or((described, ""));
    let name = match (number.parse::<usize>(), expected) {
        // Node numbers a file that fails as a whole among the files, not among the tests.
        (Ok(number), Some(expected)) if number != expected && !name.contains(PROJECT_FOLDER) => {
            return Err(bad(format!("the report contradicts itself: test {expected} has the number {number}")));
        }
        (Ok(_), _) => name.trim_start(),
        // Numbers are optional in TAP: without one the whole text is the name.
        (Err(_), _) => described,
    };
    let name = name.strip_prefix("- ").unwrap_or(name);
    let mut test = Test::new(unescaped(name), ok, directive.map(str::to_owned));
    test.opens = opens;
    Ok(Some(test))
}

/// A line without the time that node-tap writes at its end, which would be a part of the name.
fn untimed(line: &str) -> &str {
    let is_time = |time: &str| time.trim_end_matches(['m', 's']).parse::<f64>().is_ok();
    line.rsplit_once(" # time=").filter(|(_, time)| is_time(time.trim_end())).map_or(line, |(line, _)| line)
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
