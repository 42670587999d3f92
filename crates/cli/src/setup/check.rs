//! `proofmark setup --check`: what the agent's account can still reach.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use proofmark_hosts::Finding;
use proofmark_receipt::{Json, object};

use super::accounts::Account;
use super::layout::{ACCOUNT, DATA, HOME, POLICY, RECORD, Root, SETTINGS, SOCKET_FOLDER, UNIT, UNIT_ADDITIONS};
use super::probe::{Job, Target};
use super::reach::Way;
use super::record::Record;
use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::findings_page;
use crate::hook::run_bounded;
use crate::input;
use crate::out;
use crate::paint::{Paint, printable};
use crate::shell_words;

/// How long it may take to try everything.
const LIMIT: Duration = Duration::from_secs(60);
/// The most files of keys and the store that are tried, each.
const MAX_FILES: usize = 200;
/// How many folders deep these are looked for.
const MAX_DEPTH: usize = 8;
/// The longest unit that is read, in bytes.
const MAX_UNIT: u64 = 256 << 10;
/// Options of a server whose files nobody else may change, and those whose files nobody else may read either.
const RULING: [&str; 2] = ["--policy", "--workflow-policy"];
const SECRET: [&str; 4] = ["--api-keys", "--store", "--key", "--passphrase-file"];
/// Whether programs of one account read the memory of each other (Yama).
const PTRACE_SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// Tries what an account reaches, and prints it.
pub(super) fn run(agent: &str, root: &Root, as_json: bool, config: &Config) -> anyhow::Result<Exit> {
    if Record::read(root)?.is_none() {
        return Err(with_help(
            format!("check what was set up: there is no `{}`", root.at(RECORD).display()),
            "set this host up with `sudo proofmark setup --policy FILE`",
        ));
    }
    let account = Account::named(agent, root)?;
    let own = rustix::process::geteuid().as_raw();
    let way = if own == 0 || own == account.user { Way::Tried } else { Way::ByModes };
    let mut findings = of_account(&account, root)?;
    let job = Job { targets: targets(root)?, processes: processes(root)?, account: account.clone() };
    findings.extend(match way {
        Way::Tried if own == 0 => tried_by_account(&job)?,
        way => job.findings(way, config),
    });
    print(&account, way, &findings, as_json)?;
    Ok(findings_page::exit(&findings))
}

/// What the account is, whatever it tries.
fn of_account(account: &Account, root: &Root) -> anyhow::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    if account.user == 0 || account.name == ACCOUNT || Some(account.user) == judge(root)? {
        let what = format!("the account {} is root, or the one that decides", account.name);
        findings.push(Finding::bad(what, "run the agent as an account of its own"));
    }
    let (powerful, readers) = account.powerful_groups();
    let name = &account.name;
    let leave = |groups: &[&str]| {
        format!(
            "take it out: {}",
            groups.iter().map(|group| format!("`gpasswd -d {name} {group}`")).collect::<Vec<_>>().join(", ")
        )
    };
    findings.push(if powerful.is_empty() {
        Finding::good(format!("{name} is in no group that is as good as root"))
    } else {
        Finding::bad(format!("{name} is in groups that are as good as root: {}", powerful.join(", ")), leave(&powerful))
    });
    if !readers.is_empty() {
        findings
            .push(Finding::note(format!("{name} reads the logs of others ({})", readers.join(", ")), leave(&readers)));
    }
    if let Ok(scope) = fs::read_to_string(PTRACE_SCOPE)
        && scope.trim() == "0"
    {
        let what = format!("programs of one account read the memory of each other ({PTRACE_SCOPE} is 0)");
        findings.push(Finding::note(what, "approve with an account that the agent does not run as"));
    }
    Ok(findings)
}

/// The number of the account that decides.
fn judge(root: &Root) -> anyhow::Result<Option<u32>> {
    Ok(Account::find(ACCOUNT, root)?.map(|account| account.user))
}

/// What nobody else may reach: what was set up, and what the unit names beside it.
fn targets(root: &Root) -> anyhow::Result<Vec<Target>> {
    let target = |what: &str, path: PathBuf, is_secret: bool| Target { what: what.to_owned(), path, is_secret };
    let mut targets = vec![
        target("the home folder", root.at(HOME), true),
        target("the policy", root.at(POLICY), false),
        target("the settings", root.at(SETTINGS), false),
        target("the record of the set-up", root.at(RECORD), false),
        target("the unit", root.at(UNIT), false),
        target("additions to the unit", root.at(UNIT_ADDITIONS), false),
        target("the folder of the socket", root.at(SOCKET_FOLDER), false),
    ];
    let mut files = Vec::new();
    add_files(&root.at(DATA), 0, &mut files);
    targets.extend(files.into_iter().map(|file| target("the key or the store", file, true)));
    for command in commands(root)? {
        targets.extend(command.first().map(|program| target("the program", root.at(program), false)));
        for pair in command.windows(2) {
            let [option, value] = pair else { continue };
            let is_secret = SECRET.contains(&option.as_str());
            // A key that is not a path is a name in the folder of keys.
            if (is_secret || RULING.contains(&option.as_str())) && value.starts_with('/') {
                targets.push(target(&format!("the file of {option}"), root.at(value), is_secret));
            }
        }
    }
    // Where links lead, the account may reach more than by their names; and it may not follow them itself.
    let real: Vec<Target> = targets
        .iter()
        .filter_map(|one| {
            let path = fs::canonicalize(&one.path).ok().filter(|path| *path != one.path)?;
            Some(Target { path, ..one.clone() })
        })
        .collect();
    for one in real {
        if !targets.iter().any(|known| known.path == one.path) {
            targets.push(one);
        }
    }
    let mut once: Vec<Target> = Vec::new();
    for one in targets {
        if !once.iter().any(|known| known.path == one.path && known.is_secret == one.is_secret) {
            once.push(one);
        }
    }
    Ok(once)
}

/// The files below a folder, as far as this account sees them.
fn add_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth < MAX_DEPTH {
            add_files(&entry.path(), depth + 1, files);
        } else if files.len() < MAX_FILES {
            files.push(entry.path());
        }
    }
}

/// The commands that the unit starts, with what an administrator has added.
fn commands(root: &Root) -> anyhow::Result<Vec<Vec<String>>> {
    let additions = fs::read_dir(root.at(UNIT_ADDITIONS)).into_iter().flatten().flatten().map(|entry| entry.path());
    let files =
        [root.at(UNIT)].into_iter().chain(additions.filter(|path| path.extension().is_some_and(|end| end == "conf")));
    let mut commands = Vec::new();
    for file in files.filter(|file| file.exists()) {
        let text = input::read_limited(&file, MAX_UNIT)?;
        let text = String::from_utf8_lossy(&text).replace("\\\n", " ");
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix("ExecStart="));
        commands
            .extend(lines.filter_map(|line| shell_words::split(line.trim_start_matches(['@', '-', ':', '+', '!']))));
    }
    Ok(commands)
}

/// The processes of the account that decides.
fn processes(root: &Root) -> anyhow::Result<Vec<u32>> {
    let Some(judge) = judge(root)?.filter(|_| root.is_this_host()) else { return Ok(Vec::new()) };
    let entries = fs::read_dir("/proc").context("list the processes")?;
    let ids = entries.flatten().filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        // A process that hides its memory belongs to root there, and to its account in its status.
        let status = fs::read_to_string(entry.path().join("status")).ok()?;
        let user = status.lines().find_map(|line| line.strip_prefix("Uid:"))?.split_whitespace().next()?.parse::<u32>();
        (user == Ok(judge) || entry.metadata().is_ok_and(|about| about.uid() == judge)).then_some(id)
    });
    Ok(ids.collect())
}

/// What a process of the account finds by trying.
fn tried_by_account(job: &Job) -> anyhow::Result<Vec<Finding>> {
    // This very program, also where the account could not start it.
    let mut child = Command::new("/proc/self/exe");
    child.args(["setup", "--probe"]).current_dir("/").env("HOME", &job.account.home);
    let ended =
        run_bounded::run(&mut child, job.to_json().to_text().as_bytes(), LIMIT).context("try as the account")?;
    let found = Json::parse(ended.stdout.trim_ascii()).ok().filter(|_| ended.code == Some(0));
    let found = found.and_then(|found| found.as_array()?.iter().map(findings_page::read).collect::<Option<Vec<_>>>());
    found.with_context(|| {
        let said = String::from_utf8_lossy(&ended.stderr);
        format!("try as the account `{}`: {}", job.account.name, printable(said.trim()))
    })
}

fn print(account: &Account, way: Way, findings: &[Finding], as_json: bool) -> anyhow::Result<()> {
    let how = match way {
        Way::Tried => "tried by a process of this account",
        Way::ByModes => "told from the modes of the files; root tries it",
    };
    let mut out = out::stdout();
    if as_json {
        let line = object! {
            "agent": account.name.as_str(),
            "how": if way == Way::Tried { "tried" } else { "modes" },
            "findings": findings.iter().map(findings_page::object).collect::<Vec<_>>(),
        };
        return Ok(out.json(&Json::from(line).to_text())?);
    }
    writeln!(out, "{} ({how})", printable(&account.name))?;
    Ok(findings_page::write(&mut out, Paint::for_stdout(), findings)?)
}
