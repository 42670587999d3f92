//! `proofmark suite`.

mod strength;

use clap::Subcommand;

use crate::exit::Exit;

pub(crate) use strength::{show_survivors, strength_time};

/// Measure what a suite sees
#[derive(Subcommand)]
pub(crate) enum Suite {
    Strength(strength::Strength),
}

impl Suite {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Suite::Strength(command) => command.run(),
        }
    }
}
