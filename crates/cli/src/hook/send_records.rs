//! Sends the records of a hook. The host waits for the hook, and must not wait for a collector.

use std::io::{Read, stdin};

use anyhow::Context;
use clap::Args;
use proofmark_otlp::{OtlpEndpoint, Spool};

use crate::exit::Exit;

/// Send the records on standard input to a collector
#[derive(Args)]
pub(super) struct SendRecords {
    /// The collector
    #[arg(long, value_name = "URL")]
    otlp: OtlpEndpoint,
}

impl SendRecords {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let mut text = String::new();
        stdin().lock().take(Spool::MAX_BYTES as u64).read_to_string(&mut text).context("read the records")?;
        Spool::read(&text)?.send(&self.otlp)?;
        Ok(Exit::Yes)
    }
}
