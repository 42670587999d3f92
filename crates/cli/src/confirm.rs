//! Asks before something is signed.

use std::io::{self, BufRead, IsTerminal};

use anyhow::Context;

use crate::error::with_help;
use crate::out;
use crate::paint::{Paint, printable};

/// Whether to go on after what was printed on standard error: asked on a terminal, unless `yes` says so. `verb` is what is done to
/// `what`, as in `approve`.
pub(crate) fn confirm(verb: &str, what: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(with_help(
            format!("{verb} {what}: nobody can be asked here"),
            format!("read what is printed above, and {verb} it with `--yes`, or on a terminal"),
        ));
    }
    let mut letters = verb.chars();
    let capital = letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>();
    let question = format!("{} this? [y/N] ", printable(&capital));
    out::prompt(&Paint::for_stderr().warning(&question)).context("ask on the terminal")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).context("read the answer")?;
    let is_yes = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    if !is_yes {
        out::note("nothing was signed");
    }
    Ok(is_yes)
}
