//! The server beside what it stands on: the disk, and the same work without HTTP.

mod bare;
mod client;
mod decisions;
mod lists;
mod receipts;
mod server;
mod work;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("decisions") => decisions::run(),
        Some("lists") => lists::run(),
        Some("receipts") => receipts::run(),
        Some("work") => work::run(),
        _ => bail!("say what to measure: decisions, lists, receipts or work"),
    }
}
