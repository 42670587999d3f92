//! `proofmark hook install` and `uninstall`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use proofmark_hosts::{Finding, HookServer, Host, ListedHook, Scope};
use proofmark_receipt::{Json, object};

use super::config_file::{ConfigFile, Installed};
use super::doctor::too_old;
use super::hook_server::RunningServer;
use super::{hosts, is_within, surroundings};
use crate::absolute::{absolute_file, absolute_options, absolute_path, named_home};
use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::hook::run::Run;
use crate::lint;
use crate::out;
use crate::paint::{Paint, printable};
use crate::remote::{NOT_APART, Remote};
use crate::shell_words;

/// Have a coding agent ask before each tool: write `proofmark hook` into the host's configuration
///
/// The command shows what changes, and keeps the earlier file in the folder of keys. Other hooks stay. Paths are written as absolute
/// paths, and so are the folder of keys and the store, because hosts start hooks in other folders and with other variables.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark hook install claude --policy examples/hooks/agent.yaml --dry-run
  proofmark hook install claude --server unix:/run/proofmark/socket --dry-run
  proofmark hook install codex --policy examples/hooks/agent.yaml --scope project -- --agent coder --keep full

Exit codes: 0 the hooks are there; 2 the policy or the host's file cannot be used, and nothing was changed.")]
pub(crate) struct Install {
    /// The host
    #[arg(value_parser = hosts())]
    host: &'static Host,
    /// The action policy
    #[arg(long, value_name = "FILE", required_unless_present = "server", conflicts_with = "server")]
    policy: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
    /// A workflow: the agent may stop only when the step's contract is met by the calls that were seen
    #[arg(long, value_name = "FILE", requires = "step")]
    workflow: Option<PathBuf>,
    /// The step of the workflow
    #[arg(long, value_name = "ID", requires = "workflow")]
    step: Option<String>,
    /// Codex only: make Codex trust these hooks, as if you had answered its question
    #[arg(long, conflicts_with = "dry_run")]
    trust: bool,
    #[command(flatten)]
    change: Change,
    /// More options of `proofmark hook`, after --
    #[arg(last = true, value_name = "OPTION")]
    options: Vec<String>,
}

/// Take the hooks of `proofmark hook install` out of the host's configuration
///
/// If nothing else in the file has changed, it gets back every byte that it had.
#[derive(Args)]
#[command(after_help = "Example:
  proofmark hook uninstall claude --dry-run

Exit codes: 0 the hooks are gone; 2 the host's file cannot be used, and nothing was changed.")]
pub(crate) struct Uninstall {
    /// The host
    #[arg(value_parser = hosts())]
    host: &'static Host,
    #[command(flatten)]
    change: Change,
}

/// How a host's configuration is changed.
#[derive(Args)]
struct Change {
    /// Whose configuration
    #[arg(long, value_parser = scopes(), default_value = "user", value_name = "SCOPE")]
    scope: Scope,
    /// Show what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// What the person does next, where that is not what the host asks for.
    #[arg(skip)]
    next: Option<String>,
}

impl Install {
    pub(crate) fn run(mut self, config: &Config) -> anyhow::Result<Exit> {
        let decides = match &self.policy {
            Some(policy) => {
                let words = ["--policy".to_owned(), absolute_file(policy)?];
                // A hook whose policy cannot be read refuses every call.
                document::action_policy(policy)?;
                [self.home(config)?, words.to_vec()].concat()
            }
            None => self.remote.words()?,
        };
        let command = self.command(&decides, config)?;
        let mut file = self.change.open(self.host, config)?;
        let before = file.installed()?;
        let server = self.host.installation.server.as_ref().filter(|_| self.trust);
        if self.trust && server.is_none() {
            return Err(with_help(
                format!("have {} trust its hooks: only Codex asks for each of them", self.host.title),
                "leave out `--trust`",
            ));
        }
        self.change.next = server.map(|server| format!("restart `{}`: hooks are read when it starts", server.program));
        file.install(&command)?;
        let exit = self.change.finish(self.host, &file, &before)?;
        let project = surroundings()?.project;
        let program = std::env::current_exe().context("find the path of this program")?;
        let home = self.policy.is_some().then_some(&config.home);
        let named = [self.policy.as_ref(), self.workflow.as_ref(), Some(&program), home];
        // Anyone who writes these files decides what the hook allows, and the agent writes in the project.
        for path in named.into_iter().flatten().filter(|path| is_within(path, &project)) {
            let shown = printable(&path.display().to_string());
            out::note(format_args!("{shown} is in the project: an agent that can write to it decides what it may do"));
        }
        if let Some(Finding { what, help, .. }) = too_old(self.host) {
            out::note(format_args!("{}; {}", printable(&what), help.unwrap_or_default()));
        }
        if let Some(server) = server {
            trust(self.host, server, &file.installed()?)?;
        }
        if self.policy.is_some() {
            out::note(NOT_APART);
        }
        Ok(exit)
    }

    /// Where the keys and the store are. A project may set variables of its host, and would choose whose approvals count: so the
    /// folder is always settled here.
    fn home(&self, config: &Config) -> anyhow::Result<Vec<String>> {
        let named = |home: String| vec!["--home".to_owned(), home];
        Ok(match (self.change.scope, named_home(config)?) {
            (Scope::System, None) => vec!["--own-home".to_owned()],
            (Scope::System, Some(home)) => named(home),
            (Scope::User | Scope::Project, _) => {
                named(absolute_path(config.home.to_str().context("write a path: it is not UTF-8")?)?)
            }
        })
    }

    /// The words of the command that the host is to start.
    fn command(&self, decides: &[String], config: &Config) -> anyhow::Result<Vec<String>> {
        let program = std::env::current_exe().context("find the path of this program")?;
        let text = |path: &Path| path.to_str().map(str::to_owned).context("write a path: it is not UTF-8");
        // The program stands first: without its arguments it ends with an error, which hosts do not take for consent.
        let mut command = vec![text(&program)?, "hook".to_owned()];
        let arguments = command.len();
        command.push(self.host.installation.runs_as.to_owned());
        command.extend_from_slice(decides);
        if let (Some(workflow), Some(step)) = (&self.workflow, &self.step) {
            let file = absolute_file(workflow)?;
            if lint::sound_workflow(workflow, None)?.step(step).is_none() {
                return Err(with_help(
                    format!("install the hook for the step `{}`: the workflow has no such step", printable(step)),
                    "name one of the workflow's steps",
                ));
            }
            command.extend(["--workflow".to_owned(), file, "--step".to_owned(), step.clone()]);
        }
        // What the hook would refuse is refused now, and not at each call of the agent.
        Run::check(&[command.get(arguments..).unwrap_or_default(), &self.options[..]].concat())?;
        command.extend(if self.policy.is_some() {
            absolute_options(&self.options, config)?
        } else {
            self.options.clone()
        });
        // Hosts put variables in place of their names, within quotes, too.
        match command.iter().find(|word| word.contains('$') || word.chars().any(char::is_control)) {
            Some(word) => Err(with_help(
                format!("write the command of the hook: `{}` has `$` or a control character", printable(word)),
                "use files whose paths have neither",
            )),
            None => Ok(command),
        }
    }
}

impl Uninstall {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let mut file = self.change.open(self.host, config)?;
        let before = file.installed()?;
        file.uninstall()?;
        self.change.finish(self.host, &file, &before)
    }
}

impl Change {
    fn open(&self, host: &'static Host, config: &Config) -> anyhow::Result<ConfigFile> {
        let place = surroundings()?;
        let Some(path) = host.installation.file(self.scope, &place) else {
            return Err(with_help(
                format!("change the configuration of {} for the system: it has no such file", host.title),
                format!("administrators: {}", host.installation.administrator),
            ));
        };
        // A repository may have links.
        if self.scope == Scope::Project && !is_within(&path, &place.project) {
            return Err(with_help(
                format!("change `{}`: a link leads out of the project", printable(&path.display().to_string())),
                "remove the link, or use `--scope user`",
            ));
        }
        ConfigFile::read(host, &path, config)
    }

    fn next_step<'a>(&'a self, host: &Host) -> &'a str {
        self.next.as_deref().unwrap_or_else(|| (host.installation.next)(self.scope))
    }

    /// Shows the change and makes it.
    fn finish(&self, host: &'static Host, file: &ConfigFile, before: &[Installed]) -> anyhow::Result<Exit> {
        let after = file.installed()?;
        let is_changed = file.is_changed();
        if is_changed && !self.dry_run {
            file.write(!before.is_empty())?;
        }
        if self.json {
            self.print_json(host, file, &after)?;
        } else {
            self.print(host, file, before, &after)?;
        }
        Ok(Exit::Yes)
    }

    fn print(
        &self,
        host: &'static Host,
        file: &ConfigFile,
        before: &[Installed],
        after: &[Installed],
    ) -> anyhow::Result<()> {
        if !file.is_changed() {
            let shown = printable(&file.path().display().to_string());
            if after.is_empty() {
                out::note(format_args!("{shown} has no hooks of proofmark"));
            } else {
                out::note(format_args!("{shown} has these hooks already"));
            }
            return Ok(());
        }
        let (mut out, paint) = (out::stdout(), Paint::for_stdout());
        writeln!(out, "{}", printable(&file.path().display().to_string()))?;
        let (gone, new) = (without(before, after), without(after, before));
        for (hooks, sign) in [(gone, "-"), (new, "+")] {
            for (events, command) in by_command(&hooks) {
                let lines = format!("  {sign} {}\n      {}", printable(&events), printable(&command));
                writeln!(out, "{}", if sign == "-" { paint.bad(&lines) } else { paint.good(&lines) })?;
            }
        }
        if self.dry_run || after.is_empty() {
            return Ok(());
        }
        // What is printed stands before the notes, which go to standard error.
        drop(out);
        out::note(format_args!("next: {}", self.next_step(host)));
        out::note(format_args!("then: proofmark hook doctor {}", host.name));
        if self.scope != Scope::System {
            out::note(format_args!(
                "an agent with a shell can change this file; administrators: {}",
                host.installation.administrator
            ));
        }
        Ok(())
    }

    fn print_json(&self, host: &'static Host, file: &ConfigFile, after: &[Installed]) -> anyhow::Result<()> {
        let hooks = after.iter().map(|hook| {
            let command: Vec<Json> = hook.command.iter().map(|word| Json::from(word.as_str())).collect();
            Json::from(object! { "event": hook.event.as_str(), "command": command })
        });
        let line = object! {
            "host": host.name,
            "scope": self.scope.as_str(),
            "file": file.path().display().to_string(),
            "changed": file.is_changed() && !self.dry_run,
            "would_change": file.is_changed(),
            "hooks": hooks.collect::<Vec<_>>(),
            "next"?: (!after.is_empty()).then(|| self.next_step(host)),
            "administrator": host.installation.administrator,
        };
        Ok(out::stdout().json(&Json::from(line).to_text())?)
    }
}

/// The hooks that are not among the others.
fn without<'a>(hooks: &'a [Installed], others: &[Installed]) -> Vec<&'a Installed> {
    hooks.iter().filter(|hook| !others.contains(hook)).collect()
}

/// Each command once, with the events that start it.
fn by_command(hooks: &[&Installed]) -> Vec<(String, String)> {
    let mut commands: Vec<(String, String)> = Vec::new();
    for hook in hooks {
        let line = shell_words::line(&hook.command);
        match commands.iter_mut().find(|(_, command)| *command == line) {
            Some((events, _)) => events.extend([", ", &hook.event]),
            None => commands.push((hook.event.clone(), line)),
        }
    }
    commands
}

/// Reads whom a configuration is for.
fn scopes() -> impl TypedValueParser<Value = Scope> {
    let values = Scope::ALL.map(|scope| PossibleValue::new(scope.as_str()).help(scope.description()));
    PossibleValuesParser::new(values)
        .try_map(|name| Scope::ALL.into_iter().find(|scope| scope.as_str() == name).ok_or("it is not known"))
}

/// Has the host trust the hooks that were installed, and no others.
fn trust(host: &Host, server: &'static HookServer, installed: &[Installed]) -> anyhow::Result<()> {
    let (title, program) = (host.title, server.program);
    let failed = |why: &str| {
        let help = format!("start `{program}`, and trust them when it asks");
        with_help(format!("have {title} trust the hooks: {why}"), help)
    };
    let folder = surroundings()?.project;
    let mut running = RunningServer::start(server)
        .ok_or_else(|| failed(&format!("`{program}` is not on the path, or gave no answer")))?;
    let is_ours =
        |hook: &ListedHook| installed.iter().any(|ours| hook.is(&ours.event, &shell_words::line(&ours.command)));
    let hooks = running.hooks(&folder).ok_or_else(|| failed("it did not list its hooks"))?;
    let new: Vec<&ListedHook> = hooks.iter().filter(|hook| is_ours(hook) && !hook.is_trusted).collect();
    if !new.is_empty() {
        running.trust(&new).ok_or_else(|| failed("it refused"))?;
    }
    // It answers a change with success also where it does not take it.
    let hooks = running.hooks(&folder).unwrap_or_default();
    let trusted = hooks.iter().filter(|hook| is_ours(hook) && hook.is_trusted).count();
    if trusted < installed.len() {
        return Err(failed("it does not read all of them; a project has to be trusted first"));
    }
    out::note(format_args!("{title} trusts these hooks"));
    Ok(())
}
