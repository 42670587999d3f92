//! A host's file with hooks: what in it is ours, and how that is put in and taken out.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use proofmark_hosts::{Form, Host, JsonText, JsonTextError, Step};
use proofmark_receipt::{Json, Object};

use crate::config::Config;
use crate::error::with_help;
use crate::host_file::{HostFile, kept_at};
use crate::paint::printable;
use crate::shell_words;

/// The folder below the one of keys in which configurations are kept as they were before they had our hooks.
const KEPT: &str = "unhooked";
/// The member in which hosts have their hooks.
const HOOKS: &str = "hooks";
/// The member with the version of the file's form.
const VERSION: &str = "version";

/// A host's file, and what it is to have.
pub(super) struct ConfigFile {
    host: &'static Host,
    file: HostFile,
    /// Where the earlier version of the file is kept.
    kept_at: PathBuf,
    /// `None` for no file.
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
    pub(super) fn read(host: &'static Host, path: &Path, config: &Config) -> anyhow::Result<Self> {
        let kept_at = kept_at(config, KEPT, &std::path::absolute(path)?);
        let file = HostFile::read(path, host.installation.has_comments)?;
        let after = file.before().map(|before| String::from_utf8(before.to_vec()));
        let after = after.transpose().map_err(|_| Self::refusal(path, "it is not UTF-8"))?;
        Ok(Self { host, file, kept_at, after })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn exists(&self) -> bool {
        self.file.before().is_some()
    }

    /// Whether what the file is to have differs from what it has.
    pub(super) fn is_changed(&self) -> bool {
        self.file.before() != self.after.as_ref().map(String::as_bytes)
    }

    fn refusal(path: &Path, why: impl std::fmt::Display) -> anyhow::Error {
        with_help(
            format!("read the configuration `{}`: {}", path.display(), printable(&why.to_string())),
            "correct the file, or install into another one with `--scope`",
        )
    }

    fn refuse(&self, why: JsonTextError) -> anyhow::Error {
        Self::refusal(self.path(), why)
    }

    /// The file as JSON; an empty or missing one is an empty object.
    pub(super) fn document(&self) -> anyhow::Result<JsonText> {
        let text = self.after.as_deref().unwrap_or_default();
        let document = self.file.document_of(text.as_bytes()).map_err(|why| self.refuse(why))?;
        match document.json().as_object() {
            Some(_) => Ok(document),
            None => Err(Self::refusal(self.path(), "it is not an object")),
        }
    }

    /// Our hooks in the file.
    pub(super) fn installed(&self) -> anyhow::Result<Vec<Installed>> {
        let Form::Plugin { command, .. } = self.host.installation.form else {
            return Ok(self.found(&self.document()?));
        };
        let Some(command) = self.after.as_deref().and_then(command) else { return Ok(Vec::new()) };
        let events = self.host.events.installed.iter().map(|(event, _)| Installed {
            event: (*event).to_owned(),
            command: command.clone(),
            hook: Object::new(),
            matcher: None,
            group: 0,
            entry: None,
        });
        Ok(events.collect())
    }

    fn found(&self, document: &JsonText) -> Vec<Installed> {
        let hooks = document.at(&[Step::Name(HOOKS)]).and_then(Json::as_object);
        let mut found = Vec::new();
        for (event, list) in hooks.into_iter().flat_map(Object::iter) {
            for (index, item) in list.as_array().unwrap_or_default().iter().enumerate() {
                let Some(group) = item.as_object() else { continue };
                let entries: Vec<(Option<usize>, &Json)> = match (self.host.installation.form, group.get(HOOKS)) {
                    (Form::Groups, Some(entries)) => {
                        let entries = entries.as_array().unwrap_or_default().iter().enumerate();
                        entries.map(|(at, hook)| (Some(at), hook)).collect()
                    }
                    (Form::Entries, _) => vec![(None, item)],
                    // An item in the form of another host is none that this one runs.
                    (Form::Groups | Form::Plugin { .. }, _) => Vec::new(),
                };
                for (entry, hook) in entries {
                    let Some(hook) = hook.as_object() else { continue };
                    // Only the command tells whose hook it is: no host lets a hook say who installed it.
                    let Some(command) = command_of(hook).filter(|command| is_ours(command, self.host)) else {
                        continue;
                    };
                    let matcher = group.get("matcher").and_then(Json::as_str).map(str::to_owned);
                    let (event, hook) = (event.to_owned(), hook.clone());
                    found.push(Installed { event, command, hook, matcher, group: index, entry });
                }
            }
        }
        found
    }

    /// Puts the hooks with this command in place of ours that are there.
    pub(super) fn install(&mut self, command: &[String]) -> anyhow::Result<()> {
        let before = self.installed()?;
        if let Form::Plugin { text, .. } = self.host.installation.form {
            if self.exists() && before.is_empty() {
                return Err(Self::refusal(self.path(), "it is not the plugin that this command writes"));
            }
            self.after = Some(text(command));
            return Ok(());
        }
        let line = shell_words::line(command);
        let events = self.host.events.installed.iter();
        let wanted: Vec<_> =
            events.map(|(event, moment)| (*event, self.host.installation.item(*moment, &line))).collect();
        let mut document = self.document()?;
        if Self::has_exactly(&before, &wanted, &document) {
            return Ok(());
        }
        // Another policy takes the place of the first, and does not stand beside it.
        self.take_out(&mut document, &before)?;
        if let Some(version) =
            self.host.installation.version().filter(|_| document.at(&[Step::Name(VERSION)]).is_none())
        {
            document.put(&[VERSION], &Json::from(version)).map_err(|why| self.refuse(why))?;
        }
        for (event, item) in &wanted {
            document.push(&[HOOKS, event], item).map_err(|why| self.refuse(why))?;
        }
        self.after = Some(document.text().to_owned());
        Ok(())
    }

    /// Whether the hooks that are there are the ones that are wanted, each once.
    fn has_exactly(before: &[Installed], wanted: &[(&str, Json)], document: &JsonText) -> bool {
        before.len() == wanted.len()
            && wanted.iter().all(|(event, wanted)| {
                before.iter().any(|installed| {
                    let place = [Step::Name(HOOKS), Step::Name(event), Step::Index(installed.group)];
                    installed.event == *event && document.at(&place) == Some(wanted)
                })
            })
    }

    /// Takes our hooks out. If nothing else has changed since they were put in, the file gets back what it had.
    pub(super) fn uninstall(&mut self) -> anyhow::Result<()> {
        let installed = self.installed()?;
        if installed.is_empty() {
            return Ok(());
        }
        if matches!(self.host.installation.form, Form::Plugin { .. }) {
            // The whole file is ours.
            self.after = None;
            return Ok(());
        }
        let mut document = self.document()?;
        self.take_out(&mut document, &installed)?;
        let kept = HostFile::kept(&self.kept_at)?;
        let is_as_before = kept
            .as_ref()
            .map(|kept| self.file.document_of(kept).is_ok_and(|before| is_same(before.json(), document.json())));
        self.after = match (kept, is_as_before) {
            (Some(kept), Some(true)) => Some(String::from_utf8_lossy(&kept).into_owned()),
            // There was no file: this one is of our making.
            (None, _) if is_bare(document.json()) => None,
            (_, _) => Some(document.text().to_owned()),
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
            if installed.entry.is_none() || is_empty(document, &entries) {
                document.remove(&group).map_err(|why| self.refuse(why))?;
            }
            // Lists that nothing is left in were made for our hooks.
            for path in [&list[..], &[Step::Name(HOOKS)]] {
                if is_empty(document, path) {
                    document.remove(path).map_err(|why| self.refuse(why))?;
                }
            }
        }
        Ok(())
    }

    /// Writes the file. What it was is kept when our hooks come in, and goes when they have gone.
    pub(super) fn write(&self, had_hooks: bool) -> anyhow::Result<()> {
        match (self.file.before(), &self.after) {
            (Some(before), Some(after)) => {
                let has_hooks = !self.installed()?.is_empty();
                // A file that had hooks of ours already is not what it was before them.
                if !had_hooks && has_hooks && !matches!(self.host.installation.form, Form::Plugin { .. }) {
                    self.file.keep(&self.kept_at, before)?;
                }
                self.file.write(after)?;
                let is_restored =
                    !has_hooks && HostFile::kept(&self.kept_at)?.is_some_and(|kept| kept == after.as_bytes());
                if is_restored { HostFile::forget(&self.kept_at) } else { Ok(()) }
            }
            (None, Some(after)) => {
                let folder = self.path().parent().context("write a file without a folder")?;
                fs::create_dir_all(folder).with_context(|| format!("make the folder `{}`", folder.display()))?;
                // One of an earlier installation says nothing of this one.
                HostFile::forget(&self.kept_at)?;
                self.file.write(after)
            }
            (Some(_), None) => self.file.remove(),
            (None, None) => Ok(()),
        }
    }
}

/// The words of the command that a hook starts.
fn command_of(hook: &Object) -> Option<Vec<String>> {
    let text = |name: &str| hook.get(name).and_then(Json::as_str);
    // A line that a shell does more with than split it into words is not one that we have written.
    shell_words::split(text("command").or_else(|| text("bash")).or_else(|| text("exec"))?)
}

/// Whether a command starts our hook for this host.
fn is_ours(command: &[String], host: &Host) -> bool {
    let [program, word, name, ..] = command else { return false };
    let is_program = Path::new(program).file_name().is_some_and(|name| name == "proofmark");
    is_program && word == "hook" && name == host.installation.runs_as
}

fn is_empty(document: &JsonText, path: &[Step<'_>]) -> bool {
    document.at(path).is_some_and(nothing_within)
}

fn nothing_within(json: &Json) -> bool {
    json.as_array().is_some_and(<[Json]>::is_empty)
        || json.as_object().is_some_and(|object| object.iter().next().is_none())
}

/// Whether nothing is left but what an installation writes into a new file.
fn is_bare(json: &Json) -> bool {
    json.as_object().is_some_and(|object| object.iter().all(|(name, _)| name == VERSION))
}

/// Whether a document says the same as one of before, up to what an installation adds beside the hooks.
fn is_same(before: &Json, after: &Json) -> bool {
    let had_version = before.as_object().is_some_and(|before| before.contains(VERSION));
    pruned(before, had_version) == pruned(after, had_version)
}

/// The document without lists of hooks that are empty.
fn pruned(json: &Json, with_version: bool) -> Json {
    let mut document = json.clone();
    if let Json::Object(object) = &mut document {
        if !with_version {
            object.remove(VERSION);
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
