//! What the one who runs the server is told: one line an event, on standard error.

use std::fmt::Display;
use std::io::{self, Write};

/// Writes a line to the log. Where nobody reads it, or its disk is full, the line is lost and the server goes on.
pub(crate) fn say(line: impl Display) {
    drop(writeln!(io::stderr().lock(), "proofmark serve: {line}"));
}
