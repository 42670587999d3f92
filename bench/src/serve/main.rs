//! The server beside what it stands on: the disk, and the same work without HTTP.

mod bare;
mod client;
mod decisions;
mod lists;
mod memory;
mod page;
mod receipts;
mod scale;
mod server;
mod work;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("decisions") => decisions::run(),
        Some("lists") => lists::run(),
        Some("memory") => memory::run(std::env::args().nth(2).as_deref()),
        Some("page") => page::run(),
        Some("receipts") => receipts::run(),
        Some("scale") => scale::run(&std::env::args().skip(2).collect::<Vec<_>>()),
        Some("work") => work::run(),
        _ => bail!("say what to measure: decisions, lists, memory, page, receipts, scale or work"),
    }
}
