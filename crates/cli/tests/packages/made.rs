//! One set of packages for all of these tests, and how programs are run on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use proofmark_testing::{has_program, once_in_a_run, python_with};
use tempfile::TempDir;

pub(crate) const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A program without its symbols, which is half as large, and the folder `release` with what is made of it.
pub(crate) struct Packages {
    pub(crate) program: PathBuf,
    pub(crate) release: PathBuf,
}

impl Packages {
    /// `None` after a skip.
    pub(crate) fn new() -> Option<Self> {
        // The scripts read TOML, which Python can since 3.11.
        python_with("tomllib", "Python 3.11")?;
        for (program, package) in [("dpkg-deb", "dpkg"), ("strip", "binutils"), ("git", "git"), ("npm", "npm")] {
            if !has_program(program, package) {
                return None;
            }
        }
        let made = once_in_a_run(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages"), make);
        Some(Self { program: made.join("proofmark"), release: made.join("release") })
    }

    /// The one file of the release with this ending.
    pub(crate) fn file(&self, ending: &str) -> PathBuf {
        let names = fs::read_dir(&self.release).unwrap().map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> = names.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
        assert_eq!(found.len(), 1, "{ending}: {found:?}");
        found.remove(0)
    }

    /// A copy of the release, for a test that changes it.
    pub(crate) fn copy(&self) -> TempDir {
        let folder = TempDir::new().unwrap();
        for entry in fs::read_dir(&self.release).unwrap().flatten() {
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        folder
    }
}

fn make(made: &Path) {
    let (program, release) = (made.join("proofmark"), made.join("release"));
    run(Command::new("strip").arg("-o").arg(&program).arg(BINARY));
    for name in ["release/archive.sh", "release/deb.sh", "release/npm.sh"] {
        run(script(name).arg(&program).arg(&release));
    }
    run(&mut wheel_of(&program, &release));
    run(script("release/sums.sh").arg(&release));
}

/// A script of `packaging/`.
pub(crate) fn script(name: &str) -> Command {
    let mut command = Command::new(Path::new(ROOT).join("packaging").join(name));
    command.envs([("DEBFULLNAME", "A & B / Tests"), ("DEBEMAIL", "tests@proofmark.invalid")]);
    command.envs([("PACK_LEVEL", "1"), ("PACK_DEB", "gzip")]);
    command
}

/// What packs a program into a wheel.
pub(crate) fn wheel_of(program: &Path, folder: &Path) -> Command {
    let python = python_with("tomllib", "Python 3.11").unwrap();
    let mut command = Command::new(python);
    command.arg(Path::new(ROOT).join("packaging/wheel.py")).arg(program).arg(folder).env("PACK_LEVEL", "1");
    command
}

pub(crate) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Runs a command, which must succeed, and returns what it prints.
pub(crate) fn run(command: &mut Command) -> String {
    let done = command.output().unwrap();
    assert!(done.status.success(), "{command:?}\n{}", said(&done));
    String::from_utf8(done.stdout).unwrap()
}

/// Runs a command, which must end with this code, and returns its message.
pub(crate) fn ends_with(command: &mut Command, code: i32) -> String {
    let done = command.output().unwrap();
    assert_eq!(done.status.code(), Some(code), "{command:?}\n{}", said(&done));
    said(&done)
}

/// A new user with this program first on the path: writes the examples, and verifies one.
pub(crate) fn first_receipt(program: &Path) {
    let folder = TempDir::new().unwrap();
    let proofmark = |words: &[&str]| {
        let mut command = Command::new(program);
        command.args(words).current_dir(folder.path()).env("PROOFMARK_HOME", folder.path().join("home"));
        run(&mut command)
    };
    proofmark(&["examples"]);
    assert!(proofmark(&["verify", "examples/sort.json"]).contains("4 of 4 checks passed"));
    assert!(proofmark(&["receipt", "list"]).contains("pass"));
}
