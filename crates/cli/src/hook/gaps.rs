//! What hosts do without asking a hook, and what helps. `docs/hooks.md` shows the same table.
use crate::hook::HostName;

/// Something that a host does without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gap {
    pub(super) what: &'static str,
    pub(super) remedy: &'static str,
}

const fn gap(what: &'static str, remedy: &'static str) -> Gap {
    Gap { what, remedy }
}

/// What no hook of any host can stop.
pub(super) const EVERY_HOST: [Gap; 4] = [
    gap(
        "A hook sees the text of a shell command, not what the command does.",
        "Allow commands by name, as `examples/hooks/allowlist.yaml` does, and run the host in a sandbox.",
    ),
    gap(
        "An agent that may run any command can change the host's settings, and use keys that it can read.",
        "Install with `--scope system` where the host has it, and keep the keys of reviewers on another account.",
    ),
    gap(
        "An agent that may run any command can take calls out of the host's own record of the session.",
        "Rely on what hooks saw; the record can only show calls that no hook saw.",
    ),
    gap(
        "MCP servers act on their own between calls.",
        "Put them under `proofmark guard wrap`, and give them no more credentials than they need.",
    ),
];

const CLAUDE: &[Gap] = &[
    gap(
        "`@file` in a prompt reads the file without a tool call.",
        "`permissions.deny` with `Read(…)` in the managed settings.",
    ),
    gap(
        "`disableAllHooks` in a settings file switches hooks off.",
        "Hooks of the managed settings (`--scope system`) stay on.",
    ),
    gap("The `--bare` mode runs without hooks.", "Start agents by a command that the agent's account cannot change."),
    gap(
        "Versions before 2.1.295 run the call if the hook does not start.",
        "Update; `proofmark hook doctor claude` checks the version.",
    ),
    gap(
        "After 8 refused stops in a row the host stops anyway.",
        "Accept the step again in CI, with `--trace session:NAME`.",
    ),
    gap(
        "A repository can add MCP servers and hooks of its own.",
        "`allowManagedHooksOnly` and the lists of MCP servers in the managed settings.",
    ),
];

const CODEX: &[Gap] = &[
    gap(
        "`write_stdin` types into a program that runs already, and calls no hook.",
        "Refuse commands that start a shell or an interpreter without a script, as the policies in `examples/hooks` do. With `--workflow`, the stop finds such calls in the transcript.",
    ),
    gap(
        "In code mode the outer `exec` calls no hook; the commands within it do.",
        "The same policies; what is typed with `write_stdin` within it is not seen either.",
    ),
    gap(
        "A hook that crashes, takes too long or answers with an unknown member lets the call run.",
        "`proofmark hook` answers within its deadline; `proofmark hook doctor codex` runs it.",
    ),
    gap(
        "A hook that is not trusted is skipped without a word.",
        "`--scope system`, which is trusted without asking; `proofmark hook doctor codex` asks Codex.",
    ),
    gap(
        "`features.hooks = false`, also with `-c`, switches hooks off.",
        "`[features] hooks = true` in /etc/codex/requirements.toml.",
    ),
    gap(
        "The web search runs at the provider of the model, and calls no hook.",
        "`allowed_web_search_modes = [\"disabled\"]` in /etc/codex/requirements.toml.",
    ),
];

const GEMINI: &[Gap] = &[
    gap(
        "`@file` in a prompt reads the file without a hook.",
        "Keep files that the agent must not read where its account cannot read them.",
    ),
    gap(
        "A hook that crashes or takes too long lets the call run.",
        "`proofmark hook` answers within its deadline; `proofmark hook doctor gemini` runs it.",
    ),
    gap(
        "`hooksConfig.enabled` and `hooksConfig.disabled` in a project's settings switch hooks off.",
        "`\"hooksConfig\": {\"enabled\": true}` in /etc/gemini-cli/settings.json, and no trust for folders of strangers.",
    ),
    gap(
        "Variables in a project's `.env` reach the shell that starts the hook: `BASH_ENV` runs a file of the project first.",
        "`\"advanced\": {\"excludedEnvVars\": [\"BASH_ENV\", \"ENV\", \"LD_PRELOAD\"]}` in the user's or the system's settings.",
    ),
    gap("Hooks of a project do not run in a folder that is not trusted.", "`--scope user` or `--scope system`."),
];

const COPILOT: &[Gap] = &[
    gap(
        "A hook that takes too long lets the call run, an administrator's too.",
        "`proofmark hook` answers within its deadline, which is far below the host's.",
    ),
    gap(
        "`disableAllHooks` in a settings file switches hooks off.",
        "Files in /etc/github-copilot/policy.d (`--scope system`) stay on.",
    ),
    gap(
        "After 8 refused stops in a row the host stops anyway.",
        "Accept the step again in CI, with `--trace session:NAME`.",
    ),
    gap(
        "The cloud agent has neither this program nor the policy.",
        "Require a receipt of the pushed tree with `proofmark gate`.",
    ),
];

const VSCODE: &[Gap] = &[
    gap(
        "A hook that ends with an error other than 2, or takes too long, lets the call run.",
        "`proofmark hook` answers within its deadline; `proofmark hook doctor vscode` runs it.",
    ),
    gap(
        "`chat.hookFilesLocations` and policies of an organization switch hooks off.",
        "Require a receipt of the pushed tree with `proofmark gate`.",
    ),
    gap(
        "Sessions of Claude and Codex in VS Code use the hooks of those hosts.",
        "Install for `claude` and `codex` as well.",
    ),
    gap("Hooks are in preview, and their form may change.", "Run `proofmark hook doctor vscode` after an update."),
    gap(
        "The form of the session's record is not promised. A call that no hook saw is found only while it stays as it is.",
        "Accept the step again in CI, with `--trace session:NAME`.",
    ),
];

const CURSOR: &[Gap] = &[
    gap(
        "`AskQuestion` and completions of the editor's Tab key call no hook before a tool.",
        "They change files only in front of a person.",
    ),
    gap(
        "Events after an MCP call do not name the server.",
        "Put MCP servers under `proofmark guard wrap`, which knows it.",
    ),
    gap(
        "The stop is followed by a new message, not refused, and not more often than `loop_limit`.",
        "Accept the step again in CI, with `--trace session:NAME`.",
    ),
    gap(
        "The session's record names no calls and does not say how they ended, so it is not compared: a call that no hook saw is not found.",
        "Require a receipt of the pushed tree with `proofmark gate`.",
    ),
    gap(
        "A project's `.cursor/hooks.json` adds hooks, which run as the user.",
        "Open folders of strangers as restricted workspaces.",
    ),
];

const OPENCODE: &[Gap] = &[
    gap(
        "In code mode, and in the newer engine, inner calls do not reach plugins.",
        "Switch code mode off; put MCP servers under `proofmark guard wrap`.",
    ),
    gap(
        "A plugin that is loaded later can change the arguments after the decision.",
        "Have no other plugin that changes arguments.",
    ),
    gap("A stop cannot be refused, and no step is judged then.", "Accept the step in CI, with `--trace session:NAME`."),
    gap(
        "The session's record is a database of its own, which is not compared: a call that the plugin did not see is not found.",
        "Require a receipt of the pushed tree with `proofmark gate`.",
    ),
    gap(
        "`opencode --pure` and `OPENCODE_PURE` run without plugins.",
        "Start agents by a command that the agent's account cannot change.",
    ),
    gap(
        "No administrator's file has plugins that stay on.",
        "Keep the folder of plugins where the agent's account cannot write.",
    ),
];

impl HostName {
    /// What this host does without asking.
    pub(super) fn gaps(self) -> &'static [Gap] {
        match self {
            HostName::Claude => CLAUDE,
            HostName::Codex => CODEX,
            HostName::Gemini => GEMINI,
            HostName::Copilot => COPILOT,
            HostName::Vscode => VSCODE,
            HostName::Cursor => CURSOR,
            HostName::Opencode => OPENCODE,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    const PAGE: &str = include_str!("../../../../docs/hooks.md");

    #[test]
    fn the_page_shows_the_gaps_of_every_host() {
        let row = |gap: &Gap| format!("| {} | {} |", gap.what, gap.remedy);
        let sections =
            HostName::value_variants().iter().map(|host| (format!("### Gaps of {}\n", host.title()), host.gaps()));
        for (heading, gaps) in sections.chain([("### Gaps of every host\n".to_owned(), &EVERY_HOST[..])]) {
            let section = PAGE.split(&heading).nth(1).unwrap_or_else(|| panic!("no section `{heading}`"));
            let rows = section.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
            let rows: Vec<&str> = rows.take_while(|line| line.starts_with('|')).collect();
            assert_eq!(rows, gaps.iter().map(row).collect::<Vec<_>>(), "{heading}");
        }
    }
}
