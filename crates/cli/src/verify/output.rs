//! Where receipts are printed and written.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Context;
use proofmark_receipt::{Json, Receipt, Verdict};
use proofmark_verifier::Survivor;

use super::reader::Named;
use super::tally::Tally;
use crate::error;
use crate::exit::Exit;
use crate::out;
use crate::paint::Paint;
use crate::report::{AlsoOption, Case, Format, Group, Human, Location, Reporter, Style, of_receipt};
use crate::suite::show_survivors;

/// On a terminal, passes of a larger batch are only counted: they would scroll the failures away.
const MAX_PASSES_SHOWN: u64 = 20;

/// Which results people see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Failures and the summary.
    Quiet,
    /// On a terminal, passes of small batches only.
    Normal,
    /// All.
    Verbose,
}

/// Prints and writes the results of a batch.
pub(crate) struct Output {
    format: Format,
    reporter: Reporter,
    copy: Option<BufWriter<File>>,
    pub(crate) tally: Tally,
    pub(crate) worst: Exit,
}

impl Output {
    /// `all` is the number of requests, where it is known.
    pub(crate) fn new(
        format: Format,
        verbosity: Verbosity,
        all: Option<u64>,
        also: &AlsoOption,
    ) -> anyhow::Result<Output> {
        let mut human = Human::new(Style::Verdicts);
        human.passes = match verbosity {
            Verbosity::Quiet => false,
            Verbosity::Verbose => true,
            Verbosity::Normal => !io::stdout().is_terminal() || all.is_some_and(|all| all <= MAX_PASSES_SHOWN),
        };
        let reporter = Reporter::new(format, "verify", human).also(&also.also)?;
        Ok(Output { format, reporter, copy: None, tally: Tally::new(), worst: Exit::Yes })
    }

    /// Writes the receipts to this file, too; its content is replaced.
    pub(crate) fn copy_to(&mut self, path: &PathBuf) -> anyhow::Result<()> {
        let file = File::create(path).with_context(|| format!("write `{}`", path.display()))?;
        self.copy = Some(BufWriter::new(file));
        Ok(())
    }

    pub(crate) fn receipt(&mut self, name: &Named, receipt: &Receipt) -> anyhow::Result<()> {
        self.copy(|copy| writeln!(copy, "{}", receipt.to_text()));
        let group = of_receipt(&name.label, receipt, &name.places);
        self.worst = self.worst.max(receipt.verdict().into());
        self.tally.add(receipt.verdict(), &group);
        self.reporter.group(group)
    }

    /// The mutants of a submission that pass its suite, which only people are told of: they would show hidden tests.
    pub(crate) fn survivors(&mut self, survivors: &[Survivor]) -> io::Result<()> {
        match self.format {
            Format::Human => show_survivors(&mut out::stdout(), survivors),
            _ => Ok(()),
        }
    }

    /// A request that was read and has no receipt.
    pub(crate) fn unverified(&mut self, name: &Named, error: impl Into<anyhow::Error>) -> anyhow::Result<()> {
        let error = error.into().context(format!("verify `{}`", name.label));
        self.tally.add(Verdict::Error, &failed(&name.label, &error));
        self.failure(&name.label, &error)
    }

    /// A request that could not be read.
    pub(crate) fn refused(&mut self, label: &str, error: &anyhow::Error) -> anyhow::Result<()> {
        self.tally.refuse(label, &error::message(error));
        self.failure(label, error)
    }

    fn failure(&mut self, label: &str, error: &anyhow::Error) -> anyhow::Result<()> {
        // The worst exit code there is, so no later receipt changes it.
        self.worst = Exit::NoAnswer;
        match self.format {
            Format::Human => {
                out::report(error);
                self.reporter.group_in_files(&failed(label, error));
                Ok(())
            }
            _ => self.reporter.group(failed(label, error)),
        }
    }

    /// Writes to the copy. A failure is reported once, and the requests continue.
    fn copy(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if let Some(copy) = &mut self.copy
            && let Err(error) = write(copy)
        {
            out::report_incomplete(&anyhow::Error::new(error).context("write the receipts to the file of `--out`"));
            // Nothing more is written to it: a copy with a gap would look complete.
            self.copy = None;
        }
    }

    /// Writes out what is held back of the copy: the next requests may be long in coming.
    pub(crate) fn flush(&mut self) {
        self.copy(BufWriter::flush);
    }

    pub(crate) fn finish(mut self) -> anyhow::Result<Exit> {
        self.copy(|copy| {
            copy.flush()?;
            out::synced(copy.get_ref())
        });
        self.reporter.finish()?;
        if self.format == Format::Human {
            self.tally.write(&mut out::stdout(), Paint::for_stdout())?;
        }
        Ok(self.worst)
    }
}

/// A request without a receipt, as a group with one case.
fn failed(label: &str, error: &anyhow::Error) -> Group {
    let mut line = out::error_object(error);
    line.insert("source", label);
    let case = Case::error(label, error);
    let location = case.location.clone().or_else(|| Location::named(label));
    let group = Group::of_cases(label, vec![Case { location, ..case }]);
    Group { json: vec![Json::from(line).to_text()], ..group }
}
