//! `proofmark guard wrap` and `unwrap`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Parser};
use proofmark_receipt::{Json, Object, object};

use super::Guard;
use super::servers_file::{Edit, NoCommand, Place, ServersFile, command};
use crate::absolute::{absolute_file, absolute_options, named_home};
use crate::config::Config;
use crate::document;
use crate::error::{with_help, wrong_arguments};
use crate::exit::Exit;
use crate::out;
use crate::paint::{Paint, printable};
use crate::remote::{NOT_APART, Remote};

/// What separates the guard's options from the server's command.
const END: &str = "--";
/// The variable of the folder with keys and the store.
const HOME: &str = "PROOFMARK_HOME";

/// Put the servers in a host's configuration under guard
///
/// Each server that the host starts as a program is started by `proofmark guard` instead. A server that is guarded already is
/// guarded with these options from then on. What the file was is kept in the folder of keys. Restart the host afterwards.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark guard wrap .mcp.json --policy examples/guard/policy.yaml --dry-run
  proofmark guard wrap .mcp.json --policy examples/guard/policy.yaml --only proofmark
  proofmark guard wrap .mcp.json --policy examples/guard/policy.yaml -- --agent coder --wait 5m
  proofmark guard wrap .mcp.json --server unix:/run/proofmark/socket --dry-run

Exit codes: 0 the servers are guarded; 1 the file has other commands, which are named: look whether they are servers; 2 the
policy or the file cannot be used, and nothing was changed.")]
pub(crate) struct Wrap {
    /// The host's configuration, as JSON
    file: PathBuf,
    /// The action policy
    #[arg(long, value_name = "FILE", required_unless_present = "server", conflicts_with = "server")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
    /// Only servers of this name; can be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object per server whose command changes
    #[arg(long)]
    json: bool,
    /// More options of `proofmark guard`, after --
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
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
    /// Only servers of this name; can be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object per server whose command changes
    #[arg(long)]
    json: bool,
}

/// The arguments of a guard, as a host gives them.
#[derive(Parser)]
#[command(name = "proofmark guard", no_binary_name = true)]
struct Given {
    #[command(flatten)]
    _guard: Guard,
}

/// What becomes of the entry of a server.
struct Rewritten {
    /// Its command before and after.
    before: Vec<String>,
    after: Vec<String>,
    edits: Vec<Edit>,
}

/// A server whose entry changes.
struct Change {
    place: Place,
    before: Vec<String>,
    after: Vec<String>,
}

/// Why an entry is left as it is.
enum Unchanged {
    Guarded,
    NotGuarded,
    No(NoCommand),
}

impl Wrap {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let (decides, options) = match &self.policy {
            Some(policy) => {
                let words = vec!["--policy".to_owned(), absolute_file(policy)?];
                // A host that starts a guard with a policy that cannot be read has no server.
                document::action_policy(policy)?;
                (words, absolute_options(&self.options, config)?)
            }
            None => (self.remote.words()?, self.options.clone()),
        };
        check(&[&decides[..], &options].concat())?;
        let program = std::env::current_exe().context("find the path of this program")?;
        let program =
            program.into_os_string().into_string().ok().context("write the path of this program: it is not UTF-8")?;
        let mut servers = ServersFile::read(&self.file, config)?;
        let unguarded = unguarded(ServersFile::read(&self.file, config)?)?;
        let home = named_home(config)?.filter(|_| self.policy.is_some());
        let changes = change(&mut servers, &self.only, |place, entry| {
            let before = command(entry)?;
            let named = ["--name".to_owned(), place.name().to_owned()];
            let inner = guarded(&before).unwrap_or_else(|| before.clone());
            let guard = [program.clone(), "guard".to_owned()];
            let after = [&guard[..], &decides, &named, &options, &[END.to_owned()], &inner].concat();
            if before == after {
                return Err(Unchanged::Guarded);
            }
            let mut edits = with_command(&after);
            // Hosts start programs with few variables of their own environment.
            edits.extend(home.as_deref().map(|home| Edit { path: vec!["env", HOME], value: Some(home.into()) }));
            Ok(Rewritten { before, after, edits })
        })?;
        show(&changes, self.json)?;
        if !self.dry_run && !changes.is_empty() {
            servers.keep(&unguarded)?;
            servers.write(servers.document.text())?;
        }
        if self.only.is_empty() && !servers.others.is_empty() {
            for other in &servers.others {
                out::note(format_args!("{} has a command, and is not guarded", printable(other)));
            }
            return Ok(Exit::No);
        }
        if self.policy.is_some() {
            out::note(NOT_APART);
        }
        Ok(Exit::Yes)
    }
}

/// Refuses now what a guard with these options would refuse when a host starts it.
fn check(options: &[String]) -> anyhow::Result<()> {
    let given = [options, &["--name", "name", END, "server"].map(str::to_owned)].concat();
    Given::try_parse_from(given).map(drop).map_err(|error| wrong_arguments("proofmark guard", &error))
}

impl Unwrap {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let mut servers = ServersFile::read(&self.file, config)?;
        let kept = servers.kept()?;
        let changes = change(&mut servers, &self.only, |place, entry| unguard(kept.as_ref(), place, entry))?;
        show(&changes, self.json)?;
        if self.dry_run || changes.is_empty() {
            return Ok(Exit::Yes);
        }
        match kept.filter(|kept| kept.document.json() == servers.document.json()) {
            // Nothing else has changed: the file gets the bytes that it had, and what kept them goes.
            Some(kept) => {
                servers.write(kept.document.text())?;
                servers.forget()?;
            }
            None => servers.write(servers.document.text())?,
        }
        Ok(Exit::Yes)
    }
}

/// The text to keep of a file that is about to be guarded: as it is, or, where some of its servers are guarded already, with what
/// was kept of these.
fn unguarded(mut servers: ServersFile) -> anyhow::Result<String> {
    let Some(kept) = servers.kept()? else { return Ok(servers.document.text().to_owned()) };
    for place in servers.servers.clone() {
        let Some(entry) = servers.entry(&place) else { continue };
        let inner = command(entry).ok().and_then(|command| guarded(&command));
        if let Some(known) = inner.and_then(|inner| entry_with(&kept, &place, &inner)) {
            let edits = as_before(entry, known);
            servers.edit(&place, &edits)?;
        }
    }
    Ok(servers.document.text().to_owned())
}

/// The entry at this place, if its command is this one.
fn entry_with<'a>(kept: &'a ServersFile, place: &Place, with_command: &[String]) -> Option<&'a Object> {
    let entry = kept.entry(place)?;
    command(entry).is_ok_and(|command| command == with_command).then_some(entry)
}

/// What a guarded server had before; `kept` is the file of that time.
fn unguard(kept: Option<&ServersFile>, place: &Place, entry: &Object) -> Result<Rewritten, Unchanged> {
    let before = command(entry)?;
    let after = guarded(&before).ok_or(Unchanged::NotGuarded)?;
    let edits = match kept.and_then(|kept| entry_with(kept, place, &after)) {
        Some(known) => as_before(entry, known),
        None => with_command(&after),
    };
    Ok(Rewritten { before, after, edits })
}

/// Changes the entries of the servers that are named, or of all. What cannot be changed is reported.
fn change(
    servers: &mut ServersFile,
    only: &[String],
    rewrite: impl Fn(&Place, &Object) -> Result<Rewritten, Unchanged>,
) -> anyhow::Result<Vec<Change>> {
    let places = servers.servers.clone();
    if let Some(missing) = only.iter().find(|name| !places.iter().any(|place| place.name() == **name)) {
        let names: Vec<&str> = places.iter().map(Place::name).collect();
        return Err(with_help(
            format!("change the server `{}`: the configuration has no such server", printable(missing)),
            format!("it has {}", printable(&names.join(", "))),
        ));
    }
    let is_wanted = |place: &Place| only.is_empty() || only.iter().any(|name| name == place.name());
    let mut changes = Vec::new();
    for place in places.into_iter().filter(is_wanted) {
        let unknown = Unchanged::No(NoCommand::Unknown("it is not an object"));
        match servers.entry(&place).map_or(Err(unknown), |entry| rewrite(&place, entry)) {
            Ok(Rewritten { before, after, edits }) => {
                servers.edit(&place, &edits)?;
                changes.push(Change { place, before, after });
            }
            Err(why) => why.report(&place.shown())?,
        }
    }
    Ok(changes)
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

impl From<NoCommand> for Unchanged {
    fn from(why: NoCommand) -> Self {
        Self::No(why)
    }
}

impl Unchanged {
    /// Says why the server is left as it is.
    ///
    /// # Errors
    /// Where nobody can tell whether the server is guarded.
    fn report(self, shown: &str) -> anyhow::Result<()> {
        match self {
            Self::Guarded => out::note(format_args!("{shown} is guarded already")),
            Self::NotGuarded => out::note(format_args!("{shown} is not guarded")),
            Self::No(NoCommand::Remote) => {
                out::note(format_args!("{shown} is not guarded: the host connects to it by a URL"));
            }
            Self::No(NoCommand::Unknown(why)) => {
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
    for Change { place, before, after } in changes {
        if as_json {
            let words = |command: &[String]| command.iter().map(|word| Json::from(word.as_str())).collect::<Vec<_>>();
            let line = object! { "server": place.name(), "before": words(before), "after": words(after) };
            out.json(&Json::from(line).to_text())?;
            continue;
        }
        writeln!(out, "{}", place.shown())?;
        writeln!(out, "{}", paint.bad(&format!("  - {}", printable(&before.join(" ")))))?;
        writeln!(out, "{}", paint.good(&format!("  + {}", printable(&after.join(" ")))))?;
    }
    if changes.is_empty() {
        out::note("nothing to change");
    }
    Ok(())
}

/// An MCP server that a host starts or connects to.
pub(crate) struct ConfiguredServer {
    pub(crate) name: String,
    /// The options of the guard that it is started by; none for a server that is not guarded.
    pub(crate) guard: Option<Vec<String>>,
}

/// The servers in a host's file, and what else in it has a command.
pub(crate) fn servers_in(path: &Path, config: &Config) -> anyhow::Result<Vec<ConfiguredServer>> {
    let file = ServersFile::read_any(path, config)?;
    let servers = file.servers.iter().map(|place| {
        let command = file.entry(place).and_then(|entry| command(entry).ok()).unwrap_or_default();
        let options = guarded(&command).map(|inner| command.get(2..command.len() - inner.len()).unwrap_or_default());
        ConfiguredServer { name: place.shown(), guard: options.map(<[String]>::to_vec) }
    });
    let others = file.others.iter().map(|name| ConfiguredServer { name: printable(name), guard: None });
    Ok(servers.chain(others).collect())
}

/// The server's own command in one that starts it under guard.
fn guarded(command: &[String]) -> Option<Vec<String>> {
    let [program, word, rest @ ..] = command else { return None };
    let is_ours = Path::new(program).file_name().is_some_and(|name| name == "proofmark") && word == "guard";
    let end = rest.iter().position(|word| word == END)?;
    is_ours.then(|| rest.get(end + 1..).unwrap_or_default().to_vec())
}
