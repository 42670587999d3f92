//! A host's file with hooks: what in it is ours, and how that is put in and taken out.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use proofmark_hook::{JsonText, JsonTextError, Step};
use proofmark_receipt::{Json, Object};
use proofmark_server::replace_file;

use super::host::{Form, Moment};
use super::plugin;
use crate::error::with_help;
use crate::hook::HostName;
use crate::host_file::{MAX_CONFIGURATION, back_up, backup_of};
use crate::input;
use crate::paint::printable;
use crate::shell_words;

/// What a configuration was before it had our hooks.
const BACKUP: &str = "unhooked";
/// The mode of a new configuration, which has no secrets.
const MODE: u32 = 0o644;
/// The member in which hosts have their hooks.
const HOOKS: &str = "hooks";

/// A file that was read. One that does not exist has no text.
pub(super) struct ConfigFile {
    host: HostName,
    path: PathBuf,
    before: Option<Vec<u8>>,
    /// What the file is to have; `None` for no file.
    after: Option<String>,
}

/// A hook of ours in a file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Installed {
    /// The event, as the host names it.
    pub(super) event: String,
    /// The words of the command that the host starts.
    pub(super) command: Vec<String>,
    /// The hook as the file has it.
    pub(super) hook: Object,
    /// The matcher of its group.
    pub(super) matcher: Option<String>,
    group: usize,
    /// Which hook of the group it is, where hosts have groups.
    entry: Option<usize>,
}

impl ConfigFile {
    pub(super) fn read(host: HostName, path: &Path) -> anyhow::Result<Self> {
        // A link that leads nowhere is not a missing file: what is written must not go where nobody looked.
        let before = match fs::symlink_metadata(path) {
            Ok(_) => Some(input::read_limited(path, MAX_CONFIGURATION)?),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("read `{}`", path.display())),
        };
        let after = before.as_ref().map(|before| String::from_utf8(before.clone()));
        let after = after.transpose().map_err(|_| Self::refusal(path, "it is not UTF-8"))?;
        Ok(Self { host, path: path.to_owned(), before, after })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn exists(&self) -> bool {
        self.before.is_some()
    }

    /// Whether what the file is to have differs from what it has.
    pub(super) fn is_changed(&self) -> bool {
        self.before.as_deref() != self.after.as_ref().map(String::as_bytes)
    }

    fn refusal(path: &Path, why: impl std::fmt::Display) -> anyhow::Error {
        with_help(
            format!("read the configuration `{}`: {}", path.display(), printable(&why.to_string())),
            "correct the file, or install into another one with `--scope`",
        )
    }

    fn refuse(&self, why: JsonTextError) -> anyhow::Error {
        Self::refusal(&self.path, why)
    }

    /// The file as JSON; an empty or missing one is an empty object.
    pub(super) fn document(&self) -> anyhow::Result<JsonText> {
        let text = self.after.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
        let document = JsonText::read(text.as_bytes(), self.host.allows_comments());
        let document = document.map_err(|why| self.refuse(why))?;
        match document.json().as_object() {
            Some(_) => Ok(document),
            None => Err(Self::refusal(&self.path, "it is not an object")),
        }
    }

    /// Our hooks in the file.
    pub(super) fn installed(&self) -> anyhow::Result<Vec<Installed>> {
        match self.host.form() {
            Form::Plugin => Ok(self.after.as_deref().and_then(plugin::command).map_or_else(Vec::new, |command| {
                let events = self.host.events().iter();
                let hook = |(event, _): &(&str, Moment)| Installed {
                    event: (*event).to_owned(),
                    command: command.clone(),
                    hook: Object::new(),
                    matcher: None,
                    group: 0,
                    entry: None,
                };
                events.map(hook).collect()
            })),
            Form::Groups | Form::Entries => Ok(self.found(&self.document()?)),
        }
    }

    fn found(&self, document: &JsonText) -> Vec<Installed> {
        let hooks = document.json().as_object().and_then(|document| document.get(HOOKS)?.as_object());
        let mut found = Vec::new();
        for (event, list) in hooks.into_iter().flat_map(Object::iter) {
            for (index, group) in list.as_array().unwrap_or_default().iter().enumerate() {
                let Some(group) = group.as_object() else { continue };
                let mut add = |hook: &Object, entry| {
                    if let Some(command) = command_of(hook).filter(|command| is_ours(command, self.host)) {
                        let matcher = group.get("matcher").and_then(Json::as_str).map(str::to_owned);
                        let (event, hook) = (event.to_owned(), hook.clone());
                        found.push(Installed { event, command, hook, matcher, group: index, entry });
                    }
                };
                match (self.host.form(), group.get(HOOKS).and_then(Json::as_array)) {
                    (Form::Groups, Some(entries)) => {
                        let entries = entries.iter().enumerate();
                        entries
                            .for_each(|(at, hook)| hook.as_object().into_iter().for_each(|hook| add(hook, Some(at))));
                    }
                    (Form::Entries, _) => add(group, None),
                    (Form::Groups | Form::Plugin, _) => {}
                }
            }
        }
        found
    }

    /// Puts the hooks with this command in place of ours that are there.
    pub(super) fn install(&mut self, command: &[String]) -> anyhow::Result<()> {
        if self.host.form() == Form::Plugin {
            if self.exists() && self.installed()?.is_empty() {
                return Err(Self::refusal(&self.path, "it is not the plugin that this command writes"));
            }
            self.after = Some(plugin::text(command));
            return Ok(());
        }
        let before = self.installed()?;
        let wanted: Vec<_> =
            self.host.events().iter().map(|(event, moment)| (*event, self.host.item(*moment, command))).collect();
        let mut document = self.document()?;
        if self.has_exactly(&before, &wanted, &document) {
            return Ok(());
        }
        self.take_out(&mut document, &before)?;
        if let Some(version) = self.host.version() {
            document.add_member("version", &Json::from(version)).map_err(|why| self.refuse(why))?;
        }
        for (event, item) in &wanted {
            document.push(&[HOOKS, event], item).map_err(|why| self.refuse(why))?;
        }
        self.after = Some(document.text().to_owned());
        Ok(())
    }

    /// Whether the hooks that are there are the ones that are wanted, each once.
    fn has_exactly(&self, before: &[Installed], wanted: &[(&str, Json)], document: &JsonText) -> bool {
        let item = |installed: &Installed| {
            let hooks = document.json().as_object()?.get(HOOKS)?.as_object()?;
            hooks.get(&installed.event)?.as_array()?.get(installed.group).cloned()
        };
        before.len() == wanted.len()
            && wanted.iter().all(|(event, wanted)| {
                before.iter().any(|installed| installed.event == *event && item(installed).as_ref() == Some(wanted))
            })
    }

    /// Takes our hooks out. If nothing else has changed since they were put in, the file gets back what it had.
    pub(super) fn uninstall(&mut self) -> anyhow::Result<()> {
        let installed = self.installed()?;
        if installed.is_empty() {
            return Ok(());
        }
        if self.host.form() == Form::Plugin {
            self.after = None;
            return Ok(());
        }
        let mut document = self.document()?;
        self.take_out(&mut document, &installed)?;
        let backup = self.backup()?;
        let read = |bytes: &[u8]| JsonText::read(bytes, self.host.allows_comments()).ok();
        self.after = match &backup {
            // An empty file is not a document. It stays empty.
            Some(bytes) if bytes.trim_ascii().is_empty() && is_bare(document.json()) => {
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
            Some(bytes) if read(bytes).is_some_and(|before| is_same(before.json(), document.json())) => {
                Some(String::from_utf8_lossy(bytes).into_owned())
            }
            None if is_bare(document.json()) => None,
            Some(_) | None => Some(document.text().to_owned()),
        };
        Ok(())
    }

    fn take_out(&self, document: &mut JsonText, installed: &[Installed]) -> anyhow::Result<()> {
        // From the last to the first, so that those before keep their places.
        for installed in installed.iter().rev() {
            let list = [Step::Name(HOOKS), Step::Name(&installed.event)];
            let group = [&list[..], &[Step::Index(installed.group)]].concat();
            let entries = [&group[..], &[Step::Name(HOOKS)]].concat();
            if let Some(entry) = installed.entry {
                let entry = [&entries[..], &[Step::Index(entry)]].concat();
                document.remove(&entry).map_err(|why| self.refuse(why))?;
            }
            if installed.entry.is_none() || is_empty(document.json(), &entries) {
                document.remove(&group).map_err(|why| self.refuse(why))?;
            }
            for path in [&list[..], &[Step::Name(HOOKS)]] {
                if is_empty(document.json(), path) {
                    document.remove(path).map_err(|why| self.refuse(why))?;
                }
            }
        }
        Ok(())
    }

    fn backup(&self) -> anyhow::Result<Option<Vec<u8>>> {
        let backup = backup_of(&self.path, BACKUP);
        backup.is_file().then(|| input::read_limited(&backup, MAX_CONFIGURATION)).transpose()
    }

    /// Writes the file. What it was is kept when our hooks come in, and goes when they have gone.
    pub(super) fn write(&self, had_hooks: bool) -> anyhow::Result<()> {
        let context = || format!("write the configuration `{}`", self.path.display());
        let backup = backup_of(&self.path, BACKUP);
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                let has_hooks = !self.installed()?.is_empty();
                if !had_hooks && has_hooks && self.host.form() != Form::Plugin {
                    back_up(&self.path, BACKUP, before)?;
                }
                replace_file(&self.path, after, MODE).with_context(context)?;
                let is_restored = !has_hooks && fs::read(&backup).is_ok_and(|kept| kept == after.as_bytes());
                if is_restored {
                    fs::remove_file(&backup).with_context(|| format!("remove `{}`", backup.display()))?;
                }
            }
            (None, Some(after)) => {
                let folder = self.path.parent().context("write a file without a folder")?;
                fs::create_dir_all(folder).with_context(context)?;
                // One of an earlier installation says nothing of this one.
                drop(fs::remove_file(&backup));
                replace_file(&self.path, after, MODE).with_context(context)?;
            }
            (Some(_), None) => {
                fs::remove_file(&self.path).with_context(|| format!("remove `{}`", self.path.display()))?
            }
            (None, None) => {}
        }
        Ok(())
    }
}

/// The words of the command that a hook starts.
fn command_of(hook: &Object) -> Option<Vec<String>> {
    let text = |name: &str| hook.get(name).and_then(Json::as_str);
    let program = text("command").or_else(|| text("bash")).or_else(|| text("exec"))?;
    match hook.get("args") {
        None => shell_words::split(program),
        Some(arguments) => {
            let arguments = arguments.as_array()?.iter().map(|word| word.as_str().map(str::to_owned));
            std::iter::once(Some(program.to_owned())).chain(arguments).collect()
        }
    }
}

/// Whether a command starts our hook for this host.
fn is_ours(command: &[String], host: HostName) -> bool {
    let Some(at) = program_at(command) else { return false };
    let [program, word, name, ..] = command.get(at..).unwrap_or_default() else { return false };
    let is_program = Path::new(program).file_name().is_some_and(|name| name == "proofmark");
    is_program && word == "hook" && name == host.runs_as()
}

/// Where the program is in a command that may set variables, or take them away, first.
pub(super) fn program_at(command: &[String]) -> Option<usize> {
    let first = command.first()?;
    if Path::new(first).file_name().is_none_or(|name| name != "env") {
        return Some(0);
    }
    let mut at = 1;
    loop {
        let word = command.get(at)?;
        match word.split_once('=') {
            Some((name, _)) if !name.contains('/') => at += 1,
            _ if word == "-u" => at += 2,
            _ => return Some(at),
        }
    }
}

fn at<'a>(json: &'a Json, path: &[Step<'_>]) -> Option<&'a Json> {
    path.iter().try_fold(json, |json, step| match step {
        Step::Name(name) => json.as_object()?.get(name),
        Step::Index(index) => json.as_array()?.get(*index),
    })
}

fn is_empty(json: &Json, path: &[Step<'_>]) -> bool {
    at(json, path).is_some_and(nothing_within)
}

fn nothing_within(json: &Json) -> bool {
    json.as_array().is_some_and(<[Json]>::is_empty)
        || json.as_object().is_some_and(|object| object.iter().next().is_none())
}

/// Whether nothing is left but what an installation writes into a new file.
fn is_bare(json: &Json) -> bool {
    json.as_object().is_some_and(|object| object.iter().all(|(name, _)| name == "version"))
}

/// Whether a document says the same as one of before, up to what an installation adds beside the hooks.
fn is_same(before: &Json, after: &Json) -> bool {
    let had_version = before.as_object().is_some_and(|before| before.contains("version"));
    pruned(before, had_version) == pruned(after, had_version)
}

/// The document without lists of hooks that are empty.
fn pruned(json: &Json, with_version: bool) -> Json {
    let mut document = json.clone();
    if let Json::Object(object) = &mut document {
        if !with_version {
            object.remove("version");
        }
        if let Some(Json::Object(hooks)) = object.get_mut(HOOKS) {
            let empty: Vec<_> =
                hooks.iter().filter(|(_, list)| nothing_within(list)).map(|(name, _)| name.to_owned()).collect();
            empty.iter().for_each(|name| drop(hooks.remove(name)));
        }
        if object.get(HOOKS).is_some_and(nothing_within) {
            object.remove(HOOKS);
        }
    }
    document
}
