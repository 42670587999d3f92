//! Settings of hosts by which installed hooks do not run.

use std::fs;
use std::path::PathBuf;

use proofmark_hosts::{
    Finding, HookServer, Host, InstalledHook, Layer, Scope, Settings, SettingsFound, Surroundings, Switches,
};

use super::super::hook_server::RunningServer;
use super::Found;
use crate::host_file::HostFile;
use crate::shell_words;

/// What switches the installed hooks of this host off.
pub(super) fn of_host(host: &'static Host, place: &Surroundings, found: &[Found]) -> Vec<Finding> {
    if found.is_empty() {
        return Vec::new();
    }
    let of_settings = host.installation.switches.as_ref().map(|switches| by_settings(host, switches, place, found));
    let of_server = host.installation.server.as_ref().map(|server| by_server(server, place, found));
    of_settings.into_iter().chain(of_server).flatten().collect()
}

fn by_settings(host: &'static Host, switches: &Switches, place: &Surroundings, found: &[Found]) -> Vec<Finding> {
    let in_folder = switches.folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let in_folder = in_folder.map(|entry| Layer { scope: Scope::System, path: entry.path() });
    let layers = host.installation.layers(place).into_iter().chain((switches.files)(place)).chain(in_folder);
    let settings: Vec<Settings> = layers.filter_map(|layer| settings(host, layer.scope, layer.path)).collect();
    let lines: Vec<String> = commands(found).map(|hook| hook.line).collect();
    let is_managed = found.iter().any(|found| found.layer.scope == Scope::System);
    (switches.findings)(&SettingsFound { settings: &settings, is_managed, lines: &lines })
}

fn by_server(server: &'static HookServer, place: &Surroundings, found: &[Found]) -> Vec<Finding> {
    let listed = RunningServer::start(server).and_then(|mut server| server.hooks(&place.project));
    (server.findings)(&commands(found).collect::<Vec<_>>(), listed.as_deref())
}

fn commands(found: &[Found]) -> impl Iterator<Item = InstalledHook> {
    found
        .iter()
        .flat_map(|found| &found.hooks)
        .map(|hook| InstalledHook { event: hook.event.clone(), line: shell_words::line(&hook.command) })
}

/// A file of settings, if it can be read.
fn settings(host: &'static Host, scope: Scope, path: PathBuf) -> Option<Settings> {
    let file = HostFile::read(&path, host.installation.has_comments).ok().filter(|file| file.before().is_some())?;
    let document = file.document().ok()?;
    Some(Settings { scope, path, object: document.json().as_object().cloned()? })
}
