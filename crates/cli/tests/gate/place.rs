//! A folder with repositories, a policy and keys.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use proofmark_evidence::suite_digest;
use proofmark_receipt::{
    Draft, Hashes, Object, ReceiptId, Results, Sha256Digest, SigningKey, Timestamp, Verdict, object,
};
use tempfile::TempDir;

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");

/// The specification and the tests that the policy asks for.
const SUITE: &[u8] = b"the tests that count";

/// Asks for a receipt of the suite.
pub(super) const POLICY: &str = "
version: 1
classes: [code_merge]
boundaries:
  - id: tested
    match: {action_class: code_merge}
    require:
      - receipt: {suite: 'SUITE', output: action.args.digest, max_age: 7d}
";

pub(super) fn suite() -> String {
    suite_digest(&Sha256Digest::of(SUITE), &Sha256Digest::of(SUITE)).to_string()
}

/// What is printed to either stream.
pub(super) fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A receipt to make.
pub(super) struct Made<'a> {
    pub(super) output: &'a str,
    pub(super) signer: &'a str,
    pub(super) suite: &'a [u8],
    pub(super) verdict: Verdict,
    pub(super) verified_at: &'a str,
    /// Whether it is changed after it was signed.
    pub(super) forged: bool,
}

impl<'a> Made<'a> {
    /// One that the policy accepts, over this digest.
    pub(super) fn over(output: &'a str) -> Self {
        let (signer, suite) = ("verifier", SUITE);
        Self { output, signer, suite, verdict: Verdict::Pass, verified_at: "", forged: false }
    }
}

pub(super) struct Place {
    folder: TempDir,
}

impl Place {
    /// A place with a repository `work`; none where git is missing.
    pub(super) fn new() -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            proofmark_testing::skip("git", "git is not on PATH");
            return None;
        }
        let place = Self { folder: TempDir::new().unwrap() };
        std::fs::write(place.at("gate.yaml"), POLICY.replace("SUITE", &suite())).unwrap();
        for name in ["verifier", "stranger"] {
            std::fs::write(place.at(&format!("{name}.pub")), key(name).signer().to_string()).unwrap();
        }
        place.git(".", &["init", "-q", "-b", "main", "work"]);
        Some(place)
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path()).env("PROOFMARK_HOME", self.at("home"));
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "a").env(format!("GIT_{who}_EMAIL"), "a@example.org");
        }
        command
    }

    pub(super) fn proofmark(&self, arguments: &[&str]) -> Output {
        self.command(BINARY).args(arguments).output().unwrap()
    }

    /// What a command prints that succeeds.
    pub(super) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.proofmark(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// What the command says that is given these lines.
    pub(super) fn given(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = self.command(BINARY);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // What is too long is not read to its end.
        drop(std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()));
        child.wait_with_output().unwrap()
    }

    pub(super) fn try_git(&self, repository: &str, arguments: &[&str]) -> Output {
        self.command("git").arg("-C").arg(repository).args(arguments).output().unwrap()
    }

    pub(super) fn git(&self, repository: &str, arguments: &[&str]) -> String {
        let output = self.try_git(repository, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    /// Commits a file in `work`.
    pub(super) fn commit(&self, name: &str, content: &str) -> String {
        let path = self.at("work").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self.git("work", &["add", "--", name]);
        self.git("work", &["commit", "-q", "-m", name]);
        self.git("work", &["rev-parse", "HEAD"])
    }

    /// The digest of a tree of `work`, made without Proofmark.
    pub(super) fn digest(&self, tree: &str) -> String {
        let listed = self.command("git").args(["-C", "work", "ls-tree", "-r", "-z", tree]).output().unwrap();
        let text = String::from_utf8(listed.stdout).unwrap();
        let mut lines: Vec<(String, String)> = Vec::new();
        for entry in text.split_terminator('\0') {
            let (about, path) = entry.split_once('\t').unwrap();
            let blob = self.command("git").args(["-C", "work", "cat-file", "blob", &about[12..]]).output().unwrap();
            lines.push((path.to_owned(), Sha256Digest::of(&blob.stdout).bare_hex()));
        }
        lines.sort();
        let text: String = lines.iter().map(|(path, hash)| format!("{hash}  {path}\n")).collect();
        Sha256Digest::of(text.as_bytes()).to_string()
    }

    /// Writes a receipt; the path of its file.
    pub(super) fn receipt(&self, made: &Made<'_>) -> String {
        let name = Sha256Digest::of(format!("{:?}{}{}", made.suite, made.output, made.verdict).as_bytes());
        let path = self.at(&format!("{}.json", &name.bare_hex()[..12]));
        std::fs::write(&path, self.text(made)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// A receipt, on one line.
    pub(super) fn text(&self, made: &Made<'_>) -> String {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let now = Timestamp::from_unix_millis(i64::try_from(now).unwrap());
        let mut id = [0; 16];
        id.copy_from_slice(&Sha256Digest::of(made.output.as_bytes()).as_bytes()[..16]);
        let draft = Draft {
            receipt_id: ReceiptId::from_random_bytes(id),
            verified_at: if made.verified_at.is_empty() { now } else { made.verified_at.parse().unwrap() },
            tier: 1,
            verdict: made.verdict,
            task: None,
            results: results(made.verdict),
            hashes: Hashes {
                specification: Sha256Digest::of(made.suite),
                output: made.output.parse().unwrap(),
                tests: Some(Sha256Digest::of(made.suite)),
            },
            metadata: metadata(),
        };
        let text = draft.sign(&key(made.signer)).unwrap().to_text();
        if made.forged { text.replace("\"tier\":1", "\"tier\":2") } else { text }
    }
}

/// Counts that agree with the verdict.
fn results(verdict: Verdict) -> Results {
    let count = |is: bool| u64::from(is);
    let (passed, failed) =
        (count(verdict != Verdict::Fail), count(matches!(verdict, Verdict::Fail | Verdict::Partial)));
    let errors = count(verdict == Verdict::Error);
    let passed = if errors > 0 { 0 } else { passed };
    Results { total: passed + failed + errors, passed, failed, errors, details: Vec::new() }
}

fn metadata() -> Object {
    object! { "verifier": "a test", "decided": "verifier" }
}

fn key(name: &str) -> SigningKey {
    SigningKey::from_seed(*Sha256Digest::of(name.as_bytes()).as_bytes())
}
