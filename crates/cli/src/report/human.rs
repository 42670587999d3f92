//! Text for people: what did not pass comes with all that explains it, and what passed is a count.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::{self, Write};

use proofmark_checks::same_error;

use super::{Case, DIFFERENCE, Group, Status};
use crate::paint::{Paint, printable, printable_lines};

/// The most names listed of cases that fail for the same cause.
const MAX_SAME: usize = 8;

/// How cases are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Each group under its verdict, with the cases that did not pass.
    Verdicts,
    /// One line for each case.
    Cases,
    /// Mistakes with their place, and no word on what is right.
    Findings,
}

/// How much of a group is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    cases: usize,
    /// Lines of each text.
    lines: usize,
}

impl Extent {
    /// What fits on a screen or two.
    pub(crate) const SHORT: Extent = Extent { cases: 20, lines: 20 };
    /// All of it.
    pub(crate) const WHOLE: Extent = Extent { cases: usize::MAX, lines: usize::MAX };
}

/// Writes text for people.
pub(crate) struct Human {
    style: Style,
    paint: Paint,
    extent: Extent,
    /// Whether groups that pass are shown.
    pub(crate) passes: bool,
    groups: usize,
    good: usize,
    bad: usize,
}

impl Human {
    /// For standard output.
    pub(crate) fn new(style: Style) -> Human {
        Human { style, paint: Paint::for_stdout(), extent: Extent::SHORT, passes: true, groups: 0, good: 0, bad: 0 }
    }

    pub(crate) fn with_extent(self, extent: Extent) -> Human {
        Human { extent, ..self }
    }

    pub(crate) fn group(&mut self, out: &mut impl Write, group: &Group) -> io::Result<()> {
        self.groups += 1;
        let bad = group.failures().count();
        self.bad += bad;
        self.good += group.cases.len() - bad;
        match self.style {
            Style::Verdicts if group.status.is_pass() && !self.passes => Ok(()),
            Style::Verdicts => self.verdict(out, group),
            Style::Cases => group.cases.iter().try_for_each(|case| self.case_line(out, case)),
            Style::Findings => group.failures().try_for_each(|case| self.finding(out, case)),
        }
    }

    pub(crate) fn finish(&self, out: &mut impl Write) -> io::Result<()> {
        match (self.style, self.bad) {
            (Style::Verdicts, _) => Ok(()),
            (Style::Cases, _) => writeln!(out, "{} of {} passed", self.good, count(self.good + self.bad, "case")),
            (Style::Findings, 0) => {
                writeln!(out, "{} {} checked, no findings", self.paint.good("ok"), count(self.groups, "file"))
            }
            (Style::Findings, bad) => {
                writeln!(out, "{} in {}", count(bad, "finding"), count(self.groups, "file"))
            }
        }
    }

    fn verdict(&self, out: &mut impl Write, group: &Group) -> io::Result<()> {
        let word = self.word(group.status, &group.word);
        let summary = group.summary.as_ref().map_or_else(String::new, |summary| format!(": {}", printable(summary)));
        writeln!(out, "{word} {}{summary}", printable(&group.name))?;
        self.failures(out, group)?;
        for case in group.cases.iter().filter(|case| case.status == Status::Warning && group.passes(case)) {
            writeln!(out, "  {} {}", self.word(case.status, case.status.as_str()), printable(&case.name))?;
            self.explain(out, case)?;
        }
        self.skipped(out, group)?;
        for note in &group.notes {
            writeln!(out, "  {}", printable(note))?;
        }
        match &group.receipt {
            Some(receipt) => writeln!(out, "  {}", self.paint.dim(&format!("receipt {receipt}"))),
            None => Ok(()),
        }
    }

    /// Names what was skipped and is no failure.
    fn skipped(&self, out: &mut impl Write, group: &Group) -> io::Result<()> {
        let skipped = group.cases.iter().filter(|case| case.status == Status::Skipped && group.passes(case));
        let names: Vec<String> = skipped.map(|case| printable(&case.name)).collect();
        if names.is_empty() {
            return Ok(());
        }
        let more = if names.len() > MAX_SAME { ", …" } else { "" };
        writeln!(out, "  skipped: {}{more}", names.iter().take(MAX_SAME).cloned().collect::<Vec<_>>().join(", "))
    }

    /// Writes the cases that did not pass; those with the same cause count as one.
    pub(crate) fn failures(&self, out: &mut impl Write, group: &Group) -> io::Result<()> {
        let folded = fold(group.failures());
        for same in folded.iter().take(self.extent.cases) {
            self.failure(out, same)?;
        }
        let hidden: usize = folded.iter().skip(self.extent.cases).map(|same| same.cases.len()).sum();
        match (hidden, &group.receipt) {
            (0, _) => Ok(()),
            (hidden, Some(receipt)) => writeln!(out, "  … and {hidden} more; see `proofmark receipt show {receipt}`"),
            (hidden, None) => writeln!(out, "  … and {hidden} more"),
        }
    }

    fn failure(&self, out: &mut impl Write, same: &Same<'_>) -> io::Result<()> {
        let case = same.first;
        writeln!(out, "  {} {}", self.word(case.status, case.status.as_str()), printable(&case.name))?;
        self.explain(out, case)?;
        let others: Vec<String> = same.cases.iter().skip(1).map(|case| printable(&case.name)).collect();
        if others.is_empty() {
            return Ok(());
        }
        let more = if others.len() > MAX_SAME { ", …" } else { "" };
        let names = others.iter().take(MAX_SAME).cloned().collect::<Vec<_>>().join(", ");
        writeln!(out, "      and {} more with the same cause: {names}{more}", others.len())
    }

    /// Writes all that is known of a case.
    pub(crate) fn explain(&self, out: &mut impl Write, case: &Case) -> io::Result<()> {
        if let Some(message) = &case.message {
            self.text(out, "message", message)?;
        }
        case.shown_details().try_for_each(|(name, value)| self.text(out, case.heading(name), value))?;
        match &case.help {
            Some(help) => self.text(out, "help", help),
            None => Ok(()),
        }
    }

    /// A text with its name: beside it where it has one line, and else below it with a bar before each line.
    fn text(&self, out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return writeln!(out, "      {name:<10} {}", self.paint.dim("(empty)"));
        }
        let difference = name.starts_with(DIFFERENCE);
        if !text.contains('\n') && !difference {
            return writeln!(out, "      {name:<10} {}", printable(text));
        }
        writeln!(out, "      {name}")?;
        for line in printable_lines(text).take(self.extent.lines) {
            let painted = match line.chars().next() {
                Some('-') if difference => self.paint.removed(&line),
                Some('+') if difference => self.paint.added(&line),
                _ => line,
            };
            writeln!(out, "        {} {painted}", self.paint.dim("|"))?;
        }
        match text.lines().count().checked_sub(self.extent.lines).filter(|more| *more > 0) {
            Some(more) => writeln!(out, "        {} … {}", self.paint.dim("|"), count_more(more)),
            None => Ok(()),
        }
    }

    fn case_line(&self, out: &mut impl Write, case: &Case) -> io::Result<()> {
        if case.status.is_pass() {
            return writeln!(out, "{} {}", self.paint.good("ok"), printable(&case.name));
        }
        writeln!(out, "{} {}: {}", self.paint.bad("failed"), printable(&case.name), printable(&case.why()))?;
        self.explain(
            out,
            &Case { message: case.message.clone().filter(|message| *message != case.why()), ..case.clone() },
        )
    }

    fn finding(&self, out: &mut impl Write, case: &Case) -> io::Result<()> {
        let severity = if case.status == Status::Warning { "warning" } else { "error" };
        let label = case.location.as_ref().map_or_else(String::new, |location| {
            let number = |number: Option<u64>| number.map_or_else(String::new, |number| format!(":{number}"));
            format!("{}{}{}", location.file, number(location.line), number(location.column))
        });
        let code = case.code.as_deref().unwrap_or_default();
        let message = indented(case.message.as_deref().unwrap_or_default());
        writeln!(out, "{}[{code}] {}: {message}", self.word(case.status, severity), printable(&label))?;
        if let Some(caret) = &case.caret {
            writeln!(out, "{caret}")?;
        }
        match &case.help {
            Some(help) => writeln!(out, "  help: {}", indented(help)),
            None => Ok(()),
        }
    }

    fn word(&self, status: Status, word: &str) -> String {
        match status {
            Status::Pass | Status::Skipped => self.paint.good(word),
            Status::Warning => self.paint.warning(word),
            Status::Fail | Status::Error => self.paint.bad(word),
        }
    }
}

/// A message may have an excerpt with a caret; its lines stay lines.
fn indented(text: &str) -> String {
    printable_lines(text).collect::<Vec<_>>().join("\n    ")
}

fn count_more(more: usize) -> String {
    format!("{more} more {}", if more == 1 { "line" } else { "lines" })
}

/// A number and what is counted.
pub(crate) fn count<N: Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    match what.strip_suffix("ry") {
        _ if number == 1.into() => format!("1 {what}"),
        Some(stem) => format!("{number} {stem}ries"),
        None => format!("{number} {what}s"),
    }
}

/// Cases that fail for the same cause.
struct Same<'a> {
    first: &'a Case,
    cases: Vec<&'a Case>,
}

fn fold<'a>(cases: impl Iterator<Item = &'a Case>) -> Vec<Same<'a>> {
    let mut folded: Vec<Same<'a>> = Vec::new();
    let mut known = HashMap::new();
    for case in cases {
        let named = case.message.as_deref().and_then(same_error);
        let at = match named.and_then(|name| folded.iter().position(|same| same.first.name == name)) {
            Some(at) => Some(at),
            None => cause(case).map(|cause| *known.entry(cause).or_insert(folded.len())),
        };
        match at.and_then(|at| folded.get_mut(at)) {
            Some(same) => same.cases.push(case),
            None => folded.push(Same { first: case, cases: vec![case] }),
        }
    }
    folded
}

/// What cases with the same cause have in common. Two wrong answers are two failures, whatever is said of them.
fn cause(case: &Case) -> Option<(Status, &str)> {
    let answered = case.detail("actual").is_some() || case.detail(DIFFERENCE).is_some();
    case.message.as_deref().filter(|_| !answered).map(|message| (case.status, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cases_without_an_answer_and_with_one_message_are_folded() {
        let error = |name: &str| Case { message: Some("no f".to_owned()), ..Case::new(name, Status::Error) };
        let same = |name: &str| Case { message: Some("same error as `a`".to_owned()), ..error(name) };
        let wrong =
            |name: &str| Case { details: vec![("actual", "3".to_owned())], status: Status::Fail, ..error(name) };
        let cases = [error("a"), wrong("b"), error("c"), wrong("d"), Case::new("e", Status::Fail), same("f")];
        let folded: Vec<Vec<&str>> =
            fold(cases.iter()).iter().map(|same| same.cases.iter().map(|case| case.name.as_str()).collect()).collect();
        assert_eq!(folded, [vec!["a", "c", "f"], vec!["b"], vec!["d"], vec!["e"]]);
    }
}
