//! Running other programs.

use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};

/// The steps of one run, each announced with its number, and what it and the run took so far.
pub struct Steps {
    total: usize,
    done: usize,
    started: Instant,
}

impl Steps {
    /// A run of so many steps, which starts now.
    pub fn new(total: usize) -> Self {
        Self { total, done: 0, started: Instant::now() }
    }

    /// Runs `command` with its output shown, as the next step.
    pub fn run(&mut self, title: &str, command: &mut Command) -> anyhow::Result<()> {
        self.done += 1;
        let step = format!("{}/{} {title}", self.done, self.total);
        eprintln!("xtask: {step}: {}", shown(command));
        let started = Instant::now();
        check(command)?;
        let (took, all) = (started.elapsed().as_secs_f64(), self.started.elapsed().as_secs_f64());
        eprintln!("xtask: {step}: done in {took:.1} s, {all:.0} s in all");
        Ok(())
    }
}

/// Runs `command` with its output shown, after a line that says what runs.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    eprintln!("xtask: {}", shown(command));
    check(command)
}

/// Runs `command` and shows its output only where it fails.
///
/// For work beside a step, whose output the command's own would interrupt.
pub fn run_quietly(command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    let started = Instant::now();
    eprintln!("xtask: in the background: {shown}");
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("failed to start `{shown}`"))?;
    if !output.status.success() {
        let Output { status, stdout, stderr } = output;
        eprint!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        eprintln!("xtask: in the background: `{shown}` ended with {status}");
        bail!("`{shown}` ended with {status}");
    }
    eprintln!("xtask: in the background: done in {:.1} s: {shown}", started.elapsed().as_secs_f64());
    Ok(())
}

/// The command, which uses only idle processor time.
#[must_use]
pub fn patient(command: &Command) -> Command {
    let mut patient = Command::new("nice");
    patient.args(["-n", "10"]).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => patient.env(name, value),
            None => patient.env_remove(name),
        };
    }
    patient
}

/// Whether `command` runs and succeeds; shows nothing of it.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Whether this is a run of CI.
#[must_use]
pub fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true")
}

/// A command for the cargo that runs this program.
pub fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments);
    if is_ci() {
        // CI does not build again, so incremental data is not written.
        command.env("CARGO_INCREMENTAL", "0");
    }
    // What cargo says of this package. Build scripts that look at it (ring's does) would run again, and all that depends on them
    // would be built again, each time somebody turns from `cargo xtask` to `cargo build` or back.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_")) {
            command.env_remove(name);
        }
    }
    command
}

fn check(command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    let status = command.status().with_context(|| format!("failed to start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` ended with {status}");
    }
    Ok(())
}

fn shown(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    std::iter::once(program.file_name().unwrap_or(command.get_program()))
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
