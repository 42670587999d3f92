//! The server beside what it stands on: the disk, and the same work without HTTP.

mod bare;
mod client;
mod decisions;
mod memory;
mod server;
mod work;

use anyhow::bail;

fn main() -> anyhow::Result<()> {
    match std::env::args().nth(1).as_deref() {
        Some("decisions") => decisions::run(),
        Some("memory") => memory::run(std::env::args().nth(2).as_deref()),
        Some("work") => work::run(),
        _ => bail!("say what to measure: decisions, memory or work"),
    }
}
