//! A folder with a home, a project and a policy.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");

/// Shell commands with `allowed` in them may run.
pub(crate) const POLICY: &str = "
version: 1
tools:
  - {tool: shell, class: system_change, target: command}
  - {tool: '*', class: generic}
boundaries:
  - id: commands
    match: {action_class: system_change}
    require:
      - fact: 'action.args.command.contains(\"allowed\")'
        reason: {code: not_allowed, message: This command is not allowed here.}
  - id: rest
    match: {action_class: generic}
";

/// A home folder, and a project in it.
pub(crate) struct Place {
    folder: TempDir,
    path: std::ffi::OsString,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        for name in ["home", "project/.git"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("policy.yaml"), POLICY).unwrap();
        Self { folder, path: std::env::var_os("PATH").unwrap_or_default() }
    }

    /// Has commands find the programs in a folder.
    pub(crate) fn add_to_path(&mut self, folder: &Path) {
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&self.path));
        self.path = std::env::join_paths(folders.collect::<Vec<_>>()).unwrap();
    }

    /// Has commands find the system's programs only: no host.
    pub(crate) fn use_only_system_programs(&mut self) {
        self.path = "/usr/bin:/bin".into();
    }

    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.at(name)).ok()
    }

    /// A command with the home of this place, in the project.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.at("project"))
            .env("HOME", self.at("home"))
            .env("PROOFMARK_HOME", self.at("proofmark"));
        command.env("PATH", &self.path);
        // opencode looks for news, and installs the types of plugins.
        for name in ["MODELS_FETCH", "AUTOUPDATE", "DEFAULT_PLUGINS", "LSP_DOWNLOAD"] {
            command.env(format!("OPENCODE_DISABLE_{name}"), "1");
        }
        command.env("npm_config_registry", "http://127.0.0.1:9").env("npm_config_fetch_retries", "0");
        for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(variable);
        }
        command
    }

    pub(crate) fn proofmark(&self, arguments: &[&str]) -> Output {
        self.command(BINARY).args(arguments).output().unwrap()
    }

    /// Installs the hooks of a host, with more arguments.
    pub(crate) fn install(&self, host: &str, more: &[&str]) -> Output {
        let policy = self.at("policy.yaml");
        let arguments = ["hook", "install", host, "--policy", policy.to_str().unwrap()];
        // Not the default: on a machine with much to do, a decision takes longer.
        let patient: &[&str] = if more.contains(&"--") { &[] } else { &["--", "--deadline", "40s"] };
        self.proofmark(&[&arguments[..], more, patient].concat())
    }
}

pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
