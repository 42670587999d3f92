//! `proofmark suite strength`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use proofmark_checks::{Caps, Outside, Request};
use proofmark_evidence::Share;
use proofmark_receipt::{Json, Object, object};
use proofmark_sandbox::{Host, Level};
use proofmark_verifier::{Strength as Measured, StrengthError, Survivor, prepare, strength};

use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input::{self, Input};
use crate::interrupt::Interrupt;
use crate::options;
use crate::out;
use crate::paint::printable;
use crate::progress::{Progress, Work};

/// How long mutants may run, at most.
const MAX_TIME: Duration = Duration::from_secs(60 * 60);

/// Measure how many small mistakes a suite sees in a program that passes it
///
/// Each mutant of the program has one change: `<` becomes `<=`, a statement is left out, another value is returned. The strength
/// of the suite is the share of mutants that fail it. The mutants that pass are listed: each is a mistake that the suite does
/// not see, or a change that makes no difference. No receipt is made.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark suite strength suite.yaml --reference solution.py
  proofmark suite strength examples/sort.json --time 10s --json
  proofmark suite strength examples/sort.json --at-least 0.8

Exit codes: 0 measured, and as much as --at-least asks for; 1 less than that; 2 not measured;
130 ended by Ctrl-C.")]
pub(crate) struct Strength {
    /// The suite: a request with `tests`, in JSON or YAML
    suite: PathBuf,
    /// A program that passes the suite [default: `output.content` of the request]
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// Start no further mutant after this time
    #[arg(long, value_name = "DURATION", value_parser = strength_time, default_value = "30s")]
    time: Duration,
    /// Exit with 1 where the strength is less than this share
    #[arg(long, value_name = "SHARE")]
    at_least: Option<Share>,
    /// Require this isolation level [default: the strongest available]
    #[arg(long, value_name = "LEVEL")]
    isolation: Option<Level>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// How long mutants run, as an option says it.
pub(crate) fn strength_time(text: &str) -> Result<Duration, String> {
    options::duration(text, MAX_TIME)
}

impl Strength {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let request = self.request()?;
        let host = Host::untested(self.isolation);
        prepare(&host, std::slice::from_ref(&request));
        let interrupt = Interrupt::handle().context("handle interrupts")?;
        let progress = Progress::new(Work::Whole("running mutants"));
        let mut worker = host.worker();
        let caps = Caps::default();
        let measured = interrupt.during(|| strength(&mut worker, &caps, &request, self.time, &interrupt.set));
        drop(progress);
        let measured = match measured {
            Ok(measured) => measured,
            Err(StrengthError::Cancelled) => return Ok(Exit::Interrupted),
            Err(error) => return Err(anyhow::Error::new(error)),
        };
        self.print(&measured)?;
        let Some(figure) = measured.figure() else {
            return Err(with_help(
                "measure the strength of the suite: no mutant of the program loads",
                "name a program that computes something",
            ));
        };
        Ok(if self.at_least.is_some_and(|least| figure < least) { Exit::No } else { Exit::Yes })
    }

    fn request(&self) -> anyhow::Result<Request> {
        let reference = self.reference.as_deref().map(input::submission).transpose()?;
        let mut sources = input::sources(&self.suite);
        let first = sources.next();
        let (Some(Input { source, .. }), None) = (first, sources.next()) else {
            let message =
                format!("measure the strength of `{}`: it has more than one request, or none", self.suite.display());
            return Err(with_help(message, "name a file with one request"));
        };
        let source = source?;
        let file = |named: &str| input::beside(&source.path, named);
        document::request(&source, &Outside { submission: reference.as_deref(), file: &file })
    }

    fn print(&self, measured: &Measured) -> io::Result<()> {
        let mut stdout = out::stdout();
        if self.json {
            return stdout.json(&Json::from(as_json(&self.suite, measured)).to_text());
        }
        writeln!(stdout, "{}: {}", printable(&self.suite.display().to_string()), summary(measured))?;
        show_survivors(&mut stdout, &measured.survivors)
    }
}

/// The figure with what it is made of.
fn summary(measured: &Measured) -> String {
    let Measured { mutants, killed, survived, invalid, drawn, .. } = measured;
    let figure = measured.figure().map_or_else(|| "unknown".to_owned(), |figure| figure.to_string());
    let mut text = format!("strength {figure}: of {mutants} mutants, {killed} killed and {survived} survived");
    if *invalid > 0 {
        text.push_str(&format!("; {invalid} did not load"));
    }
    if drawn > mutants {
        text.push_str(&format!("; the time was over before the other {}", drawn - mutants));
    }
    text
}

/// One line for each mutant that passes the suite.
pub(crate) fn show_survivors(to: &mut dyn Write, survivors: &[Survivor]) -> io::Result<()> {
    for Survivor { class, place, before, after } in survivors {
        let place = format!("{}:{}", place.line, place.column);
        writeln!(to, "  {place:<8} {class:<10}  {}  →  {}", printable(before), printable(after))?;
    }
    Ok(())
}

fn as_json(suite: &Path, measured: &Measured) -> Object {
    let mut result = object! { "suite": suite.display().to_string() };
    for (name, value) in measured.metadata().iter() {
        result.insert(name, value.clone());
    }
    result.insert("drawn", measured.drawn);
    let survivors = measured.survivors.iter().map(|Survivor { class, place, before, after }| {
        let (line, column) = (place.line as u64, place.column as u64);
        Json::from(object! {
            "class": *class,
            "line": line,
            "column": column,
            "before": before.as_str(),
            "after": after.as_str(),
        })
    });
    result.insert("survivors", survivors.collect::<Vec<_>>());
    result
}
