//! `proofmark receipt show`.

use std::io::Write;

use anyhow::Context;
use clap::Args;
use proofmark_receipt::Receipt;

use super::read;
use crate::config::Config;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::report::{Extent, Human, Places, Style, of_receipt};

/// Show a receipt in full
#[derive(Args)]
#[command(after_help = "Example:\n  proofmark receipt show 3f2a9c1e --json")]
pub(crate) struct Show {
    /// A file, an id in the store (the first digits suffice), or - for standard input
    #[arg(value_name = "FILE|ID|-")]
    receipt: String,
    #[command(flatten)]
    store: StoreAt,
    /// Print the receipt as JSON, on one line
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let mut out = out::stdout();
        for text in read::texts(&self.receipt, &self.store, config)? {
            let receipt = Receipt::parse(&text.bytes).with_context(|| format!("read the receipt `{}`", text.label))?;
            match self.json {
                true => writeln!(out, "{}", receipt.to_text())?,
                false => Human::new(Style::Verdicts)
                    .with_extent(Extent::WHOLE)
                    .group(&mut out, &of_receipt(&text.label, &receipt, &Places::default()))?,
            }
        }
        Ok(Exit::Yes)
    }
}
