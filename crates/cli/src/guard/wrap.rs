//! `proofmark guard wrap` and `unwrap`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use proofmark_hosts::{JsonText, Servers, Step};
use proofmark_receipt::{Json, Object, object};

use crate::absolute::{absolute_file, absolute_options};
use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::host_file::HostFile;
use crate::out;
use crate::paint::{Paint, printable};
use crate::remote::{HOW_APART, NOT_APART, Remote};

/// What a configuration was before its servers were guarded.
const BACKUP: &str = "unguarded";
/// What separates the guard's options from the server's command.
const END: &str = "--";
/// The variable of the folder with keys and the store.
const HOME: &str = "PROOFMARK_HOME";

/// Put the servers in a host's configuration under guard
///
/// Each server that the host starts as a program is started by `proofmark guard` instead. What the file was is kept beside it,
/// as FILE.unguarded. Restart the host afterwards.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark guard wrap .mcp.json --policy examples/guard/policy.yaml --dry-run
  proofmark guard wrap .mcp.json --policy examples/guard/policy.yaml --only proofmark
  proofmark guard wrap .mcp.json --server unix:/run/proofmark/socket --dry-run")]
pub(crate) struct Wrap {
    /// The host's configuration, as JSON
    file: PathBuf,
    /// The action policy
    #[arg(long, value_name = "FILE", required_unless_present = "server", conflicts_with = "server")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
    /// Only this server; can be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object per server whose command changes
    #[arg(long)]
    json: bool,
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
    /// Print one JSON object per server whose command changes
    #[arg(long)]
    json: bool,
}

/// A host's file with servers.
struct ServersFile {
    file: HostFile,
    document: JsonText,
    /// The member that has the servers.
    member: &'static str,
}

/// What becomes of the entry of a server.
struct Rewritten {
    /// Its command before and after.
    before: Vec<String>,
    after: Vec<String>,
    edits: Vec<Edit>,
}

/// What becomes of a member of an entry: it gets a value, or goes.
struct Edit {
    path: Vec<&'static str>,
    value: Option<Json>,
}

/// A server whose entry changes.
struct Change {
    name: String,
    before: Vec<String>,
    after: Vec<String>,
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

impl Wrap {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let decides = match &self.policy {
            Some(policy) => {
                let words = ["--policy".to_owned(), absolute_file(policy)?];
                // A host that starts a guard with a policy that cannot be read has no server.
                document::action_policy(policy)?;
                [&words[..], &absolute_options(&[], config)?].concat()
            }
            None => self.remote.words()?,
        };
        let program = std::env::current_exe().context("find the path of this program")?;
        let program =
            program.into_os_string().into_string().ok().context("write the path of this program: it is not UTF-8")?;
        let mut servers = ServersFile::read(&self.file)?;
        let unguarded = servers.unguarded()?;
        let home = config.named_home()?.filter(|_| self.policy.is_some());
        let changes = servers.change(&self.only, |name, entry| {
            let before = command(entry)?;
            let named = ["--name".to_owned(), name.to_owned()];
            let guard = [&[program.clone(), "guard".to_owned()], &decides[..], &named, &[END.to_owned()]].concat();
            if let Some(inner) = guarded(&before) {
                // A file of somebody else may have a guard with another policy, or one that enforces nothing.
                let is_as_here = before == [guard, inner].concat();
                return Err(if is_as_here { Unchanged::Guarded } else { Unchanged::GuardedOtherwise(before) });
            }
            let after = [guard, before.clone()].concat();
            let mut edits = with_command(&after);
            // Hosts start programs with few variables of their own environment.
            edits.extend(home.as_deref().map(|home| Edit { path: vec!["env", HOME], value: Some(home.into()) }));
            Ok(Rewritten { before, after, edits })
        })?;
        show(&changes, self.json)?;
        if !self.dry_run && !changes.is_empty() {
            servers.file.back_up(BACKUP, unguarded.as_bytes())?;
            servers.file.write(servers.document.text())?;
        }
        if self.policy.is_some() {
            out::note(format_args!("the guard {NOT_APART}; {HOW_APART}"));
        }
        Ok(Exit::Yes)
    }
}

impl Unwrap {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let mut servers = ServersFile::read(&self.file)?;
        let kept = servers.kept()?;
        let changes = servers.change(&self.only, |name, entry| unguard(kept.as_ref(), name, entry))?;
        show(&changes, self.json)?;
        if self.dry_run || changes.is_empty() {
            return Ok(Exit::Yes);
        }
        match kept.filter(|kept| kept.document.json() == servers.document.json()) {
            // Nothing else has changed: the file gets the bytes that it had, and what kept them goes.
            Some(kept) => {
                servers.file.write(kept.document.text())?;
                servers.file.remove_backup(BACKUP)?;
            }
            None => servers.file.write(servers.document.text())?,
        }
        Ok(Exit::Yes)
    }
}

/// The entry that a guarded server had before; `kept` is the file of that time.
fn unguard(kept: Option<&ServersFile>, name: &str, entry: &Object) -> Result<Rewritten, Unchanged> {
    let before = command(entry)?;
    let after = guarded(&before).ok_or(Unchanged::NotGuarded)?;
    let edits = match kept.and_then(|kept| kept.entry(name, &after)) {
        Some(known) => as_before(entry, known),
        None => with_command(&after),
    };
    Ok(Rewritten { before, after, edits })
}

/// What makes an entry start this command.
fn with_command(command: &[String]) -> Vec<Edit> {
    let (program, arguments) = command.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let arguments: Vec<Json> = arguments.iter().map(|word| Json::from(word.as_str())).collect();
    vec![
        Edit { path: vec!["command"], value: Some(program.into()) },
        Edit { path: vec!["args"], value: Some(arguments.into()) },
    ]
}

/// What makes a guarded entry what it was. The variable that `wrap` added goes, too.
fn as_before(entry: &Object, known: &Object) -> Vec<Edit> {
    let mut edits =
        Vec::from(["command", "args"].map(|name| Edit { path: vec![name], value: known.get(name).cloned() }));
    let variables = |entry: &Object| entry.get("env").and_then(Json::as_object).cloned();
    if let Some(now) = variables(entry) {
        let was = variables(known);
        let is_added = was.is_none() && now.iter().all(|(name, _)| name == HOME);
        let path = if is_added { vec!["env"] } else { vec!["env", HOME] };
        edits.push(Edit { path, value: was.and_then(|was| was.get(HOME).cloned()) });
    }
    edits
}

impl ServersFile {
    fn read(path: &Path) -> anyhow::Result<Self> {
        // Which host reads the file is not known; one that has comments is of a host that takes them out.
        let file = HostFile::read_existing(path, true)?;
        let bytes = file.before().unwrap_or_default().to_vec();
        Self::of(file, &bytes)
    }

    fn of(file: HostFile, bytes: &[u8]) -> anyhow::Result<Self> {
        let refuse = |why: &str| {
            with_help(
                format!("read the configuration `{}`: {why}", file.path().display()),
                "name a host's file with `mcpServers` or `servers`, as JSON",
            )
        };
        let document = file.document_of(bytes).map_err(|error| refuse(&error.to_string()))?;
        let object = document.json().as_object().ok_or_else(|| refuse("it is not an object"))?;
        let forms = Servers::all();
        let mut members = forms.iter().map(|servers| servers.member);
        let member = members.find(|member| object.get(member).is_some_and(|servers| servers.as_object().is_some()));
        let member = member.ok_or_else(|| refuse("it has no servers"))?;
        Ok(Self { file, document, member })
    }

    /// What the file was before its servers were guarded, where that is kept.
    fn kept(&self) -> anyhow::Result<Option<Self>> {
        let Some(bytes) = self.file.backup(BACKUP)? else { return Ok(None) };
        Self::of(HostFile::read(self.file.path(), true)?, &bytes).map(Some)
    }

    /// The text to keep of a file that is about to be guarded: as it is, or, where some of its servers are guarded already, with
    /// what was kept of these.
    fn unguarded(&self) -> anyhow::Result<String> {
        let Some(kept) = self.kept()? else { return Ok(self.document.text().to_owned()) };
        let mut document = self.document.clone();
        for (name, entry) in self.servers().iter().filter_map(|(name, entry)| Some((name, entry.as_object()?))) {
            let inner = command(entry).ok().and_then(|command| guarded(&command));
            if let Some(known) = inner.and_then(|inner| kept.entry(name, &inner)) {
                edit(&mut document, &[self.member, name], &as_before(entry, known))?;
            }
        }
        Ok(document.text().to_owned())
    }

    /// The entry of the server with this name, if its command is this one.
    fn entry(&self, name: &str, with_command: &[String]) -> Option<&Object> {
        let entry = self.servers().get(name)?.as_object()?;
        command(entry).is_ok_and(|command| command == with_command).then_some(entry)
    }

    fn servers(&self) -> &Object {
        static NONE: Object = Object::new();
        self.document.at(&[Step::Name(self.member)]).and_then(Json::as_object).unwrap_or(&NONE)
    }

    /// Changes the entries of the servers that are named, or of all. What cannot be changed is reported.
    fn change(
        &mut self,
        only: &[String],
        rewrite: impl Fn(&str, &Object) -> Result<Rewritten, Unchanged>,
    ) -> anyhow::Result<Vec<Change>> {
        let names: Vec<String> = self.servers().iter().map(|(name, _)| name.to_owned()).collect();
        if let Some(missing) = only.iter().find(|name| !names.contains(name)) {
            return Err(with_help(
                format!("change the server `{}`: the configuration has no such server", printable(missing)),
                format!("it has {}", printable(&names.join(", "))),
            ));
        }
        let mut changes = Vec::new();
        for name in names.into_iter().filter(|name| only.is_empty() || only.contains(name)) {
            let entry = self.servers().get(&name).and_then(Json::as_object);
            match entry.map_or(Err(Unchanged::Unknown("it is not an object")), |entry| rewrite(&name, entry)) {
                Ok(Rewritten { before, after, edits }) => {
                    edit(&mut self.document, &[self.member, &name], &edits)?;
                    changes.push(Change { name, before, after });
                }
                Err(why) => why.report(&name)?,
            }
        }
        Ok(changes)
    }
}

/// Changes the entry that these names lead to, and leaves the rest of the text as it is.
fn edit(document: &mut JsonText, entry: &[&str], edits: &[Edit]) -> anyhow::Result<()> {
    for Edit { path, value } in edits {
        let path = [entry, path].concat();
        let changed = match value {
            Some(value) => document.put(&path, value),
            None => document.remove(&path.into_iter().map(Step::Name).collect::<Vec<_>>()),
        };
        changed.map_err(|why| {
            with_help(
                format!("change the configuration: {}", printable(&why.to_string())),
                "name the others with `--only`, and change this one by hand",
            )
        })?;
    }
    Ok(())
}

impl Unchanged {
    /// Says why the server is left as it is.
    ///
    /// # Errors
    /// Where nobody can tell whether the server is guarded.
    fn report(self, name: &str) -> anyhow::Result<()> {
        let shown = printable(name);
        match self {
            Self::Guarded => out::note(format_args!("{shown} is guarded already")),
            Self::GuardedOtherwise(command) => out::note(format_args!(
                "{shown} is left as it is: its guard has other options, which decide what it may do: {}",
                printable(&command.join(" "))
            )),
            Self::NotGuarded => out::note(format_args!("{shown} is not guarded")),
            Self::Remote => out::note(format_args!("{shown} is not guarded: the host connects to it by a URL")),
            Self::Unknown(why) => {
                return Err(with_help(
                    format!("change the server `{shown}`: {why}"),
                    "name the others with `--only`, and change this one by hand",
                ));
            }
        }
        Ok(())
    }
}

fn show(changes: &[Change], as_json: bool) -> anyhow::Result<()> {
    let (mut out, paint) = (out::stdout(), Paint::for_stdout());
    for Change { name, before, after } in changes {
        if as_json {
            let words = |command: &[String]| command.iter().map(|word| Json::from(word.as_str())).collect::<Vec<_>>();
            let line = object! { "server": name.as_str(), "before": words(before), "after": words(after) };
            out.json(&Json::from(line).to_text())?;
            continue;
        }
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
