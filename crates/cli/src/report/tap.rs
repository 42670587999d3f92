//! The Test Anything Protocol, version 14. The plan comes last, because the number of cases is not known before.

use std::io::{self, Write};

use proofmark_receipt::Json;

use super::{Case, Group, Status, count};
use crate::paint::{printable, printable_lines};

/// How many test points there are so far.
#[derive(Default)]
pub(crate) struct Tap {
    written: u64,
}

impl Tap {
    pub(crate) fn group(&mut self, out: &mut impl Write, group: &Group) -> io::Result<()> {
        if group.decided_inside > 0 {
            self.begin(out)?;
            let checks = count(group.decided_inside, "check");
            writeln!(out, "# {}: {checks} decided by the submission", description(&group.name))?;
        }
        for note in &group.notes {
            self.begin(out)?;
            writeln!(out, "# {}: {}", description(&group.name), description(note))?;
        }
        for case in &group.cases {
            self.begin(out)?;
            self.written += 1;
            self.point(out, group, case)?;
        }
        Ok(())
    }

    pub(crate) fn finish(&self, out: &mut impl Write) -> io::Result<()> {
        self.begin(out)?;
        writeln!(out, "1..{}", self.written)
    }

    fn begin(&self, out: &mut impl Write) -> io::Result<()> {
        match self.written {
            0 => writeln!(out, "TAP version 14"),
            _ => Ok(()),
        }
    }

    fn point(&self, out: &mut impl Write, group: &Group, case: &Case) -> io::Result<()> {
        // A skipped test point is `ok`, as the protocol wants it.
        let good = group.passes(case) || case.status == Status::Skipped;
        let word = if good { "ok" } else { "not ok" };
        let skip = if case.status == Status::Skipped { " # SKIP" } else { "" };
        writeln!(out, "{word} {} - {}{skip}", self.written, description(&group.full_name(case)))?;
        if case.status == Status::Pass {
            return Ok(());
        }
        diagnostics(out, case)
    }
}

/// `#` begins a directive such as `# SKIP`, which would hide a failure.
fn description(name: &str) -> String {
    printable(name).replace('\\', "\\\\").replace('#', "\\#")
}

/// A YAML block with what explains the case.
fn diagnostics(out: &mut impl Write, case: &Case) -> io::Result<()> {
    writeln!(out, "  ---")?;
    if let Some(message) = &case.message {
        member(out, "message", message)?;
    }
    writeln!(out, "  severity: {}", case.status.as_str())?;
    if let Some(code) = &case.code {
        member(out, "code", code)?;
    }
    if let Some(location) = &case.location {
        writeln!(out, "  at:\n    file: {}", quoted(&location.file))?;
        for (name, number) in [("line", location.line), ("column", location.column)] {
            number.map_or(Ok(()), |number| writeln!(out, "    {name}: {number}"))?;
        }
    }
    for (name, value) in &case.details {
        member(out, name, value)?;
    }
    if let Some(help) = &case.help {
        member(out, "help", help)?;
    }
    writeln!(out, "  ...")
}

/// Several lines are a literal block, whose indentation is stated: its first line may begin with spaces.
fn member(out: &mut impl Write, name: &str, text: &str) -> io::Result<()> {
    if !text.contains('\n') {
        return writeln!(out, "  {name}: {}", quoted(text));
    }
    writeln!(out, "  {name}: |2-")?;
    printable_lines(text).try_for_each(|line| writeln!(out, "    {line}"))
}

/// A string of JSON is one of YAML, too.
fn quoted(text: &str) -> String {
    Json::from(printable(text)).to_text()
}
