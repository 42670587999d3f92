//! What can be told from the installed hooks themselves.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use proofmark_hosts::{Finding, Form, Host, Moment, OnFailure, TIMEOUT_SECONDS};
use proofmark_receipt::Json;

use super::super::config_file::Installed;
use super::super::run_bounded;
use super::Found;
use crate::document;
use crate::error;
use crate::remote::asks_a_server;

/// The shortest time, in seconds, that a host may wait for a hook: less can pass while the machine is busy.
const SHORTEST: u64 = 30;
/// How long a host may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(20);

/// What is wrong with the hooks of a file.
pub(super) fn of_file(host: &Host, found: &Found) -> Vec<Finding> {
    let file = found.layer.path.display();
    let again =
        format!("install again with `proofmark hook install {} --scope {}`", host.name, found.layer.scope.as_str());
    let mut findings = Vec::new();
    let missing: Vec<&str> = host
        .events
        .installed
        .iter()
        .map(|(event, _)| *event)
        .filter(|event| !found.hooks.iter().any(|hook| hook.event == *event))
        .collect();
    if missing.is_empty() {
        findings.push(Finding::good(format!("{file} has hooks for {}", events(&found.hooks))));
    } else {
        findings.push(Finding::bad(format!("{file} has no hook for {}", missing.join(", ")), &*again));
    }
    for hook in &found.hooks {
        let wrong = wrong_with(host, hook);
        findings
            .extend(wrong.into_iter().map(|wrong| Finding::bad(format!("{file}: {}: {wrong}", hook.event), &*again)));
    }
    let commands = found.hooks.iter().map(|hook| &hook.command);
    let mut seen: Vec<&Vec<String>> = Vec::new();
    for command in commands {
        if !seen.contains(&command) {
            seen.push(command);
            findings.extend(of_command(command).map(|wrong| Finding::bad(format!("{file}: {wrong}"), &*again)));
        }
    }
    findings.extend(writable_by_others(&found.layer.path));
    findings
}

fn events(hooks: &[Installed]) -> String {
    hooks.iter().map(|hook| hook.event.as_str()).collect::<Vec<_>>().join(", ")
}

/// Members of a hook by which it does not do its work.
fn wrong_with(host: &Host, hook: &Installed) -> Vec<String> {
    if matches!(host.installation.form, Form::Plugin { .. }) {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    let member = |name: &str| hook.hook.get(name);
    let moment = host.events.installed.iter().find(|(event, _)| *event == hook.event).map(|(_, moment)| *moment);
    // A person may have changed what an installation wrote.
    if hook.matcher.as_deref().is_some_and(|matcher| !["", "*", ".*"].contains(&matcher)) {
        wrong.push("its matcher leaves tools out".to_owned());
    }
    if member("async").and_then(Json::as_bool) == Some(true) {
        wrong.push("it is asynchronous, so the host does not wait for its answer".to_owned());
    }
    if member("if").is_some() {
        wrong.push("a condition leaves calls out".to_owned());
    }
    if let (Some(Moment::Before), OnFailure::BlocksIf { member, is_asked_for }) = (moment, host.installation.on_failure)
        && !is_asked_for(&hook.hook)
    {
        wrong.push(format!("without `{member}` the host runs the call if the hook fails"));
    }
    let timeout =
        ["timeout", "timeoutSec"].iter().find_map(|name| member(name)?.as_number()?.as_str().parse::<f64>().ok());
    #[expect(clippy::cast_precision_loss, reason = "a small constant")]
    if timeout.is_some_and(|timeout| timeout < (SHORTEST * host.installation.units_of_a_second) as f64) {
        wrong.push(format!("its timeout is below {SHORTEST} s, and should be {TIMEOUT_SECONDS} s"));
    }
    wrong
}

/// What is wrong with the program, the policy and the workflow that a command names.
fn of_command(command: &[String]) -> impl Iterator<Item = String> {
    let option = |names: &[&str]| {
        let at = command.iter().position(|word| names.contains(&word.as_str()))?;
        command.get(at + 1).map(|file| Path::new(file).to_owned())
    };
    let not_executable = command.first().and_then(|program| match std::fs::metadata(program) {
        Ok(about) if about.is_file() && about.permissions().mode() & 0o111 != 0 => None,
        Ok(_) => Some(format!("`{program}` is not a program")),
        Err(error) => Some(format!("`{program}` cannot be found: {error}")),
    });
    let policy = match option(&["--policy"]) {
        // A server that decides has the policy.
        None if asks_a_server(command) => None,
        None => Some("the command names no policy".to_owned()),
        Some(policy) => {
            document::action_policy(&policy).err().map(|error| format!("failed to {}", error::message(&error)))
        }
    };
    let workflow = option(&["--workflow"])
        .and_then(|file| crate::lint::sound_workflow(&file, None).err())
        .map(|error| format!("failed to {}", error::message(&error)));
    [not_executable, policy, workflow].into_iter().flatten()
}

fn writable_by_others(path: &Path) -> Option<Finding> {
    let open = [Some(path), path.parent()].into_iter().flatten().find(|path| {
        std::fs::metadata(path).is_ok_and(|about| {
            let mode = about.permissions().mode();
            // In a folder with the sticky bit, only the owner of a file may replace it.
            mode & 0o022 != 0 && mode & 0o1000 == 0
        })
    })?;
    Some(Finding::bad(
        format!("other users can write to {}", open.display()),
        format!("take their right to write: chmod go-w '{}'", open.display()),
    ))
}

/// The version of the host, where a program of it is on the path.
pub(super) fn of_version(host: &Host) -> Option<Finding> {
    let program = host.program.as_ref()?;
    let ended = run_bounded::run(Command::new(program.name).arg("--version"), b"", VERSION_LIMIT).ok();
    let text = ended.map(|ended| String::from_utf8_lossy(&ended.stdout).into_owned()).unwrap_or_default();
    let version = text.split_whitespace().find(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    let Some(version) = version.map(|version| version.trim_end_matches('.')) else {
        // The doctor may run where the host is not on the path, and its hooks are in place all the same.
        let what = format!("`{} --version` says nothing, so the version of {} is unknown", program.name, host.title);
        return Some(Finding::note(what, "put it on the path to have it checked"));
    };
    let shown = format!("{} {version}", host.title);
    if let Some(oldest) = program.oldest.as_ref().filter(|oldest| numbers(version) < oldest.version.to_vec()) {
        return Some(Finding::bad(format!("{shown} {}", oldest.before), oldest.help));
    }
    if program.tested == version {
        return Some(Finding::good(shown));
    }
    Some(Finding::note(shown, format!("the tests of proofmark run {}", program.tested)))
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '-']).map_while(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, is_older) in
            [("2.1.294", true), ("2.1.295", false), ("2.1.1000", false), ("2.2", false), ("2.1", true)]
        {
            assert_eq!(numbers(version) < vec![2, 1, 295], is_older, "{version}");
        }
    }
}
