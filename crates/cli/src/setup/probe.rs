//! What an account reaches: tried by a process of this account, which root starts, or told from the modes.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use proofmark_hosts::Finding;
use proofmark_receipt::{Json, Object, object};
use proofmark_sandbox::become_account;

use super::accounts::Account;
use super::reach::{Answer, Way};
use super::settings;
use crate::config::Config;
use crate::exit::Exit;
use crate::findings_page;
use crate::hook::run_bounded;
use crate::input;
use crate::out;

/// The longest job, in bytes.
const MAX_JOB: u64 = 4 << 20;
/// How long `sudo` may take to say what an account may do.
const SUDO_LIMIT: Duration = Duration::from_secs(20);
/// Programs that run others as root, and how they are asked whether they do without a password.
const RUNS_AS_ROOT: [(&str, &[&str]); 2] = [("sudo", &["-n", "-l"]), ("doas", &["-n", "true"])];
/// Sockets by which an account gets the rights of root.
const AS_GOOD_AS_ROOT: [&str; 6] = [
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/var/lib/lxd/unix.socket",
    "/var/snap/lxd/common/lxd/unix.socket",
    "/var/lib/incus/unix.socket",
];

/// What is to be tried.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) account: Account,
    pub(super) targets: Vec<Target>,
    /// The processes of the server.
    pub(super) processes: Vec<u32>,
}

/// A file or a folder that the account must not reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) what: String,
    pub(super) path: PathBuf,
    /// Whether it must not read it either.
    pub(super) is_secret: bool,
}

/// `proofmark setup --probe`: root starts it, with a job on standard input.
pub(super) fn run(config: &Config) -> anyhow::Result<Exit> {
    let text = input::read_stdin(MAX_JOB)?;
    let job = Json::parse(&text).context("read the job")?;
    let job = job.as_object().and_then(Job::read).context("read the job: it is not one of this version")?;
    let Account { user, group, groups, .. } = &job.account;
    become_account(*user, *group, groups).with_context(|| format!("try as the account `{}`", job.account.name))?;
    let findings: Vec<Json> = job.findings(Way::Tried, config).iter().map(findings_page::object).collect();
    out::stdout().json(&Json::from(findings).to_text())?;
    Ok(Exit::Yes)
}

impl Job {
    /// What the account reaches.
    pub(super) fn findings(&self, way: Way, config: &Config) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.targets.iter().map(|target| target.finding(&self.account, way)).collect();
        findings.extend(self.as_root(way));
        findings.extend(AS_GOOD_AS_ROOT.iter().filter_map(|socket| self.socket(Path::new(socket), way)));
        findings.extend(self.memory(way));
        if !self.account.home.is_empty() {
            findings.extend(settings::look(Path::new(&self.account.home), config));
        }
        findings
    }

    /// Whether the account runs programs as root without a password.
    fn as_root(&self, way: Way) -> Vec<Finding> {
        let installed = RUNS_AS_ROOT.iter().filter(|(program, _)| is_installed(program));
        let finding = |(program, arguments): &(&str, &[&str])| {
            let help = format!("take the account out of the settings of `{program}`");
            if way == Way::ByModes {
                return Finding::unknown(format!("whether `{program}` works without a password is not known"), AS_ROOT);
            }
            let ended = run_bounded::run(Command::new(program).args(*arguments).env("LC_ALL", "C"), b"", SUDO_LIMIT);
            match ended.map(|ended| ended.code) {
                Ok(Some(0)) => Finding::bad(format!("`{program}` runs programs as root without a password"), help),
                Ok(Some(_)) => Finding::good(format!("`{program}` runs nothing without a password")),
                Ok(None) => Finding::unknown(format!("`{program}` did not answer in time"), help),
                Err(error) => Finding::unknown(format!("`{program}` could not be tried ({error})"), help),
            }
        };
        installed.map(finding).collect()
    }

    fn socket(&self, socket: &Path, way: Way) -> Option<Finding> {
        let shown = socket.display();
        match way.changes(&self.account, socket) {
            Answer::No | Answer::Missing => None,
            Answer::Yes => Some(Finding::bad(
                format!("the account can use {shown}, which gives the rights of root"),
                "take its right to write: `chmod o-w`, or the group that the socket is of",
            )),
            Answer::Unknown(why) => Some(Finding::unknown(format!("{shown}: {why}"), AS_ROOT)),
        }
    }

    /// Whether the account reads the memory of the server.
    fn memory(&self, way: Way) -> Option<Finding> {
        if self.processes.is_empty() {
            return Some(Finding::note("no server runs, so its memory was not tried", "start it, and check again"));
        }
        if way == Way::ByModes {
            return Some(Finding::unknown("whether the server's memory can be read is not known", AS_ROOT));
        }
        let parts = ["mem", "environ"];
        let files = self.processes.iter().flat_map(|id| parts.map(|part| PathBuf::from(format!("/proc/{id}/{part}"))));
        let read: Vec<String> = files
            .filter(|file| way.reads(&self.account, file) == Answer::Yes)
            .map(|file| file.display().to_string())
            .collect();
        Some(if read.is_empty() {
            Finding::good("the memory and the environment of the server cannot be read")
        } else {
            let help = "start the server as an account of its own, and take the capability `CAP_SYS_PTRACE` from the agent's programs";
            Finding::bad(format!("the account can read {}", read.join(", ")), help)
        })
    }

    /// The job as the process reads it that tries.
    pub(super) fn to_json(&self) -> Json {
        let Account { name, user, group, groups, home, .. } = &self.account;
        let numbers = |numbers: &[u32]| numbers.iter().map(|number| Json::from(u64::from(*number))).collect::<Vec<_>>();
        let target = |target: &Target| {
            let path = target.path.display().to_string();
            Json::from(object! { "what": target.what.as_str(), "path": path, "secret": target.is_secret })
        };
        object! {
            "name": name.as_str(),
            "user": u64::from(*user),
            "group": u64::from(*group),
            "groups": numbers(groups),
            "home": home.as_str(),
            "targets": self.targets.iter().map(target).collect::<Vec<_>>(),
            "processes": numbers(&self.processes),
        }
        .into()
    }

    fn read(job: &Object) -> Option<Self> {
        let text = |object: &Object, name: &str| Some(object.get(name)?.as_str()?.to_owned());
        let number = |json: &Json| json.as_number()?.as_u64()?.try_into().ok();
        let numbers = |name: &str| job.get(name)?.as_array()?.iter().map(number).collect::<Option<Vec<u32>>>();
        let target = |json: &Json| {
            let object = json.as_object()?;
            let is_secret = object.get("secret")?.as_bool()?;
            Some(Target { what: text(object, "what")?, path: text(object, "path")?.into(), is_secret })
        };
        Some(Self {
            account: Account {
                name: text(job, "name")?,
                user: number(job.get("user")?)?,
                group: number(job.get("group")?)?,
                groups: numbers("groups")?,
                group_names: Vec::new(),
                home: text(job, "home")?,
            },
            targets: job.get("targets")?.as_array()?.iter().map(target).collect::<Option<Vec<_>>>()?,
            processes: numbers("processes")?,
        })
    }
}

/// What to do where only root can find out.
const AS_ROOT: &str = "run this check as root, which tries it as the account";

impl Target {
    fn finding(&self, account: &Account, way: Way) -> Finding {
        let Self { what, path, is_secret } = self;
        let shown = path.display();
        let changes = way.changes(account, path);
        let reads = if *is_secret { way.reads(account, path) } else { Answer::No };
        match (reads, changes) {
            (Answer::Yes, _) => Finding::bad(
                format!("the account can read {what} {shown}"),
                format!("take its right: `chmod go-rwx '{shown}'`, and give it to the account that decides"),
            ),
            (_, Answer::Yes) => Finding::bad(
                format!("the account can change {what} {shown}"),
                format!(
                    "take its right: `chmod go-w '{shown}'`, and that of the folders above it; they belong to root or the account that decides"
                ),
            ),
            (Answer::Unknown(why), _) | (_, Answer::Unknown(why)) => {
                Finding::unknown(format!("{what} {shown}: {why}"), AS_ROOT)
            }
            (_, Answer::No) if *is_secret => Finding::good(format!("{what} {shown} can be neither read nor changed")),
            (_, Answer::No) => Finding::good(format!("{what} {shown} cannot be changed")),
            (_, Answer::Missing) => {
                Finding::note(format!("{what} {shown} is not there"), "nothing can be read or changed")
            }
        }
    }
}

/// Whether a program is on the path.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
