//! The hosts: where their hooks are configured, and in which form.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use proofmark_receipt::{Json, Object, object};

use crate::hook::HostName;
use crate::shell_words;

/// How long hosts wait for a hook, in seconds. The hook has a deadline of its own, which is shorter: some hosts run the call
/// when theirs has passed.
pub(super) const TIMEOUT_SECONDS: u64 = 60;
/// How often Cursor lets a hook send the agent back in a row. The contract's own budget is what ends it.
const CURSOR_LOOPS: u64 = 20;

/// Whom a configuration is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    /// All projects of this user
    User,
    /// This project, on this machine
    Project,
    /// All users of this machine; an administrator owns the file
    System,
}

impl Scope {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Scope::User => "user",
            Scope::Project => "project",
            Scope::System => "system",
        }
    }
}

/// What a hook is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    Before,
    After,
    Stop,
}

/// How a host's file holds its hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// For each event a list of groups, each with a list of hooks.
    Groups,
    /// For each event a list of hooks.
    Entries,
    /// A program of the host's own language.
    Plugin,
}

/// A file in which a host finds hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layer {
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
}

/// Where the user and the project are.
pub(super) struct Surroundings {
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
    variable: fn(&str) -> Option<OsString>,
}

impl Surroundings {
    pub(super) fn of_this_process() -> anyhow::Result<Self> {
        use anyhow::Context;
        let here = std::env::current_dir().context("find the current folder")?;
        // Hosts look for a project's configuration at the top of its repository.
        let project = here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here).to_owned();
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let home = variable("HOME").map(PathBuf::from).context("find the home folder: HOME is not set")?;
        Ok(Self { home, project, variable })
    }

    /// The folder that a variable names, or one below the home folder.
    fn folder(&self, variable: &str, below_home: &str) -> PathBuf {
        (self.variable)(variable).map_or_else(|| self.home.join(below_home), PathBuf::from)
    }
}

impl HostName {
    /// The name of the host in commands.
    pub(super) fn name(self) -> &'static str {
        proofmark_hook::Host::from(self).as_str()
    }

    /// The host that the installed command names. VS Code and Copilot read the same files.
    pub(super) fn runs_as(self) -> &'static str {
        match self {
            HostName::Vscode => HostName::Copilot.name(),
            host => host.name(),
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            HostName::Claude => "Claude Code",
            HostName::Codex => "Codex CLI",
            HostName::Gemini => "Gemini CLI",
            HostName::Copilot => "Copilot CLI",
            HostName::Vscode => "VS Code",
            HostName::Cursor => "Cursor",
            HostName::Opencode => "opencode",
        }
    }

    pub(super) fn form(self) -> Form {
        match self {
            HostName::Claude | HostName::Codex | HostName::Gemini => Form::Groups,
            HostName::Copilot | HostName::Vscode | HostName::Cursor => Form::Entries,
            HostName::Opencode => Form::Plugin,
        }
    }

    /// Whether the host's own reader takes comments out of its file.
    pub(super) fn allows_comments(self) -> bool {
        self == HostName::Gemini
    }

    /// The files that may have hooks, those of administrators first.
    pub(super) fn layers(self, place: &Surroundings) -> Vec<Layer> {
        let layer = |scope, path: PathBuf| Layer { scope, path };
        let project = |path: &str| layer(Scope::Project, place.project.join(path));
        let system = |path: &str| layer(Scope::System, PathBuf::from(path));
        match self {
            HostName::Claude => {
                let user = place.folder("CLAUDE_CONFIG_DIR", ".claude");
                vec![
                    system("/etc/claude-code/managed-settings.json"),
                    system("/etc/claude-code/managed-settings.d/proofmark.json"),
                    layer(Scope::User, user.join("settings.json")),
                    project(".claude/settings.json"),
                    project(".claude/settings.local.json"),
                ]
            }
            HostName::Codex => {
                let user = place.folder("CODEX_HOME", ".codex");
                vec![
                    system("/etc/codex/hooks.json"),
                    layer(Scope::User, user.join("hooks.json")),
                    project(".codex/hooks.json"),
                ]
            }
            HostName::Gemini => {
                let settings = (place.variable)("GEMINI_CLI_SYSTEM_SETTINGS_PATH");
                let settings = settings.map_or_else(|| PathBuf::from("/etc/gemini-cli/settings.json"), PathBuf::from);
                let user = place.folder("GEMINI_CLI_HOME", "").join(".gemini");
                vec![
                    layer(Scope::System, settings),
                    layer(Scope::User, user.join("settings.json")),
                    project(".gemini/settings.json"),
                ]
            }
            HostName::Copilot | HostName::Vscode => {
                let user = layer(Scope::User, place.folder("COPILOT_HOME", ".copilot").join("hooks/proofmark.json"));
                let mut layers = vec![user, project(".github/hooks/proofmark.json")];
                if self == HostName::Copilot {
                    layers.insert(0, system("/etc/github-copilot/policy.d/proofmark.json"));
                }
                layers
            }
            HostName::Cursor => vec![
                system("/etc/cursor/hooks.json"),
                layer(Scope::User, place.home.join(".cursor/hooks.json")),
                project(".cursor/hooks.json"),
            ],
            HostName::Opencode => {
                let user = place.folder("XDG_CONFIG_HOME", ".config").join("opencode/plugins/proofmark.js");
                vec![layer(Scope::User, user), project(".opencode/plugins/proofmark.js")]
            }
        }
    }

    /// The file that an installation is written to. Of several, the last: administrators add a file of their own, and a
    /// project has one that is not shared, because the paths in it are those of this machine.
    pub(super) fn file(self, scope: Scope, place: &Surroundings) -> Option<PathBuf> {
        let layers = self.layers(place).into_iter();
        layers.filter(|layer| layer.scope == scope).map(|layer| layer.path).next_back()
    }

    /// The events that call the hook, as the host names them.
    pub(super) fn events(self) -> &'static [(&'static str, Moment)] {
        match self {
            HostName::Claude | HostName::Copilot | HostName::Vscode => &[
                ("PreToolUse", Moment::Before),
                ("PostToolUse", Moment::After),
                ("PostToolUseFailure", Moment::After),
                ("Stop", Moment::Stop),
                ("SubagentStop", Moment::Stop),
            ],
            HostName::Codex => &[
                ("PreToolUse", Moment::Before),
                ("PostToolUse", Moment::After),
                ("Stop", Moment::Stop),
                ("SubagentStop", Moment::Stop),
            ],
            HostName::Gemini => {
                &[("BeforeTool", Moment::Before), ("AfterTool", Moment::After), ("AfterAgent", Moment::Stop)]
            }
            HostName::Cursor => &[
                ("preToolUse", Moment::Before),
                ("postToolUse", Moment::After),
                ("postToolUseFailure", Moment::After),
                ("stop", Moment::Stop),
                ("subagentStop", Moment::Stop),
            ],
            HostName::Opencode => &[("tool.execute.before", Moment::Before), ("tool.execute.after", Moment::After)],
        }
    }

    /// Members that the host's file must have beside its hooks.
    pub(super) fn version(self) -> Option<u64> {
        (self.form() == Form::Entries).then_some(1)
    }

    /// What is added to the list of an event: this command, in the form of this host.
    pub(super) fn item(self, moment: Moment, command: &[String]) -> Json {
        let line = shell_words::line(command);
        let hook = match self {
            HostName::Claude => {
                let (program, arguments) = command.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
                let arguments: Vec<Json> = arguments.iter().map(|word| Json::from(word.as_str())).collect();
                // Without it, a hook that does not start or does not answer lets the call run. It has no effect on stops.
                let on_failure = (moment == Moment::Before).then_some("block");
                object! {
                    "type": "command", "command": program, "args": arguments,
                    "timeout": TIMEOUT_SECONDS, "onFailure"?: on_failure,
                }
            }
            HostName::Gemini => {
                object! { "name": "proofmark", "type": "command", "command": line, "timeout": TIMEOUT_SECONDS * 1000 }
            }
            HostName::Cursor => {
                let fail_closed = (moment == Moment::Before).then_some(true);
                let loops = (moment == Moment::Stop).then_some(CURSOR_LOOPS);
                object! {
                    "command": line, "timeout": TIMEOUT_SECONDS, "failClosed"?: fail_closed, "loop_limit"?: loops,
                }
            }
            // `command` and `timeout` are read by the command line, the cloud agent and VS Code alike.
            HostName::Codex | HostName::Copilot | HostName::Vscode | HostName::Opencode => {
                object! { "type": "command", "command": line, "timeout": TIMEOUT_SECONDS }
            }
        };
        if self.form() == Form::Entries {
            return hook.into();
        }
        let mut group = Object::new();
        if moment != Moment::Stop {
            group.insert("matcher", "*");
        }
        group.insert("hooks", vec![Json::from(hook)]);
        group.into()
    }

    /// What the person does before the hooks count.
    pub(super) fn next(self, scope: Scope) -> &'static str {
        match (self, scope) {
            (HostName::Codex, Scope::User) => {
                "start `codex` and trust the hooks when it asks: until then it skips them"
            }
            (HostName::Codex, Scope::Project) => {
                "start `codex` in the project, trust the folder and the hooks when it asks: until then it skips them"
            }
            (HostName::Gemini | HostName::Copilot | HostName::Vscode, Scope::Project) => {
                "trust the folder when the host asks: until then it may skip the hooks"
            }
            (HostName::Claude, _) => "start a new session: hooks are read when a session starts",
            (_, _) => "restart the host: hooks are read when it starts",
        }
    }

    /// The place that only an administrator can change.
    pub(super) fn administrator(self) -> &'static str {
        match self {
            HostName::Claude => {
                "/etc/claude-code/managed-settings.d/proofmark.json (`--scope system`); `allowManagedHooksOnly` there ignores all other hooks"
            }
            HostName::Codex => {
                "/etc/codex/hooks.json (`--scope system`), trusted without asking; `allow_managed_hooks_only = true` in /etc/codex/requirements.toml ignores all other hooks"
            }
            HostName::Gemini => {
                "/etc/gemini-cli/settings.json (`--scope system`), with `\"hooksConfig\": {\"enabled\": true}`"
            }
            HostName::Copilot => {
                "/etc/github-copilot/policy.d/proofmark.json (`--scope system`), owned by root and writable by root only; `disableAllHooks` does not concern it"
            }
            HostName::Vscode => {
                "the organization's policies decide whether hooks run; no file of an administrator has hooks"
            }
            HostName::Cursor => "/etc/cursor/hooks.json (`--scope system`), and hooks that a team distributes",
            HostName::Opencode => "none: keep the plugin's folder where the agent's account cannot write",
        }
    }
}

/// Whether a file is within a folder, after all links.
pub(super) fn is_within(path: &Path, folder: &Path) -> bool {
    let existing = path.ancestors().find_map(|part| std::fs::canonicalize(part).ok());
    match (existing, std::fs::canonicalize(folder)) {
        (Some(existing), Ok(folder)) => existing.starts_with(folder),
        (_, _) => false,
    }
}
