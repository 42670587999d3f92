//! The accounts of a host, and the groups that they are in.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Context;

use super::layout::Root;
use crate::error::with_help;
use crate::input;
use crate::paint::printable;

/// The longest file of accounts or groups, in bytes.
const MAX_FILE: u64 = 16 << 20;
/// Groups whose members can do what root can, or read what only root may.
const AS_GOOD_AS_ROOT: [&str; 16] = [
    "root",
    "sudo",
    "wheel",
    "admin",
    "adm",
    "docker",
    "podman",
    "lxd",
    "incus",
    "incus-admin",
    "libvirt",
    "disk",
    "kmem",
    "mem",
    "shadow",
    "systemd-journal",
];
/// Those that read logs, which is not as much as root.
const READERS_OF_LOGS: [&str; 2] = ["adm", "systemd-journal"];

/// An account, and what it may do by its groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) user: u32,
    pub(super) group: u32,
    /// All its groups, with the first one.
    pub(super) groups: Vec<u32>,
    /// The names of these that are known.
    pub(super) group_names: Vec<String>,
    pub(super) home: String,
}

impl Account {
    /// The account of this name, or with this number, in a host's files.
    ///
    /// # Errors
    /// When these cannot be read.
    pub(super) fn find(name: &str, root: &Root) -> anyhow::Result<Option<Self>> {
        let accounts = read(&root.at("/etc/passwd"))?;
        let fields = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let mut found = fields.filter_map(|fields| match fields[..] {
            [name, _, user, group, _, home, ..] => Some((name, user.parse().ok()?, group.parse().ok()?, home)),
            _ => None,
        });
        let number = name.parse::<u32>().ok();
        let entry = found.find(|(one, user, ..)| *one == name || Some(*user) == number);
        let mut account = match (entry, number) {
            (Some((name, user, group, home)), _) => Self::new(name, user, group, home),
            (None, _) if root.is_this_host() => match Self::of_directory(name)? {
                Some(account) => account,
                None => match number {
                    // An account needs no name to run programs.
                    Some(number) => Self::new(name, number, number, ""),
                    None => return Ok(None),
                },
            },
            (None, _) => return Ok(None),
        };
        account.add_groups(root)?;
        Ok(Some(account))
    }

    /// As [`Account::find`], for one that has to be there.
    pub(super) fn named(name: &str, root: &Root) -> anyhow::Result<Self> {
        Self::find(name, root)?.ok_or_else(|| {
            with_help(
                format!("find the account `{}`: this host has none of this name", printable(name)),
                "make it first, as with `proofmark setup --agent NAME --create-agent`",
            )
        })
    }

    fn new(name: &str, user: u32, group: u32, home: &str) -> Self {
        let (name, home) = (name.to_owned(), home.to_owned());
        Self { name, user, group, groups: vec![group], group_names: Vec::new(), home }
    }

    /// The account as the system's directories know it that are not files.
    fn of_directory(name: &str) -> anyhow::Result<Option<Self>> {
        let Some(line) = asked("getent", &["passwd", name]) else { return Ok(None) };
        let fields: Vec<&str> = line.trim_end().split(':').collect();
        match fields[..] {
            [name, _, user, group, _, home, ..] => {
                let number = |text: &str| text.parse().context("read the account that `getent` found");
                Ok(Some(Self::new(name, number(user)?, number(group)?, home)))
            }
            _ => Ok(None),
        }
    }

    fn add_groups(&mut self, root: &Root) -> anyhow::Result<()> {
        let text = read(&root.at("/etc/group"))?;
        for line in text.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            let [name, _, number, members] = fields[..] else { continue };
            let Ok(number) = number.parse::<u32>() else { continue };
            if number == self.group || members.split(',').any(|member| member == self.name) {
                self.add_group(number, name);
            }
        }
        // Directories of a network may have more.
        if root.is_this_host() {
            let numbers = asked("id", &["-G", "--", &self.name]).unwrap_or_default();
            let names = asked("id", &["-Gn", "--", &self.name]).unwrap_or_default();
            for (number, name) in numbers.split_whitespace().zip(names.split_whitespace()) {
                number.parse().into_iter().for_each(|number| self.add_group(number, name));
            }
        }
        Ok(())
    }

    fn add_group(&mut self, number: u32, name: &str) {
        if !self.groups.contains(&number) {
            self.groups.push(number);
        }
        if !self.group_names.iter().any(|known| known == name) {
            self.group_names.push(name.to_owned());
        }
    }

    /// Those of its groups that make it as good as root, and those that let it read the logs of others.
    pub(super) fn powerful_groups(&self) -> (Vec<&str>, Vec<&str>) {
        let powerful = self.group_names.iter().map(String::as_str).filter(|name| AS_GOOD_AS_ROOT.contains(name));
        powerful.partition(|name| !READERS_OF_LOGS.contains(name))
    }
}

/// Whether a text can be the name of an account that is made (useradd(8)).
pub(super) fn is_name(text: &str) -> bool {
    const MAX_NAME: usize = 32;
    let begins_well = text.starts_with(|letter: char| letter.is_ascii_lowercase() || letter == '_');
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, '_' | '-');
    text.len() <= MAX_NAME && begins_well && text.chars().all(is_plain)
}

fn read(path: &Path) -> anyhow::Result<String> {
    let bytes = input::read_limited(path, MAX_FILE)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a program of the system prints, if it is there and succeeds.
fn asked(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_the_groups_that_name_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("etc")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join("etc").join(name), text).unwrap();
        write("passwd", "root:x:0:0:root:/root:/bin/sh\nbroken\nagent:x:1001:1002::/home/agent:/bin/sh\n");
        write("group", "agent:x:1002:\ndocker:x:5:ann,agent\nsudo:x:6:ann\nagents:x:7:agent\n");
        let root = Root::of(Some(folder.path())).unwrap();
        let agent = Account::named("agent", &root).unwrap();
        assert_eq!((agent.user, agent.group, &*agent.home), (1001, 1002, "/home/agent"));
        assert_eq!(agent.groups, [1002, 5, 7]);
        assert_eq!(agent.powerful_groups().0, ["docker"]);
        assert_eq!(Account::named("1001", &root).unwrap(), agent);
        assert!(Account::find("ann", &root).unwrap().is_none());
    }

    #[test]
    fn names_of_accounts_are_plain() {
        for (name, is_plain) in
            [("agent", true), ("_a-1", true), ("1a", false), ("-r", false), ("a b", false), ("", false)]
        {
            assert_eq!(is_name(name), is_plain, "{name}");
        }
    }
}
