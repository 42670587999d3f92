//! Asks for passphrases on a terminal.

use anyhow::Context;
use console::Term;
use proofmark_verifier::{KeyringError, Passphrase};
use zeroize::Zeroizing;

use crate::paint::printable;

/// How often a wrong passphrase is asked for again.
const ATTEMPTS: usize = 3;

/// Asks for the passphrase of the key `name` until `read` accepts it, and returns both. Without a terminal the error stays
/// the one that there was.
pub(crate) fn ask<T>(
    name: &str,
    error: KeyringError,
    read: impl Fn(Option<&Passphrase>) -> Result<T, KeyringError>,
) -> anyhow::Result<(T, Option<Passphrase>)> {
    let terminal = Term::stderr();
    // The prompt is written there. Where it would be lost, the command would wait without a word.
    if !terminal.is_term() {
        return Err(error.into());
    }
    let mut refused = error;
    for _ in 0..ATTEMPTS {
        terminal.write_str(&format!("passphrase of `{}`: ", printable(name))).context("ask for the passphrase")?;
        let typed = terminal.read_secure_line().map(Zeroizing::new).context("read the passphrase")?;
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
