//! The summary of a batch: what came of it, and why.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use proofmark_receipt::Verdict;

use crate::paint::{Paint, printable};
use crate::report::{Group, count};

/// The most failures, and the most refused requests, that the summary lists.
const MAX_LISTED: usize = 20;
/// How many of the slowest requests are listed, where there are more than [`MIN_FOR_SLOWEST`].
const SLOWEST: usize = 3;
const MIN_FOR_SLOWEST: usize = 5;
/// What is faster is not slow.
const MIN_SLOW: Duration = Duration::from_millis(500);

/// What came of the requests so far.
pub(crate) struct Tally {
    started: Instant,
    pass: usize,
    fail: usize,
    partial: usize,
    error: usize,
    failures: Vec<Line>,
    refused: usize,
    refusals: Vec<Line>,
    slowest: Vec<(Duration, String)>,
    pub(crate) filtered: usize,
    /// How many requests were not run; and whether others follow that were not read.
    pub(crate) not_run: Option<(usize, bool)>,
}

/// A line of the summary.
struct Line {
    word: String,
    name: String,
    why: String,
}

impl Tally {
    pub(crate) fn new() -> Tally {
        Tally {
            started: Instant::now(),
            pass: 0,
            fail: 0,
            partial: 0,
            error: 0,
            failures: Vec::new(),
            refused: 0,
            refusals: Vec::new(),
            slowest: Vec::new(),
            filtered: 0,
            not_run: None,
        }
    }

    /// How many requests ended, with a receipt or without.
    pub(crate) fn verified(&self) -> usize {
        self.pass + self.fail + self.partial + self.error
    }

    /// How many did not pass.
    pub(crate) fn failed(&self) -> usize {
        self.verified() - self.pass
    }

    /// How many requests there were.
    fn all(&self) -> usize {
        self.verified() + self.refused + self.filtered + self.not_run.map_or(0, |(number, _)| number)
    }

    pub(crate) fn add(&mut self, verdict: Verdict, group: &Group) {
        match verdict {
            Verdict::Pass => self.pass += 1,
            Verdict::Fail => self.fail += 1,
            Verdict::Partial => self.partial += 1,
            Verdict::Error => self.error += 1,
        }
        if verdict != Verdict::Pass && self.failures.len() < MAX_LISTED {
            self.failures.push(Line { word: group.word.clone(), name: group.name.clone(), why: why(group) });
        }
        if let Some(time) = group.time.filter(|time| *time >= MIN_SLOW) {
            self.slowest.push((time, group.name.clone()));
            self.slowest.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
            self.slowest.truncate(SLOWEST);
        }
    }

    pub(crate) fn refuse(&mut self, label: &str, why: &str) {
        self.refused += 1;
        if self.refusals.len() < MAX_LISTED {
            // The line of the summary begins with the label.
            let why = why.lines().next().unwrap_or_default();
            let of_request = why.strip_prefix("read the request ").unwrap_or(why);
            let quoted = of_request.strip_prefix(&format!("`{label}`: "));
            // `LABEL:LINE:COLUMN: `, of which the error above the summary tells the rest.
            let placed = of_request.strip_prefix(label).and_then(|rest| rest.split_once(' ')).map(|(_, why)| why);
            let why = quoted.or(placed).unwrap_or(why).to_owned();
            self.refusals.push(Line { word: String::new(), name: label.to_owned(), why });
        }
    }

    /// Writes the summary, where there was more than one request.
    pub(crate) fn write(&self, out: &mut impl Write, paint: Paint) -> io::Result<()> {
        if self.all() < 2 {
            return Ok(());
        }
        writeln!(
            out,
            "\n{} in {:.1} s: {}",
            count(self.all(), "request"),
            self.started.elapsed().as_secs_f64(),
            self.counts(paint)
        )?;
        list(out, "failures", &self.failures, self.failed(), paint)?;
        list(out, "refused", &self.refusals, self.refused, paint)?;
        if self.verified() >= MIN_FOR_SLOWEST && !self.slowest.is_empty() {
            writeln!(out, "slowest")?;
            for (time, name) in &self.slowest {
                writeln!(out, "  {} ms {}", time.as_millis(), printable(name))?;
            }
        }
        Ok(())
    }

    fn counts(&self, paint: Paint) -> String {
        let mut counts = vec![paint.good(&format!("{} pass", self.pass))];
        for (number, word) in
            [(self.fail, "fail"), (self.partial, "partial"), (self.error, "error"), (self.refused, "refused")]
        {
            if number > 0 {
                counts.push(paint.bad(&format!("{number} {word}")));
            }
        }
        if self.filtered > 0 {
            counts.push(format!("{} filtered out", self.filtered));
        }
        match self.not_run {
            Some((number, true)) => counts.push(format!("{number} or more not run")),
            Some((number, false)) if number > 0 => counts.push(format!("{number} not run")),
            Some(_) | None => {}
        }
        counts.join(", ")
    }
}

/// Why a group did not pass: its first case that did not.
fn why(group: &Group) -> String {
    let mut failures = group.failures();
    let Some(first) = failures.next() else { return group.summary.clone().unwrap_or_default() };
    let more = match failures.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let why = first.why();
    let colon = if why.is_empty() { "" } else { ": " };
    format!("{}{colon}{why}{more}", first.name)
}

fn list(out: &mut impl Write, heading: &str, lines: &[Line], all: usize, paint: Paint) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "{heading}")?;
    for Line { word, name, why } in lines {
        let gap = " ".repeat(8_usize.saturating_sub(word.len()));
        let word = if word.is_empty() { String::new() } else { format!("{}{gap}", paint.bad(word)) };
        writeln!(out, "  {word}{}  {}", printable(name), printable(why))?;
    }
    match all.checked_sub(lines.len()).filter(|more| *more > 0) {
        Some(more) => writeln!(out, "  … and {more} more"),
        None => Ok(()),
    }
}
