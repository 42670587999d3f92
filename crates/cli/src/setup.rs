//! `proofmark setup`: an account of its own that decides for the agents of this host.

mod accounts;
mod check;
mod layout;
mod part;
mod probe;
mod reach;
mod record;
mod settings;
mod undo;

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use proofmark_receipt::{Json, Object, object};
use proofmark_server::is_own;

use self::accounts::{Account, is_name};
use self::layout::{ACCOUNT, HOME, POLICY, Root, SETTINGS, SOCKET, SOCKET_FOLDER, UNIT};
use self::part::{Found, Part};
use self::record::{Made, Record};
use self::undo::{Extent, FAILED, REMOVED, Undone};
use crate::config::Config;
use crate::document;
use crate::error::{self, with_help};
use crate::exit::Exit;
use crate::input;
use crate::out;
use crate::paint::{Paint, printable};

/// The longest action policy, in bytes.
const MAX_POLICY: u64 = 4 << 20;
/// The number of root.
const ROOT: u32 = 0;
/// An account that is to be the agent's and is not.
const NOT_AGENTS: [&str; 2] = ["root", ACCOUNT];

/// Have an account of its own decide for the agents of this host
///
/// Makes the account `proofmark` with its key and its store, and a service that decides by a socket for guards and hooks of other
/// accounts. Only root can do this. What is there already stays, so a second run changes nothing; `--undo` takes back what was
/// made. The key has no passphrase, because nobody is there to enter it: only its account can read it.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark setup --policy examples/guard/policy.yaml --agent agent --create-agent --dry-run
  proofmark setup --undo --dry-run

Exit codes: 0 everything is there, taken back, or out of the agent's reach; 1 with --check: the agent's account reaches something,
or that is not known; with --undo: something could not be taken back; 2 nothing was done, and why.")]
pub(crate) struct Setup {
    /// The action policy, which is copied to /etc/proofmark/policy.yaml
    #[arg(long, value_name = "FILE", required_unless_present_any = ["undo", "check", "probe"])]
    policy: Option<PathBuf>,
    /// The account of the agent
    #[arg(long, value_name = "ACCOUNT", conflicts_with = "undo")]
    agent: Option<String>,
    /// Make the agent's account, if there is none
    #[arg(long, requires = "agent", conflicts_with = "check")]
    create_agent: bool,
    /// The program that the service starts [default: this program]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["undo", "check"])]
    program: Option<PathBuf>,
    /// Set up the image of a host that is in this folder; nothing is started
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// Show what would be done, and do nothing
    #[arg(long, conflicts_with = "check")]
    dry_run: bool,
    /// Take back what was made; the key and the store stay, and what was changed since
    #[arg(long, conflicts_with_all = ["policy", "create_agent"])]
    undo: bool,
    /// With --undo: also remove the key, the store and the accounts
    #[arg(long, requires = "undo")]
    purge: bool,
    /// Try what the agent's account can still reach
    #[arg(long, requires = "agent", conflicts_with_all = ["undo", "policy"])]
    check: bool,
    /// Try what is named on standard input, as the account that is named there
    #[arg(long, hide = true, conflicts_with_all = ["undo", "policy", "check"])]
    probe: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A part, and what was found of it.
struct Step {
    part: Part,
    found: Found,
}

impl Setup {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        if self.probe {
            return probe::run(config);
        }
        let root = Root::of(self.root.as_deref())?;
        match (&self.agent, self.check, self.undo) {
            (Some(agent), true, _) => check::run(agent, &root, self.json, config),
            (_, _, true) => self.undo(&root),
            _ => self.set_up(&root),
        }
    }

    fn set_up(&self, root: &Root) -> anyhow::Result<Exit> {
        let program = layout::program(self.program.as_deref(), root)?;
        let parts = self.parts(&program, root)?;
        let mut record = Record::read(root)?.unwrap_or_default();
        let mut steps = Vec::new();
        for part in parts {
            let found = part.find(root, &record.made)?;
            steps.push(Step { part, found });
        }
        let obstacle = self.obstacle(&steps, &program, root);
        if self.dry_run {
            show_steps(&steps, root, self.json)?;
            if let Some(error) = obstacle {
                let help = error::help(&error).map_or_else(String::new, |help| format!(" ({help})"));
                out::note(format_args!("this would stop here: failed to {}{help}", error::message(&error)));
            }
            return Ok(Exit::Yes);
        }
        obstacle.map_or(Ok(()), Err)?;
        make(&mut steps, root, &mut record)?;
        self.show_done(&steps, &program, root)?;
        Ok(Exit::Yes)
    }

    /// What a host is set up with, in the order in which it is made.
    fn parts(&self, program: &str, root: &Root) -> anyhow::Result<Vec<Part>> {
        let mut parts = vec![
            Part::Folder { path: SETTINGS, mode: 0o755, is_of_account: false },
            Part::Account { name: ACCOUNT.to_owned(), is_agent: false },
        ];
        if let Some(agent) = &self.agent {
            let is_there = Account::find(agent, root)?.is_some();
            if NOT_AGENTS.contains(&agent.as_str()) || (!is_there && !is_name(agent)) {
                return Err(with_help(
                    format!("use the account `{}` for the agent", printable(agent)),
                    "name an account of its own, as in `--agent agent`",
                ));
            }
            if !is_there && !self.create_agent {
                return Err(with_help(
                    format!("find the agent's account `{}`", printable(agent)),
                    "make it, or have it made with `--create-agent`",
                ));
            }
            parts.push(Part::Account { name: agent.clone(), is_agent: true });
        }
        let policy = self.policy.as_deref().unwrap_or_else(|| std::path::Path::new(POLICY));
        // The server would not start with a policy that it cannot read.
        document::action_policy(policy)?;
        let text = input::read_limited(policy, MAX_POLICY)?;
        let text = String::from_utf8(text)
            .map_err(|_| anyhow::anyhow!("read the policy `{}`: it is not UTF-8", policy.display()))?;
        parts.extend([
            Part::Folder { path: HOME, mode: 0o700, is_of_account: true },
            Part::Key,
            Part::File { path: POLICY, text },
            Part::Folder { path: SOCKET_FOLDER, mode: 0o755, is_of_account: true },
            Part::File { path: UNIT, text: layout::unit(program) },
        ]);
        if root.has_systemd() {
            parts.push(Part::Service);
        }
        Ok(parts)
    }

    /// Why nothing can be set up.
    fn obstacle(&self, steps: &[Step], program: &str, root: &Root) -> Option<anyhow::Error> {
        if rustix::process::geteuid().as_raw() != ROOT {
            return Some(with_help(
                "set this host up: only root makes accounts",
                "run it with `sudo`; `--dry-run` shows what it does",
            ));
        }
        let foreign = steps.iter().find_map(|step| match step.found {
            Found::Foreign(why) => Some((step.part.name(), why)),
            _ => None,
        });
        if let Some((name, why)) = foreign {
            return Some(with_help(
                format!("set this host up: `{}` was not made by `proofmark setup`: {why}", printable(&name)),
                "move it away, and run this again",
            ));
        }
        let path = root.at(program);
        if !path.is_file() || (root.is_this_host() && !is_own(&path, ROOT)) {
            return Some(with_help(
                format!(
                    "have the service start `{}`: another account than root can change it, or it is not there",
                    path.display()
                ),
                "install it as root: `sudo install -m 0755 proofmark /usr/local/bin/proofmark`, and run that",
            ));
        }
        None
    }

    fn show_done(&self, steps: &[Step], program: &str, root: &Root) -> anyhow::Result<()> {
        let started = steps.iter().any(|step| matches!(step.part, Part::Service));
        let start = (!started).then(|| layout::start_by_hand(program));
        if self.json {
            let line = object! {
                "parts": steps.iter().map(|step| Json::from(step.object())).collect::<Vec<_>>(),
                "socket": format!("unix:{SOCKET}"),
                "started": started,
                "start"?: start,
            };
            return Ok(out::stdout().json(&Json::from(line).to_text())?);
        }
        let (mut out, paint) = (out::stdout(), Paint::for_stdout());
        for step in steps {
            let word = match step.state() {
                "made" => paint.good("made"),
                "kept" => paint.warning("kept"),
                other => paint.dim(other),
            };
            writeln!(out, "{word} {}", step.part.name())?;
        }
        drop(out);
        for step in steps.iter().filter(|step| step.found == Found::Changed) {
            let name = step.part.name();
            out::note(format_args!("{name} was changed since it was made, and stays as it is now"));
        }
        if let Some(start) = start {
            let why = if root.is_this_host() { "systemd does not run here" } else { "this is an image" };
            out::note(format_args!("nothing was started, because {why}; to start the server: {start}"));
        }
        let agent = self.agent.as_deref().unwrap_or("ACCOUNT");
        out::note(format_args!(
            "agents ask by `--server unix:{SOCKET}`, as `proofmark hook install HOST` and `proofmark guard wrap FILE` take it"
        ));
        out::note(format_args!("then: proofmark setup --check --agent {agent}"));
        Ok(())
    }

    fn undo(&self, root: &Root) -> anyhow::Result<Exit> {
        let Some(record) = Record::read(root)? else {
            out::note("nothing was set up here");
            return Ok(Exit::Yes);
        };
        if !self.dry_run && rustix::process::geteuid().as_raw() != ROOT {
            return Err(with_help("take back what was set up: only root can", "run it with `sudo`"));
        }
        let extent = Extent { purge: self.purge, is_fresh: false, dry_run: self.dry_run };
        let undone = undo::undo(&record.made, root, extent);
        if !self.dry_run {
            keep_left(&undone, root)?;
        }
        show_undone(&undone, self.dry_run, self.json)?;
        Ok(if undone.iter().any(|one| one.state == FAILED) { Exit::No } else { Exit::Yes })
    }
}

impl Step {
    /// What became of it, for people and programs.
    fn state(&self) -> &'static str {
        match self.found {
            Found::Nothing | Found::Older => "made",
            Found::Same => "there",
            Found::Changed | Found::Foreign(_) => "kept",
        }
    }

    fn object(&self) -> Object {
        object! { "kind": self.part.kind(), "name": self.part.name(), "state": self.state() }
    }
}

/// Makes what is missing, and records it. Where something fails, what was made before it is taken back.
fn make(steps: &mut [Step], root: &Root, record: &mut Record) -> anyhow::Result<()> {
    let (before, mut made) = (record.clone(), Vec::new());
    let mut is_unit_new = false;
    for step in steps {
        if matches!(step.part, Part::Service) && is_unit_new && step.found == Found::Same {
            step.found = Found::Older;
        }
        if !matches!(step.found, Found::Nothing | Found::Older) {
            continue;
        }
        is_unit_new |= matches!(step.part, Part::File { path: UNIT, .. });
        let mut new = Vec::new();
        let attempt = step.part.make(root, &step.found, &mut new);
        // What was replaced is not taken back where something fails later.
        made.extend(new.iter().filter(|_| step.found == Found::Nothing).cloned());
        new.into_iter().for_each(|one| record.add(one));
        if let Err(failed) = attempt.and_then(|()| record.write(root)) {
            return Err(taken_back(failed, &step.part, &made, &before, root));
        }
    }
    Ok(())
}

/// The error of a part that could not be made, once those before it were taken back.
fn taken_back(failed: anyhow::Error, part: &Part, made: &[Made], before: &Record, root: &Root) -> anyhow::Error {
    let undone = undo::undo(made, root, Extent { purge: false, is_fresh: true, dry_run: false });
    let left: Vec<&str> = undone.iter().filter(|one| one.left.is_some()).map(|one| one.what.as_str()).collect();
    let kept: Vec<Made> = before.made.iter().cloned().chain(undone.iter().filter_map(|one| one.left.clone())).collect();
    // The record is of no use where there is nothing to record; its folder may be gone.
    let recorded = if kept.is_empty() { Record::remove(root) } else { Record { made: kept }.write(root) };
    let help = match (left.is_empty(), recorded) {
        (true, Ok(())) => "what was made before it was taken back".to_owned(),
        (_, Err(error)) => format!("the record is wrong: failed to {}", error::message(&error)),
        (false, Ok(())) => format!("these are left, and `proofmark setup --undo` tries again: {}", left.join(", ")),
    };
    with_help(format!("set up the {}: {}", part.name(), error::message(&failed)), help)
}

/// Keeps the record of what could not be taken back.
fn keep_left(undone: &[Undone], root: &Root) -> anyhow::Result<()> {
    let mut left: Vec<Made> = undone.iter().filter_map(|one| one.left.clone()).collect();
    left.reverse();
    if left.is_empty() { Record::remove(root) } else { Record { made: left }.write(root) }
}

fn show_steps(steps: &[Step], root: &Root, as_json: bool) -> anyhow::Result<()> {
    let (mut out, paint) = (out::stdout(), Paint::for_stdout());
    if as_json {
        let step = |step: &Step| {
            let commands = step.part.shown(root).into_iter().map(Json::from).collect::<Vec<_>>();
            let mut object = step.object();
            let state = if step.state() == "made" { "would_make" } else { step.state() };
            object.insert("state", state);
            object.insert("commands", commands);
            Json::from(object)
        };
        let line = object! { "parts": steps.iter().map(step).collect::<Vec<_>>() };
        return Ok(out.json(&Json::from(line).to_text())?);
    }
    for step in steps {
        match step.state() {
            "made" => {
                writeln!(out, "{} {}", paint.good("would make"), step.part.name())?;
                for line in step.part.shown(root) {
                    writeln!(out, "  {}", printable(&line))?;
                }
            }
            state => writeln!(out, "{} {}", paint.dim(state), step.part.name())?,
        }
    }
    Ok(())
}

fn show_undone(undone: &[Undone], dry_run: bool, as_json: bool) -> anyhow::Result<()> {
    let mut out = out::stdout();
    for Undone { what, state, why, .. } in undone {
        let state = match (dry_run && *state == REMOVED, as_json) {
            (true, true) => "would_remove",
            (true, false) => "would remove",
            (false, _) => state,
        };
        if as_json {
            let line = object! { "what": what.as_str(), "state": state, "why"?: why.as_deref() };
            out.json(&Json::from(line).to_text())?;
        } else {
            let why = why.as_deref().map_or_else(String::new, |why| format!(": {why}"));
            writeln!(out, "{state} {}{}", printable(what), printable(&why))?;
        }
    }
    Ok(())
}
