//! The programs of PostgreSQL, and the user who runs its servers.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::address::Address;

/// Where Debian puts a folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Why a test has no server of PostgreSQL. The message completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// It is not installed.
    #[error("find `initdb` and `postgres`")]
    Missing,
    /// PostgreSQL refuses to run as root, and the system has no user to run it as.
    #[error("find a user to run PostgreSQL as: there is neither `postgres` nor `nobody`")]
    NoUser,
    /// The URL is not one that this crate made.
    #[error("read the URL of a server of PostgreSQL for tests")]
    Url,
    /// A file, a folder or a port of a server could not be made.
    #[error("prepare a server of PostgreSQL: {0}")]
    Io(#[from] io::Error),
    /// One of its programs failed; what it wrote.
    #[error("run `{program}` of PostgreSQL: {output}")]
    Program { program: &'static str, output: String },
}

/// Whether PostgreSQL's programs are on this machine.
#[must_use]
pub fn is_installed() -> bool {
    Programs::find().is_some()
}

/// The programs of the newest version of PostgreSQL here.
#[derive(Clone, Debug)]
pub(super) struct Programs(PathBuf);

impl Programs {
    /// Those of Debian's package, or else those that `PATH` leads to.
    pub(super) fn find() -> Option<Self> {
        let version = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u32>().ok();
        let mut debian: Vec<_> =
            fs::read_dir(DEBIAN).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        debian.sort_by_key(version);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let newest_first = debian.into_iter().rev().map(|version| version.join("bin"));
        let complete = |folder: &PathBuf| ["initdb", "postgres", "psql"].iter().all(|name| folder.join(name).exists());
        newest_first.chain(std::env::split_paths(&path)).find(complete).map(Self)
    }

    /// The major version.
    pub(super) fn version(&self) -> Result<u32, ClusterError> {
        let output = run("postgres", self.command("postgres").arg("--version"))?;
        let digits = output.trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let version = digits.get(..end).and_then(|digits| digits.parse().ok());
        version.ok_or(ClusterError::Program { program: "postgres", output })
    }

    /// A program with nothing of the environment that could lead it to another server.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.0.join(program));
        command.env_clear().env("LC_ALL", "C").stdin(Stdio::null());
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command
    }

    /// A program that connects to the server at `address`, as the superuser.
    pub(super) fn client(&self, program: &str, address: &Address) -> Command {
        let mut command = self.command(program);
        command.env("PGHOST", "127.0.0.1").env("PGPORT", address.port.to_string());
        // Not an argument, which every user of the machine could read.
        command.env("PGUSER", super::address::SUPERUSER).env("PGPASSWORD", &address.password);
        command
    }

    /// `psql`, which runs what it is told in the database as the superuser, up to the first failure.
    pub(super) fn psql_at(&self, address: &Address, database: &str) -> Command {
        let mut psql = self.client("psql", address);
        psql.args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--set=ON_ERROR_STOP=1"]);
        psql.args(["--dbname", database]);
        psql
    }

    /// What the statements answer, in order: a line for each row, its columns separated by `|`.
    pub(super) fn psql(&self, address: &Address, database: &str, statements: &[&str]) -> Result<String, ClusterError> {
        let mut psql = self.psql_at(address, database);
        for statement in statements {
            psql.args(["--command", statement]);
        }
        Ok(run("psql", &mut psql)?.trim_end().to_owned())
    }
}

/// Runs a program to its end; what it wrote to standard output.
pub(super) fn run(program: &'static str, command: &mut Command) -> Result<String, ClusterError> {
    let output = command.output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if !output.status.success() {
        let output = format!("{}: {}{}", output.status, text(&output.stdout), text(&output.stderr));
        return Err(ClusterError::Program { program, output });
    }
    Ok(text(&output.stdout))
}

/// The user who runs servers, where that is not the user of this process.
#[derive(Clone, Copy, Debug)]
pub(super) struct User(Option<(u32, u32)>);

impl User {
    /// PostgreSQL refuses to run as root: as root, the user of Debian's package, or else the one without rights.
    pub(super) fn find() -> Result<Self, ClusterError> {
        if fs::metadata("/proc/self")?.uid() != 0 {
            return Ok(Self(None));
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let ids = ["postgres", "nobody"].iter().find_map(|name| ids_of(&users, name));
        ids.map(|ids| Self(Some(ids))).ok_or(ClusterError::NoUser)
    }

    /// Has `command` run as this user.
    pub(super) fn runs<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        match self.0 {
            Some((user, group)) => command.uid(user).gid(group),
            None => command,
        }
    }

    /// Gives the file or folder to this user.
    pub(super) fn own(&self, path: &Path) -> io::Result<()> {
        match self.0 {
            Some((user, group)) => std::os::unix::fs::chown(path, Some(user), Some(group)),
            None => Ok(()),
        }
    }
}

/// The ids of a user and of its group in the text of `/etc/passwd`.
fn ids_of(users: &str, name: &str) -> Option<(u32, u32)> {
    let mut fields = users.lines().map(|line| line.split(':')).find_map(|mut fields| {
        let found = fields.next() == Some(name);
        found.then_some(fields)
    })?;
    let user = fields.nth(1)?.parse().ok()?;
    Some((user, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::ids_of;

    #[test]
    fn ids_are_those_of_the_whole_name() {
        let users = "root:x:0:0::/root:/bin/sh\npostgresql:x:7:8::/:/bin/sh\npostgres:x:101:104:A,,:/var:/bin/bash\n";
        assert_eq!(ids_of(users, "postgres"), Some((101, 104)));
        assert_eq!(ids_of(users, "nobody"), None);
    }
}
