//! Standard output and standard error. A command's exit code is its answer, so what becomes of its output changes it only
//! one way: an answer that could not be written is not a yes.

use std::fmt::Display;
use std::io::{self, StdoutLock, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;

/// Whether something could not be written; nothing more is written to standard output then.
static LOST: AtomicBool = AtomicBool::new(false);
/// Whether it was lost for another reason than that the reader had seen enough.
static UNWRITTEN: AtomicBool = AtomicBool::new(false);

/// Standard output, to which writing never fails: the command goes on, and [`settle`] says what it comes to.
pub(crate) struct Out(StdoutLock<'static>);

/// Standard output.
pub(crate) fn stdout() -> Out {
    Out(io::stdout().lock())
}

impl Out {
    fn attempt(&mut self, write: impl FnOnce(&mut StdoutLock<'static>) -> io::Result<()>) {
        if LOST.load(Ordering::Relaxed) {
            return;
        }
        if let Err(error) = write(&mut self.0) {
            LOST.store(true, Ordering::Relaxed);
            if error.kind() != io::ErrorKind::BrokenPipe {
                unwritten(&anyhow::Error::new(error).context("write to standard output"));
            }
        }
    }
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|stdout| stdout.write_all(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(Write::flush);
        Ok(())
    }
}

/// Writes a line to standard error, where there is one.
pub(crate) fn say(line: impl Display) {
    // Nobody is left to tell that this failed.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Notes and says that a result could not be written.
pub(crate) fn unwritten(error: &anyhow::Error) {
    UNWRITTEN.store(true, Ordering::Relaxed);
    say(format_args!("error: failed to {error:#}"));
}

/// The exit code, once all is written that can be: a yes that could not be written is not an answer.
pub(crate) fn settle(exit: Exit) -> Exit {
    stdout().attempt(Write::flush);
    match (exit, UNWRITTEN.load(Ordering::Relaxed)) {
        (Exit::Yes, true) => Exit::NoAnswer,
        (exit, _) => exit,
    }
}
