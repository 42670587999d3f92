//! Standard output and standard error. The exit code is the command's result. Losing output changes it in one case only:
//! success whose output could not be written becomes an error.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, StdoutLock, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use proofmark_receipt::{Json, Object, object};

use crate::error;
use crate::exit::Exit;
use crate::paint::{printable, printable_json};
use crate::source::SourceError;

/// Whether standard output could not be written; nothing more is written to it then.
// The flags are read and written without an order between them: none of them guards other data.
static STDOUT_LOST: AtomicBool = AtomicBool::new(false);
/// Whether output was lost for another reason than that its reader closed the pipe.
static INCOMPLETE: AtomicBool = AtomicBool::new(false);
/// Whether errors are printed as JSON.
static JSON: AtomicBool = AtomicBool::new(false);
/// The log that takes what is announced.
static LOG: OnceLock<fn(&str)> = OnceLock::new();

/// Writes a file out to the disk. A pipe or a device has nothing to sync (fsync(2)).
pub(crate) fn synced(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        synced => synced,
    }
}

/// Standard output. Writing to it never fails, so the command finishes its work; [`exit_code`] takes a loss into account.
pub(crate) struct Stdout(StdoutLock<'static>);

pub(crate) fn stdout() -> Stdout {
    Stdout(io::stdout().lock())
}

impl Stdout {
    /// Writes a document of JSON on a line: the same document, with what terminals and logs act on escaped.
    pub(crate) fn json(&mut self, text: &str) -> io::Result<()> {
        writeln!(self, "{}", printable_json(text))
    }

    fn attempt(&mut self, write: impl FnOnce(&mut StdoutLock<'static>) -> io::Result<()>) {
        if STDOUT_LOST.load(Ordering::Relaxed) {
            // One report is enough, and a reader that has closed the pipe needs none.
            return;
        }
        if let Err(error) = write(&mut self.0) {
            STDOUT_LOST.store(true, Ordering::Relaxed);
            if error.kind() != io::ErrorKind::BrokenPipe {
                report_incomplete(&anyhow::Error::new(error).context("write to standard output"));
            }
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|stdout| stdout.write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(Write::flush);
        Ok(())
    }
}

/// Writes a line to standard error, if it is open.
pub(crate) fn note(line: impl Display) {
    // A failure to write to standard error cannot be reported anywhere.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// As [`note`], or into the log of a server where that takes such lines.
pub(crate) fn announce(line: impl Display) {
    match LOG.get() {
        Some(log) => log(&line.to_string()),
        None => note(line),
    }
}

/// Has `log` take what is announced.
pub(crate) fn set_log(log: fn(&str)) {
    // The first log of a process stays.
    let _ = LOG.set(log);
}

/// Writes a question, or the end of its line, to standard error at once.
pub(crate) fn prompt(text: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(text.as_bytes())?;
    stderr.flush()
}

/// Prints errors as JSON from here on.
pub(crate) fn set_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// Prints an error to standard error. With `--json` it is one JSON object on a line.
pub(crate) fn report(error: &anyhow::Error) -> Exit {
    if JSON.load(Ordering::Relaxed) {
        note(printable_json(&Json::from(error_object(error)).to_text()));
        return Exit::NoAnswer;
    }
    note(format_args!("error: failed to {}", printable_lines(&error::message(error))));
    // Not through `printable_lines`: what is shown of a text is printable already.
    if let Some(caret) = error::in_text(error).and_then(SourceError::caret) {
        note(caret);
    }
    if let Some(help) = error::help(error) {
        note(format_args!("help: {}", printable_lines(&help)));
    }
    Exit::NoAnswer
}

/// An error as programs read it. An error in a text has a code and, as far as they are known, file, line and column.
pub(crate) fn error_object(error: &anyhow::Error) -> Object {
    let found = error::in_text(error);
    let (line, column) = found.and_then(|found| found.place).unzip();
    object! {
        "error": format!("failed to {}", error::message(error)),
        "help"?: error::help(error),
        "code"?: error::code(error),
        "file"?: found.map(|found| found.file.as_str()),
        "line"?: line,
        "column"?: column,
    }
}

/// Prints that a result could not be written, and remembers it for [`exit_code`].
pub(crate) fn report_incomplete(error: &anyhow::Error) {
    INCOMPLETE.store(true, Ordering::Relaxed);
    report(error);
}

fn printable_lines(text: &str) -> String {
    text.lines().map(printable).collect::<Vec<_>>().join("\n")
}

/// The exit code once everything is flushed: success whose output is incomplete is an error.
pub(crate) fn exit_code(exit: Exit) -> Exit {
    stdout().attempt(Write::flush);
    match (exit, INCOMPLETE.load(Ordering::Relaxed)) {
        (Exit::Yes, true) => Exit::NoAnswer,
        (exit, _) => exit,
    }
}
