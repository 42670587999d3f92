//! Settings of hosts by which installed hooks do not run.

use std::path::{Path, PathBuf};

use proofmark_receipt::{Json, Object};

use super::super::codex_server::CodexServer;
use super::super::config_file::ConfigFile;
use super::super::host::{Scope, Surroundings};
use super::{Finding, Found};
use crate::hook::HostName;
use crate::shell_words;

/// How hooks of Codex come to be trusted.
const TRUST: &str = "start `codex`, and trust them when it asks; or install with `--trust`";
/// Variables by which a project's `.env` runs code in the shell that starts a hook.
const SHELL_VARIABLES: [&str; 3] = ["BASH_ENV", "ENV", "LD_PRELOAD"];

/// What switches the hooks of this host off.
pub(super) fn of_host(host: HostName, place: &Surroundings, found: &[Found]) -> Vec<Finding> {
    if found.is_empty() {
        return Vec::new();
    }
    let is_managed = found.iter().any(|found| found.layer.scope == Scope::System);
    match host {
        HostName::Claude => claude(place, is_managed),
        HostName::Gemini => gemini(place, found),
        HostName::Copilot => copilot(place, is_managed),
        HostName::Codex => codex(place, found),
        HostName::Vscode | HostName::Cursor | HostName::Opencode => Vec::new(),
    }
}

/// A file of settings, if it can be read.
fn settings(host: HostName, path: &Path) -> Option<Object> {
    let document = ConfigFile::read(host, path).ok().filter(ConfigFile::exists)?.document().ok()?;
    document.json().as_object().cloned()
}

fn says(settings: &Object, name: &str) -> bool {
    settings.get(name).and_then(Json::as_bool) == Some(true)
}

fn claude(place: &Surroundings, is_managed: bool) -> Vec<Finding> {
    let mut files: Vec<(Scope, PathBuf)> =
        HostName::Claude.layers(place).into_iter().map(|layer| (layer.scope, layer.path)).collect();
    let more = std::fs::read_dir("/etc/claude-code/managed-settings.d").into_iter().flatten().flatten();
    files.extend(more.map(|entry| (Scope::System, entry.path())));
    let mut findings = Vec::new();
    for (scope, path) in files {
        let Some(settings) = settings(HostName::Claude, &path) else { continue };
        let shown = path.display();
        // What users set does not concern the hooks of an administrator.
        if says(&settings, "disableAllHooks") && (scope == Scope::System || !is_managed) {
            findings
                .push(Finding::bad(format!("{shown} switches hooks off (`disableAllHooks`)"), "take that line out"));
        }
        if scope == Scope::System && says(&settings, "allowManagedHooksOnly") && !is_managed {
            let what = format!("{shown} allows hooks of administrators only (`allowManagedHooksOnly`)");
            findings.push(Finding::bad(what, "install with `--scope system`"));
        }
    }
    findings
}

fn copilot(place: &Surroundings, is_managed: bool) -> Vec<Finding> {
    if is_managed {
        return Vec::new();
    }
    let layers = HostName::Copilot.layers(place).into_iter().map(|layer| layer.path);
    let user = HostName::Copilot.file(Scope::User, place);
    let user = user.as_deref().and_then(|file| file.parent()?.parent()).map(|folder| folder.join("settings.json"));
    let project = [".github/copilot/settings.json", ".github/copilot/settings.local.json"];
    let files = layers.chain(user).chain(project.iter().map(|file| place.project.join(file)));
    let off = files
        .filter(|path| settings(HostName::Copilot, path).is_some_and(|settings| says(&settings, "disableAllHooks")));
    off.map(|path| {
        Finding::bad(format!("{} switches hooks off (`disableAllHooks`)", path.display()), "take that line out")
    })
    .collect()
}

fn gemini(place: &Surroundings, found: &[Found]) -> Vec<Finding> {
    // An administrator's value counts before a project's, and that before the user's.
    let order = [Scope::System, Scope::Project, Scope::User];
    let layers = HostName::Gemini.layers(place);
    let in_order = order.iter().flat_map(|scope| layers.iter().filter(move |layer| layer.scope == *scope));
    let read: Vec<(&Path, Object)> =
        in_order.filter_map(|layer| Some((&*layer.path, settings(HostName::Gemini, &layer.path)?))).collect();
    let inner = |settings: &Object, outer: &str, name: &str| settings.get(outer)?.as_object()?.get(name).cloned();
    let mut findings = Vec::new();
    let enabled =
        read.iter().find_map(|(path, settings)| Some((path, inner(settings, "hooksConfig", "enabled")?.as_bool()?)));
    if let Some((path, false)) = enabled {
        let what = format!("{} switches hooks off (`hooksConfig.enabled`)", path.display());
        findings.push(Finding::bad(what, "set it to true"));
    }
    let lines: Vec<String> =
        found.iter().flat_map(|found| &found.hooks).map(|hook| shell_words::line(&hook.command)).collect();
    for (path, settings) in &read {
        let disabled = inner(settings, "hooksConfig", "disabled");
        let disabled = disabled.as_ref().and_then(Json::as_array).unwrap_or_default();
        let ours = |name: &str| name == "proofmark" || lines.iter().any(|line| line == name);
        if disabled.iter().filter_map(Json::as_str).any(ours) {
            let what = format!("{} switches the hook off (`hooksConfig.disabled`)", path.display());
            findings.push(Finding::bad(what, "take it out of that list"));
        }
    }
    let excluded: Vec<Json> = read
        .iter()
        .filter_map(|(_, settings)| inner(settings, "advanced", "excludedEnvVars"))
        .flat_map(|list| list.as_array().map(<[Json]>::to_vec).unwrap_or_default())
        .collect();
    if SHELL_VARIABLES.iter().any(|name| !excluded.iter().any(|item| item.as_str() == Some(name))) {
        findings.push(Finding::note(
            "variables in a project's `.env` reach the shell that starts the hook",
            format!("add {} to `advanced.excludedEnvVars` in the user's settings", SHELL_VARIABLES.join(", ")),
        ));
    }
    findings
}

/// What Codex says of the hooks: only it knows which are trusted.
fn codex(place: &Surroundings, found: &[Found]) -> Vec<Finding> {
    let Some(listed) = CodexServer::start().and_then(|mut codex| codex.hooks(&place.project)) else {
        return vec![Finding::unknown(
            "Codex did not say which hooks it runs",
            "put `codex` on the path; or start it, and look at `/hooks`",
        )];
    };
    let mut skipped: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for hook in found.iter().flat_map(|found| &found.hooks) {
        let command = shell_words::line(&hook.command);
        let listed = listed.iter().find(|listed| listed.is(&hook.event, &command));
        let (what, help) = match listed {
            None => (
                "does not read hooks",
                "trust the folder, and look for `features.hooks`, `allow_managed_hooks_only` and errors in the file",
            ),
            Some(listed) if !listed.enabled => ("has hooks switched off", "switch them on with `/hooks` in `codex`"),
            Some(listed) if listed.is_trusted() => continue,
            Some(listed) if listed.trust == "modified" => {
                ("skips hooks that have changed since they were trusted", TRUST)
            }
            Some(_) => ("skips hooks that are not trusted", TRUST),
        };
        match skipped.iter_mut().find(|(known, ..)| *known == what) {
            Some((_, _, events)) => events.push(&hook.event),
            None => skipped.push((what, help, vec![&hook.event])),
        }
    }
    if skipped.is_empty() {
        return vec![Finding::good("Codex runs the hooks: it trusts each of them")];
    }
    let bad = |(what, help, events): (&str, &str, Vec<&str>)| {
        Finding::bad(format!("Codex {what}: {}", events.join(", ")), help)
    };
    skipped.into_iter().map(bad).collect()
}
