//! `proofmark store`.

mod accept_loss;
mod check;
mod copy;
mod grant;

use clap::Subcommand;
use proofmark_store::{CheckedStore, Wrong as WrongRow};

use crate::config::Config;
use crate::exit::Exit;
use crate::paint::{Paint, printable};
use crate::report::count;

/// Copy the store to another place, verify all of it, limit what a worker can do with it, or accept what it lost
#[derive(Subcommand)]
pub(crate) enum Store {
    Copy(copy::Copy),
    Check(check::Check),
    Grant(grant::Grant),
    AcceptLoss(accept_loss::AcceptLoss),
}

impl Store {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Store::Copy(command) => command.run(),
            Store::Check(command) => command.run(config),
            Store::Grant(command) => command.run(config),
            Store::AcceptLoss(command) => command.run(config),
        }
    }
}

/// A fault in lines of text.
fn shown(paint: Paint, wrong: &WrongRow) -> String {
    let WrongRow { code, table, row, detail } = wrong;
    format!("{} {table} {}: {}", paint.bad(code), printable(row), printable(detail))
}

/// What a store has, in words.
fn contents(checked: &CheckedStore) -> String {
    let CheckedStore { receipts, chains, decisions, sessions, entries, .. } = *checked;
    format!(
        "{} ({}), {}, {} of {}",
        count(receipts, "receipt"),
        count(chains, "chain"),
        count(decisions, "decision"),
        count(entries, "entry"),
        count(sessions, "session"),
    )
}
