//! Running other programs.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

/// Runs `command` with its output shown, under a heading that says what runs and how long it took.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    eprintln!("xtask: {shown}");
    let started = Instant::now();
    let status = command.status().with_context(|| format!("failed to start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    eprintln!("xtask: done in {:.1} s", started.elapsed().as_secs_f64());
    Ok(())
}

/// Whether `command` runs and succeeds; shows nothing of it.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// A command for the cargo that runs this program.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    command
}

fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    std::iter::once(program.file_name().unwrap_or(command.get_program()))
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
