//! A shell in an empty folder with a fresh home.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;
use tempfile::TempDir;

use crate::page;

/// The commands of a page may take this long together, on a busy machine too.
const LONGEST_PAGE: Duration = Duration::from_secs(400);

/// Values that change from run to run, and their names.
const CHANGING: &[(&str, &str)] = &[
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "[id]"),
    (r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2})?(\.\d+)?( ?Z| UTC)?", "[time]"),
    (r"\bMCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=", "[signer]"),
    (r"\b[0-9a-f]{64}\b", "[digest]"),
    (r"\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}", "[vkey]"),
    (r"\b\d+(\.\d+)? (ms|s)\b", "[took]"),
    (r" +", " "),
];

/// A folder with a home, in which shells run.
pub(crate) struct Session {
    folder: TempDir,
    port: u16,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Done {
    /// `None` if it did not end.
    pub(crate) code: Option<i32>,
    /// Both outputs, in the order in which they were written.
    pub(crate) output: String,
}

impl Session {
    pub(crate) fn new() -> Session {
        let session = Session { folder: TempDir::new().unwrap(), port: proofmark_testing::free_port() };
        for folder in ["work", "home", "bin", "log"] {
            fs::create_dir(session.path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_proofmark"), session.path("bin/proofmark")).unwrap();
        session
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.path("work")
    }

    /// One with the files, keys and store that [`Session::copy_to`] put into this folder.
    pub(crate) fn copy_of(folder: &Path) -> Session {
        let session = Session::new();
        for name in ["work", "home"] {
            copy(&folder.join(name), &session.path(name));
        }
        session
    }

    /// Puts its files, keys and store into this folder, in place of what is there.
    pub(crate) fn copy_to(&self, folder: &Path) {
        // It may be the first.
        drop(fs::remove_dir_all(folder));
        for name in ["work", "home"] {
            fs::create_dir_all(folder.join(name)).unwrap();
            copy(&self.path(name), &folder.join(name));
        }
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        let path = self.work().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, self.ported(content)).unwrap();
    }

    /// Runs commands in one shell, one after another; those that they leave running are ended.
    pub(crate) fn run(&self, commands: &[&str]) -> Vec<Done> {
        let log = self.path("log");
        let mut script = String::new();
        for (at, command) in commands.iter().enumerate() {
            fs::write(log.join(format!("{at}.sh")), self.ported(command)).unwrap();
            // `eval` in this shell, because variables and running programs are used by later commands.
            script.push_str(&format!(
                "eval \"$(cat {log}/{at}.sh)\" > {log}/{at}.out 2>&1 < /dev/null; echo $? > {log}/{at}.code\n",
                log = log.display()
            ));
        }
        let python = std::env::var_os("PROOFMARK_PYTHON").map(PathBuf::from);
        let python =
            python.as_deref().and_then(Path::parent).map_or(String::new(), |path| format!("{}:", path.display()));
        let path = format!("{}:{python}{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = Command::new("bash")
            .args(["--norc", "-c", &script])
            .current_dir(self.work())
            .env("PATH", path)
            .env("HOME", self.path("home"))
            .env("PYENV_ROOT", pyenv_root())
            // Readers of the pages have told git who they are.
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "you")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "you@example.org")))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env_remove("PROOFMARK_HOME")
            .env_remove("PROOFMARK_PASSPHRASE")
            .env_remove("PROOFMARK_POLICY")
            .env_remove("XDG_DATA_HOME")
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while shell.try_wait().unwrap().is_none() && begun.elapsed() < LONGEST_PAGE {
            std::thread::sleep(Duration::from_millis(20));
        }
        // The group has the id of the shell. It may be empty already.
        drop(Command::new("kill").args(["-KILL", "--", &format!("-{}", shell.id())]).stderr(Stdio::null()).status());
        shell.wait().unwrap();
        let read = |name: String| fs::read(log.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let done = |at| Done {
            code: read(format!("{at}.code")).ok().and_then(|code| code.trim().parse().ok()),
            output: read(format!("{at}.out")).unwrap_or_default(),
        };
        (0..commands.len()).map(done).collect()
    }

    /// Tests run side by side, so the port of the documentation is replaced by a free one.
    fn ported(&self, text: &str) -> String {
        let listen = format!("proofmark serve --listen 127.0.0.1:{} ", self.port);
        let port = self.port.to_string();
        let text = text.replace("127.0.0.1:8700", &format!("127.0.0.1:{port}")).replace("proofmark serve ", &listen);
        // On a machine with much to do, a decision takes longer than a hook has by default.
        match text.starts_with("proofmark hook install ") && !text.contains(" -- ") {
            true => format!("{text} -- --deadline 40s"),
            false => text,
        }
    }

    /// Whether a command printed what the page says.
    pub(crate) fn check(&self, command: &page::Command, done: &Done) -> Result<(), String> {
        let place = format!("line {}: `{}`", command.line, command.text);
        if done.code != Some(command.code) {
            let (expected, found) = (command.code, done.code);
            return Err(format!("{place}\nexits with {found:?}, and the page says {expected}\n{}", done.output));
        }
        let expected: Vec<String> = command.output.iter().map(|line| self.plain(line)).collect();
        let created = |line: &&str| line.starts_with("created the signing key") && !expected.iter().any(|e| e == line);
        let found: Vec<String> =
            done.output.lines().filter(|line| !created(line)).map(|line| self.plain(line)).collect();
        match expected.is_empty() || matches(&expected, &found) {
            true => Ok(()),
            false => Err(format!("{place}\nprints\n{}\nand the page says\n{}", done.output, command.output.join("\n"))),
        }
    }

    fn plain(&self, line: &str) -> String {
        let line = line.replace(self.work().to_str().unwrap(), "/work");
        let line = CHANGING
            .iter()
            .fold(line, |line, (pattern, name)| Regex::new(pattern).unwrap().replace_all(&line, *name).into_owned());
        // Last, because a digest may have the same digits.
        line.replace(&self.port.to_string(), "8700").trim_end().to_owned()
    }
}

/// Copies what is in one folder into another one.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([&from.join("."), to]).status().unwrap().success());
}

/// Whether lines are as expected, where a line `…` stands for any number of lines.
fn matches(expected: &[String], found: &[String]) -> bool {
    match (expected.split_first(), found.split_first()) {
        (None, None) => true,
        (Some((first, rest)), _) if first.trim() == "…" => {
            (0..=found.len()).any(|skipped| matches(rest, &found[skipped..]))
        }
        (Some((first, expected)), Some((line, found))) => same_line(first, line) && matches(expected, found),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// Whether a line is as expected, where `…` stands for any text.
fn same_line(expected: &str, found: &str) -> bool {
    let parts: Vec<String> = expected.split('…').map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*"))).unwrap().is_match(found)
}

/// Where pyenv keeps its interpreters, which it looks up below the home otherwise.
fn pyenv_root() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".pyenv");
    std::env::var_os("PYENV_ROOT").map_or_else(home, PathBuf::from)
}
