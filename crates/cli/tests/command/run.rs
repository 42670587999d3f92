//! Runs the command in a home of its own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use proofmark_receipt::Receipt;
use proofmark_testing::Home;
use tempfile::TempDir;

/// A folder with a home in it.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) home: Home,
}

/// What a run came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Place {
    pub(crate) fn new() -> Place {
        let folder = TempDir::new().unwrap();
        let home = Home::at(folder.path().join("home"));
        Place { folder, home }
    }

    /// One whose store is a file, whatever the tests run on.
    pub(crate) fn in_file() -> Place {
        let place = Place::new();
        Place { home: Home::in_file_at(place.path("home")), ..place }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and returns its path as an argument.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        self.run_with(arguments, &[], b"")
    }

    /// What a command prints that has to succeed.
    pub(crate) fn bytes(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.output(arguments, &[], b"");
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    pub(crate) fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)], stdin: &[u8]) -> Done {
        let output = self.output(arguments, environment, stdin);
        Done {
            code: output.status.code().expect("the command ends by itself"),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn output(&self, arguments: &[&str], environment: &[(&str, &str)], stdin: &[u8]) -> Output {
        let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(arguments)
            .envs(self.home.variables())
            .env_remove("PROOFMARK_PASSPHRASE")
            .env_remove("PROOFMARK_POLICY")
            .envs(environment.iter().copied())
            .current_dir(self.folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A command that reads no standard input may be gone already.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        child.wait_with_output().unwrap()
    }

    /// Verifies a request and returns its receipt.
    pub(crate) fn receipt(&self, request: &str, options: &[&str]) -> Receipt {
        let file = self.file("request.json", request);
        let done = self.run(&[&["verify", &file, "--json"], options].concat());
        Receipt::parse(done.stdout.trim().as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"))
    }
}

/// A request whose one test calls `f(2)` and expects 4.
pub(crate) fn request(source: &str) -> String {
    let mut content = proofmark_receipt::Object::new();
    content.insert("content", source);
    let output = proofmark_receipt::Json::from(content).to_text();
    format!(
        r#"{{"task":{{"task_id":"double"}},"output":{output},"verification":{{"kind":"test_suite","language":"python",
        "entrypoint":"f","tests":[{{"name":"two","input":[2],"expected_output":4}}]}}}}"#
    )
}

pub(crate) const RIGHT: &str = "def f(x):\n    return x * 2\n";
pub(crate) const WRONG: &str = "def f(x):\n    return x * 3\n";

/// The file of the project with this name.
pub(crate) fn project_file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    path.to_str().unwrap().to_owned()
}

/// The `PATH` of a Python with pytest, as `cargo xtask test` provides it; `None` after a skip.
pub(crate) fn pytest() -> Option<String> {
    if std::env::var_os("PROOFMARK_PYTHON").is_none() {
        proofmark_testing::skip("python", "PROOFMARK_PYTHON names no Python with pytest");
        return None;
    }
    let python = proofmark_testing::python_with("pytest", "pytest")?;
    let folder = python.parent().unwrap().to_str().unwrap();
    Some(format!("{folder}:{}", std::env::var("PATH").unwrap_or_default()))
}
