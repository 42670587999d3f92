//! The tools that install packages.
//!
//! They get the user's own settings, which may name a registry, and none of the project's.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use proofmark_sandbox::Runtime;

use super::LockError;

/// How much of what a tool prints is shown, in characters.
const MAX_SHOWN: usize = 1_000;

/// What the `uv.lock` in this folder pins, as requirements. uv reads the two files, and neither the network nor an environment.
pub(super) fn export(work: &Path, runtime: &Runtime) -> Result<String, LockError> {
    let mut uv = Command::new("uv");
    uv.args(["export", "--frozen", "--offline", "--quiet", "--no-header", "--no-annotate", "--no-emit-workspace"]);
    uv.args(["--all-groups", "--all-extras", "--format", "requirements-txt", "--python"]).arg(&runtime.path);
    uv.env("UV_PYTHON_DOWNLOADS", "never");
    output("uv", uv.current_dir(work))
}

/// Installs requirements into a folder: wheels whose digests they have, and nothing that would have to be built.
pub(super) fn install(requirements: &str, content: &Path, work: &Path, runtime: &Runtime) -> Result<(), LockError> {
    let file = work.join("pinned.txt");
    fs::write(&file, requirements).map_err(|error| LockError::Io { path: file.clone(), error })?;
    let python = || {
        // The interpreter itself: a virtual environment may have files that it runs when it starts.
        let mut python = Command::new(&runtime.path);
        python.args(["-I", "-B", "-m", "pip"]);
        python
    };
    let has_pip = output("pip", python().arg("--version").current_dir(work)).is_ok();
    let mut tool = if has_pip { python() } else { Command::new("uv") };
    if has_pip {
        tool.args(["install", "--require-hashes", "--only-binary", ":all:", "--no-compile", "--no-input", "--quiet"]);
        tool.args(["--disable-pip-version-check", "--no-warn-script-location", "--root-user-action", "ignore"]);
    } else {
        tool.args(["pip", "install", "--require-hashes", "--no-build", "--link-mode", "copy", "--quiet", "--python"]);
        tool.arg(&runtime.path);
    }
    tool.arg("--target").arg(content).arg("--requirement").arg(&file).current_dir(work);
    match output(if has_pip { "pip" } else { "uv" }, &mut tool) {
        Err(LockError::Tool(_)) => Err(LockError::Tool("pip")),
        done => done.map(drop),
    }
}

/// Installs what the `package-lock.json` in this folder names, from the user's registry.
pub(super) fn npm(content: &Path) -> Result<(), LockError> {
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error"]);
    // Whatever host the lock file names. The digests are the lock file's.
    npm.args(["--replace-registry-host=always", "--install-strategy=hoisted", "--include=dev"]);
    output("npm", npm.current_dir(content)).map(drop)
}

/// What a tool prints.
fn output(tool: &'static str, command: &mut Command) -> Result<String, LockError> {
    let done = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => LockError::Tool(tool),
        _ => LockError::Failed { tool, status: "it was not started".to_owned(), text: error.to_string() },
    })?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&done.stderr);
    let skipped = text.chars().count().saturating_sub(MAX_SHOWN);
    let text = text.chars().skip(skipped).collect::<String>().trim().to_owned();
    Err(LockError::Failed { tool, status: done.status.to_string(), text })
}
