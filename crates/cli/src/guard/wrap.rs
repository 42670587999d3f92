//! `proofmark guard wrap` and `unwrap`.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use proofmark_receipt::{Json, Object};
use proofmark_server::replace_file;

use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::host_file::{
    MAX_CONFIGURATION, absolute_file, absolute_options, back_up, backup_of, home_of_the_environment,
};
use crate::input;
use crate::out;
use crate::paint::{Paint, printable};

/// The members in which hosts have their servers.
const SERVERS: [&str; 2] = ["mcpServers", "servers"];
/// What a configuration was before its servers were guarded.
const BACKUP: &str = "unguarded";
/// What separates the guard's options from the server's command.
const END: &str = "--";

/// Put the servers in a host's configuration under guard
///
/// Each server that the host starts as a program is started by `proofmark guard` instead. What the file was is kept beside it,
/// as FILE.unguarded. Restart the host afterwards.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark guard wrap .mcp.json --policy examples/guard/policy.yaml --dry-run
  proofmark guard wrap .mcp.json --policy examples/guard/policy.yaml --only proofmark")]
pub(crate) struct Wrap {
    /// The host's configuration, as JSON
    file: PathBuf,
    /// The action policy
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// Only this server; can be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Take the servers in a host's configuration out of guard
///
/// If nothing else in the file has changed, it gets back every byte that it had.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark guard unwrap .mcp.json")]
pub(crate) struct Unwrap {
    /// The host's configuration, as JSON
    file: PathBuf,
    /// Only this server; can be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// A configuration that was read.
struct HostFile {
    path: PathBuf,
    bytes: Vec<u8>,
    document: Object,
}

/// A server whose entry changes: its name, and its command before and after.
type Change = (String, Vec<String>, Vec<String>);

impl Wrap {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let policy = absolute_file(&self.policy)?;
        // A host that starts a guard with a policy that cannot be read has no server.
        document::action_policy(&self.policy)?;
        let program = std::env::current_exe().context("find the path of this program")?;
        let program =
            program.into_os_string().into_string().ok().context("write the path of this program: it is not UTF-8")?;
        let mut file = HostFile::read(&self.file)?;
        let unguarded = file.unguarded()?;
        let home = home_of_the_environment()?;
        let store = absolute_options(&[], config)?;
        let changes = file.change(&self.only, |name, entry| {
            let command = command(entry)?;
            let options = ["guard", "--policy", &policy, "--server", name].map(str::to_owned);
            let guard = [std::slice::from_ref(&program), &options[..], &store, &[END.to_owned()]].concat();
            if let Some(inner) = guarded(&command) {
                // A file of somebody else may have a guard with another policy, or one that enforces nothing.
                let is_as_here = command == [guard, inner].concat();
                return Err(if is_as_here { Unchanged::Guarded } else { Unchanged::GuardedOtherwise(command) });
            }
            let arguments = [guard.get(1..).unwrap_or_default(), &command].concat();
            set_command(entry, &program, &arguments);
            if let Some(home) = &home {
                set_home(entry, home);
            }
            Ok((command, [vec![program.clone()], arguments].concat()))
        })?;
        file.write(&changes, self.dry_run, |file| back_up(&file.path, BACKUP, &unguarded))
    }
}

impl Unwrap {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let mut file = HostFile::read(&self.file)?;
        let backup = backup_of(&self.file, BACKUP);
        let before = file.before()?;
        let changes = file.change(&self.only, |name, entry| {
            let command = command(entry)?;
            let inner = guarded(&command).ok_or(Unchanged::NotGuarded)?;
            match before.as_ref().and_then(|before| before.entry(name, &inner)) {
                // The variable that `wrap` added goes, too.
                Some(known) => *entry = known,
                None => {
                    let (program, arguments) = inner.split_first().ok_or(Unchanged::NotGuarded)?;
                    set_command(entry, program, arguments);
                }
            }
            Ok((command, inner))
        })?;
        if let Some(before) = before.filter(|before| before.document == file.document) {
            return file.restore(&changes, self.dry_run, &before.bytes, &backup);
        }
        file.write(&changes, self.dry_run, |_| Ok(()))
    }
}

/// Why an entry is left as it is.
enum Unchanged {
    Guarded,
    /// By this command, which is not the one that would be written.
    GuardedOtherwise(Vec<String>),
    NotGuarded,
    /// The host connects to it; it starts no program.
    Remote,
    /// It has a form that is not known.
    Unknown(&'static str),
}

impl HostFile {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let bytes = input::read_limited(path, MAX_CONFIGURATION)?;
        let refuse = |why: String| {
            with_help(
                format!("read the configuration `{}`: {why}", path.display()),
                "name a host's file with `mcpServers` or `servers`, as plain JSON without comments",
            )
        };
        let json = Json::parse(&bytes).map_err(|error| refuse(error.to_string()))?;
        let Json::Object(document) = json else { return Err(refuse("it is not an object".to_owned())) };
        let file = Self { path: path.to_owned(), bytes, document };
        match file.servers() {
            Some(_) => Ok(file),
            None => Err(refuse("it has no servers".to_owned())),
        }
    }

    /// What the file was before its servers were guarded, where that is kept.
    fn before(&self) -> anyhow::Result<Option<Self>> {
        let backup = backup_of(&self.path, BACKUP);
        backup.is_file().then(|| Self::read(&backup)).transpose()
    }

    /// The bytes to keep of a file that is about to be guarded: as they are, or, where some of its servers are guarded already,
    /// with what was kept of these.
    fn unguarded(&self) -> anyhow::Result<Vec<u8>> {
        let Some(before) = self.before()? else { return Ok(self.bytes.clone()) };
        let mut document = self.document.clone();
        let mut any_guarded = false;
        for member in SERVERS {
            let Some(Json::Object(servers)) = document.get_mut(member) else { continue };
            let names: Vec<String> = servers.iter().map(|(name, _)| name.to_owned()).collect();
            for name in names {
                let Some(Json::Object(entry)) = servers.get_mut(&name) else { continue };
                let inner = command(entry).ok().and_then(|command| guarded(&command));
                if let Some(known) = inner.and_then(|inner| before.entry(&name, &inner)) {
                    *entry = known;
                    any_guarded = true;
                }
            }
        }
        Ok(match any_guarded {
            true => format!("{}\n", Json::Object(document).to_pretty()).into_bytes(),
            false => self.bytes.clone(),
        })
    }

    /// The entry of the server with this name, if its command is this one.
    fn entry(&self, name: &str, with_command: &[String]) -> Option<Object> {
        let entry = self.servers()?.get(name)?.as_object()?;
        command(entry).is_ok_and(|command| command == with_command).then(|| entry.clone())
    }

    fn servers(&self) -> Option<&Object> {
        SERVERS.iter().find_map(|name| self.document.get(name)?.as_object())
    }

    /// Changes the entries of the servers that are named, or of all. What cannot be changed is reported.
    fn change(
        &mut self,
        only: &[String],
        change: impl Fn(&str, &mut Object) -> Result<(Vec<String>, Vec<String>), Unchanged>,
    ) -> anyhow::Result<Vec<Change>> {
        let names: Vec<String> =
            self.servers().map(|servers| servers.iter().map(|(name, _)| name.to_owned()).collect()).unwrap_or_default();
        if let Some(missing) = only.iter().find(|name| !names.contains(name)) {
            return Err(with_help(
                format!("change the server `{}`: the configuration has no such server", printable(missing)),
                format!("it has {}", printable(&names.join(", "))),
            ));
        }
        let member =
            SERVERS.iter().find(|name| self.document.get(name).is_some_and(|servers| servers.as_object().is_some()));
        let Some(Json::Object(servers)) = member.and_then(|member| self.document.get_mut(member)) else {
            return Ok(Vec::new());
        };
        let mut changes = Vec::new();
        for name in names.iter().filter(|name| only.is_empty() || only.contains(name)) {
            let shown = printable(name);
            let result = match servers.get_mut(name) {
                Some(Json::Object(entry)) => change(name, entry),
                _ => Err(Unchanged::Unknown("it is not an object")),
            };
            match result {
                Ok((before, after)) => changes.push((name.clone(), before, after)),
                Err(Unchanged::Guarded) => out::note(format_args!("{shown} is guarded already")),
                Err(Unchanged::GuardedOtherwise(command)) => out::note(format_args!(
                    "{shown} is left as it is: its guard has other options, which decide what it may do: {}",
                    printable(&command.join(" "))
                )),
                Err(Unchanged::NotGuarded) => out::note(format_args!("{shown} is not guarded")),
                Err(Unchanged::Remote) => {
                    out::note(format_args!("{shown} is not guarded: the host connects to it by a URL"));
                }
                Err(Unchanged::Unknown(why)) => {
                    return Err(with_help(
                        format!("change the server `{shown}`: {why}"),
                        "name the others with `--only`, and change this one by hand",
                    ));
                }
            }
        }
        Ok(changes)
    }

    /// Shows the changes and writes the file; `before` runs first.
    fn write(
        &self,
        changes: &[Change],
        is_dry_run: bool,
        before: impl FnOnce(&Self) -> anyhow::Result<()>,
    ) -> anyhow::Result<Exit> {
        show(changes)?;
        if is_dry_run || changes.is_empty() {
            return Ok(Exit::Yes);
        }
        before(self)?;
        self.replace(&format!("{}\n", Json::Object(self.document.clone()).to_pretty()))?;
        Ok(Exit::Yes)
    }

    /// Shows the changes and gives the file the bytes it had.
    fn restore(&self, changes: &[Change], is_dry_run: bool, bytes: &[u8], backup: &Path) -> anyhow::Result<Exit> {
        show(changes)?;
        if !is_dry_run && !changes.is_empty() {
            self.replace(&String::from_utf8_lossy(bytes))?;
            // What it kept is in the file again.
            fs::remove_file(backup).with_context(|| format!("remove `{}`", backup.display()))?;
        }
        Ok(Exit::Yes)
    }

    fn replace(&self, text: &str) -> anyhow::Result<()> {
        let context = || format!("write the configuration `{}`", self.path.display());
        let mode = fs::metadata(&self.path).with_context(context)?.permissions().mode() & 0o777;
        replace_file(&self.path, text, mode).with_context(context)
    }
}

fn show(changes: &[Change]) -> anyhow::Result<()> {
    let (mut out, paint) = (out::stdout(), Paint::for_stdout());
    for (name, before, after) in changes {
        writeln!(out, "{}", printable(name))?;
        writeln!(out, "{}", paint.bad(&format!("  - {}", printable(&before.join(" ")))))?;
        writeln!(out, "{}", paint.good(&format!("  + {}", printable(&after.join(" ")))))?;
    }
    if changes.is_empty() {
        out::note("nothing to change");
    }
    Ok(())
}

/// The command of an entry, with its arguments.
fn command(entry: &Object) -> Result<Vec<String>, Unchanged> {
    let is_remote = ["url", "serverUrl", "httpUrl"].iter().any(|name| entry.contains(name));
    let program = match entry.get("command") {
        None if is_remote => return Err(Unchanged::Remote),
        Some(Json::String(program)) if !is_remote => program.clone(),
        _ => return Err(Unchanged::Unknown("it has neither a `command` nor a URL alone")),
    };
    let arguments = match entry.get("args") {
        None => Vec::new(),
        Some(Json::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
            .ok_or(Unchanged::Unknown("its `args` are not a list of texts"))?,
        Some(_) => return Err(Unchanged::Unknown("its `args` are not a list of texts")),
    };
    Ok([vec![program], arguments].concat())
}

/// The server's own command in one that starts it under guard.
fn guarded(command: &[String]) -> Option<Vec<String>> {
    let [program, word, rest @ ..] = command else { return None };
    let is_ours = Path::new(program).file_name().is_some_and(|name| name == "proofmark") && word == "guard";
    let end = rest.iter().position(|word| word == END)?;
    is_ours.then(|| rest.get(end + 1..).unwrap_or_default().to_vec())
}

fn set_command(entry: &mut Object, program: &str, arguments: &[String]) {
    entry.insert("command", program);
    entry.insert("args", arguments.iter().map(|word| Json::from(word.as_str())).collect::<Vec<_>>());
}

/// Hosts start programs with few variables of their own environment.
fn set_home(entry: &mut Object, home: &str) {
    match entry.get_mut("env") {
        Some(Json::Object(variables)) => drop(variables.insert("PROOFMARK_HOME", home)),
        _ => drop(entry.insert("env", proofmark_receipt::object! { "PROOFMARK_HOME": home })),
    }
}
