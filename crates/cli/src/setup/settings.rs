//! Whether the hosts of an account ask anyone: the hooks and the MCP servers in their settings.

use std::path::Path;

use proofmark_hosts::{Finding, Host, Scope, Surroundings};

use super::layout::SOCKET;
use crate::config::Config;
use crate::error;
use crate::guard::wrap::servers_in;
use crate::hook::commands_in;
use crate::remote::{SERVER, asks_a_server};

/// Files below a home folder in which hosts have MCP servers for all projects.
const SERVER_FILES: [&str; 8] = [
    ".claude.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".copilot/mcp-config.json",
    ".codeium/windsurf/mcp_config.json",
    ".config/Claude/claude_desktop_config.json",
    ".config/Code/User/mcp.json",
    ".config/opencode/opencode.json",
];

/// What the settings say. Only those in the usual places are looked at.
pub(super) fn look(home: &Path, config: &Config) -> Vec<Finding> {
    // Variables of the agent's session are not known here.
    let place = Surroundings { home: home.to_owned(), project: home.to_owned(), variable: |_| None };
    let mut findings = Vec::new();
    for host in Host::all() {
        findings.extend(of_hooks(host, &place, config));
    }
    for file in SERVER_FILES.map(|file| home.join(file)) {
        findings.extend(of_servers(&file, config));
    }
    if findings.is_empty() {
        findings.push(Finding::note(
            format!("no settings of a host were found below {}", home.display()),
            "a host that is configured elsewhere is not seen",
        ));
    }
    findings
}

fn of_hooks(host: &'static Host, place: &Surroundings, config: &Config) -> Vec<Finding> {
    let layers = host.installation.layers(place).into_iter().filter(|layer| layer.scope != Scope::Project);
    let (mut findings, mut is_there) = (Vec::new(), None);
    let again = format!("as the agent: proofmark hook install {} {SERVER} unix:{SOCKET}", host.name);
    for layer in layers {
        if !layer.path.exists() {
            continue;
        }
        let path = layer.path.display();
        match commands_in(host, &layer.path, config) {
            Ok(commands) if commands.is_empty() => {
                is_there.get_or_insert_with(|| layer.path.clone());
            }
            Ok(commands) if commands.iter().all(|command| asks_a_server(command)) => {
                findings.push(Finding::good(format!("{}: its hooks in {path} ask a server", host.title)));
            }
            Ok(_) => findings.push(Finding::bad(
                format!("{}: its hooks in {path} decide as the agent's account", host.title),
                &*again,
            )),
            Err(error) => findings.push(Finding::unknown(
                format!("{}: failed to {}", host.title, error::message(&error)),
                "correct the file: the host may read no hook of it",
            )),
        }
    }
    match is_there {
        Some(path) if findings.is_empty() => {
            vec![Finding::bad(format!("{}: {} has no hooks of proofmark", host.title, path.display()), again)]
        }
        _ => findings,
    }
}

fn of_servers(file: &Path, config: &Config) -> Option<Finding> {
    if !file.exists() {
        return None;
    }
    let shown = file.display();
    let again = format!("as the agent: proofmark guard wrap {shown} {SERVER} unix:{SOCKET}");
    let servers = match servers_in(file, config) {
        Ok(servers) => servers,
        Err(error) => {
            let what = format!("failed to {}", error::message(&error));
            return Some(Finding::unknown(what, "correct the file, or look at it by hand"));
        }
    };
    let names = |is: fn(&Option<Vec<String>>) -> bool| {
        let names: Vec<&str> = servers.iter().filter(|one| is(&one.guard)).map(|one| one.name.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let asks = |guard: &Option<Vec<String>>| guard.as_ref().is_some_and(|words| asks_a_server(words));
    if let Some(names) = names(Option::is_none) {
        return Some(Finding::bad(format!("MCP servers in {shown} are not guarded: {names}"), again));
    }
    if !servers.iter().all(|one| asks(&one.guard)) {
        return Some(Finding::bad(format!("guards in {shown} decide as the agent's account"), again));
    }
    (!servers.is_empty()).then(|| Finding::good(format!("the MCP servers in {shown} are guarded, and ask a server")))
}
