//! What a server keeps in memory once many clients have come and gone.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::decisions::{over_http, write_policy};
use crate::server::Server;

const CLIENTS: usize = 64;
/// How long the clients come, unless told otherwise.
const MINUTES: f64 = 1.0;
/// How long after the last of them is looked again.
const IDLE: Duration = Duration::from_secs(10);

pub(crate) fn run(minutes: Option<&str>) -> anyhow::Result<()> {
    let minutes = minutes.map_or(Ok(MINUTES), str::parse).context("say how many minutes")?;
    println!("Resident memory in MiB, {CLIENTS} clients for {minutes} minutes of decisions over HTTP:\n");
    println!("| | at the start | at most | {} s after | decisions |\n|---|---:|---:|---:|---:|", IDLE.as_secs());
    for (name, variable) in [("this", "PROOFMARK_BIN"), ("PROOFMARK_BASE", "PROOFMARK_BASE")] {
        if let Some(binary) = std::env::var_os(variable) {
            let home = tempfile::tempdir()?;
            let server = Server::of(Path::new(&binary), home.path(), Some(&write_policy(home.path())?))?;
            let start = server.memory("VmRSS")?;
            let (begun, mut decisions) = (Instant::now(), 0);
            while begun.elapsed() < Duration::from_secs_f64(minutes * 60.0) {
                decisions += over_http(&server, CLIENTS)?.done;
            }
            std::thread::sleep(IDLE);
            let (most, after) = (server.memory("VmHWM")?, server.memory("VmRSS")?);
            println!("| {name} | {start:.0} | {most:.0} | {after:.0} | {decisions} |");
        }
    }
    Ok(())
}
