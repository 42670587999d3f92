//! Asks for passphrases on a terminal.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};

use anyhow::Context;
use proofmark_keys::{KeyringError, Passphrase};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use zeroize::Zeroizing;

use crate::out;
use crate::paint::printable;

/// How often a wrong passphrase is asked for again.
const ATTEMPTS: usize = 3;
/// The longest line that is read, in bytes: no terminal passes on a longer one.
const MAX_LINE: usize = 4_096;

/// Asks for the passphrase of the key `name` until `read` accepts it, and returns both. Without a terminal the error stays
/// the one that there was.
pub(crate) fn ask<T>(
    name: &str,
    error: KeyringError,
    read: impl Fn(Option<&Passphrase>) -> Result<T, KeyringError>,
) -> anyhow::Result<(T, Option<Passphrase>)> {
    // The prompt is written there. Where it would be lost, the command would wait without a word.
    if !io::stderr().is_terminal() {
        return Err(error.into());
    }
    let mut refused = error;
    for _ in 0..ATTEMPTS {
        let typed = typed(&format!("passphrase of `{}`: ", printable(name))).context("read the passphrase")?;
        // An empty line, or no terminal to read from.
        if typed.is_empty() {
            break;
        }
        match read(Some(&typed)) {
            Err(error) if error.is_wrong_passphrase() => refused = error,
            read => return Ok((read?, Some(typed))),
        }
    }
    Err(refused.into())
}

/// The line that is typed on the terminal after the prompt, without showing it.
fn typed(prompt: &str) -> io::Result<Passphrase> {
    // Before the prompt: who answers at once must not see the passphrase.
    let silent = Silent::new()?;
    out::prompt(prompt)?;
    let mut line = Zeroizing::new(Vec::with_capacity(MAX_LINE));
    let mut terminal = BufReader::with_capacity(1, File::from(silent.terminal.try_clone()?));
    terminal.read_until(b'\n', &mut line)?;
    drop(silent);
    out::prompt("\n")?;
    let text = std::str::from_utf8(&line).map_err(|_| io::Error::other("it is not UTF-8"))?;
    Ok(Zeroizing::new(text.trim_end_matches(['\r', '\n']).to_owned()))
}

/// The terminal that is typed on, which shows nothing of it until this is dropped.
struct Silent {
    terminal: OwnedFd,
    before: Termios,
}

impl Silent {
    fn new() -> io::Result<Silent> {
        let stdin = io::stdin();
        let terminal = if stdin.is_terminal() {
            stdin.as_fd().try_clone_to_owned()?
        } else {
            // Standard input may have a document.
            File::open("/dev/tty")?.into()
        };
        let before = tcgetattr(&terminal)?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Flush, &silent)?;
        Ok(Silent { terminal, before })
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        // A terminal that is gone shows nothing.
        let _ = tcsetattr(&self.terminal, OptionalActions::Flush, &self.before);
    }
}
