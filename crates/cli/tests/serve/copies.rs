//! Copies of the transparency log in a bucket and in a folder, which servers keep.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use proofmark_receipt::Json;
use proofmark_testing::{Home, has_module, python_with};
use tempfile::TempDir;

use crate::client::{Client, DECISIONS, NOTE, text};
use crate::log::{Witness, begin, done, file, out, run, until};
use crate::server::{Server, serve};

/// What `bucket.py` knows.
const KEY: &str = "AKIDEXAMPLE";
const SECRET: &str = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const TOKEN: &str = "session/token+==";

/// A store that speaks S3, with a bucket `logs` that everybody may read.
struct Bucket {
    child: Child,
    files: Client,
    folder: TempDir,
}

impl Bucket {
    fn start() -> Option<Self> {
        let python = python_with("moto", "moto[s3]==5.2.5")?;
        if !has_module(&python, "flask_cors") {
            proofmark_testing::skip("python", "moto needs flask-cors==6.0.5 to serve");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        for name in ["mode", "journal"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let mut child = Command::new(python)
            .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/serve/bucket.py"))
            .args([folder.path().join("mode"), folder.path().join("journal")])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let port: u16 = port.trim().parse().unwrap();
        Some(Self { child, files: Client { address: format!("127.0.0.1:{port}") }, folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// How it answers from here on: as it should where this is empty.
    fn set(&self, mode: &str) {
        let draft = self.path("draft");
        std::fs::write(&draft, mode).unwrap();
        std::fs::rename(draft, self.path("mode")).unwrap();
    }

    /// The names of what was written, in this order.
    fn written(&self) -> Vec<String> {
        std::fs::read_to_string(self.path("journal")).unwrap().lines().map(str::to_owned).collect()
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.files.send(&format!("GET {path} HTTP/1.1"), "")
    }

    /// The command that serves and copies the log to this folder of the bucket.
    fn serve(&self, home: &Home, place: &str, more: &[&str]) -> Command {
        let mut command = serve(home, &[&["--log", "--log-tiles", place][..], more].concat());
        command
            .env("AWS_ACCESS_KEY_ID", KEY)
            .env("AWS_SECRET_ACCESS_KEY", SECRET)
            .env("AWS_SESSION_TOKEN", TOKEN)
            .env("AWS_REGION", "eu-central-1")
            .env("AWS_ENDPOINT_URL_S3", self.files.base())
            .env_remove("AWS_ENDPOINT_URL");
        command
    }

    /// Waits until the bucket has a checkpoint of so many entries, with so many lines of signatures.
    fn until(&self, folder: &str, entries: usize, lines: usize) -> String {
        let path = format!("/logs/{folder}checkpoint");
        for _ in 0..6_000 {
            let (status, note) = self.get(&path);
            let size = note.lines().nth(1).and_then(|size| size.parse().ok());
            if status == 200 && size == Some(entries) && note.matches('\u{2014}').count() == lines {
                return note;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("{path}: {:?}", self.get(&path));
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Decides on so many actions; the ids of the decisions.
fn decide(server: &Server, count: usize) -> Vec<String> {
    let decide = |_| {
        let (status, decision) = server.send(DECISIONS, NOTE);
        assert_eq!(status, 200, "{decision}");
        text(&Json::parse(decision.as_bytes()).unwrap(), "decision_id")
    };
    (0..count).map(decide).collect()
}

fn policy(home: &Home, key: &str) -> String {
    file(home, "policy.txt", &format!("log {key}\nquorum none\n")).to_str().unwrap().to_owned()
}

#[test]
fn a_bucket_has_the_files_of_the_log_before_its_checkpoint() {
    let Some(bucket) = Bucket::start() else { return };
    let (home, watching, elsewhere) = (Home::new(), Home::new(), Home::new());
    let key = begin(&home);
    let logs = policy(&elsewhere, &key);
    let witness = Witness::start(watching.path(), 1, logs.as_ref());
    let witnesses = format!("log {key}\nwitness w1 {} {}\nquorum w1\n", witness.key, witness.url);
    let witnesses = file(&home, "witnesses.txt", &witnesses);
    let more = ["--log-policy", witnesses.to_str().unwrap()];
    let server = Server::begin(bucket.serve(&home, "s3://logs/public/log", &more));
    let variables = server.variables();
    assert!(!variables.contains(SECRET) && !variables.contains(TOKEN), "{variables}");
    // The cosignature follows the checkpoint there, too.
    bucket.until("public/log/", 0, 2);
    decide(&server, 3);
    let note = bucket.until("public/log/", 3, 2);
    until(&server, "/log/checkpoint", |_, shown| shown == note);

    // Others read it there, and so do witnesses and mirrors.
    let base = format!("{}/logs/public/log", bucket.files.base());
    let copy = elsewhere.path().join("copy");
    done(elsewhere.path(), &["log", "fsck", &base, "--log-policy", &logs]);
    done(elsewhere.path(), &["log", "mirror", copy.to_str().unwrap(), "--from", &base, "--log-policy", &logs]);

    // Nothing is written twice but the checkpoint, which comes after the files that it covers.
    drop(server);
    let server = Server::begin(bucket.serve(&home, "s3://logs/public/log/", &more));
    decide(&server, 1);
    bucket.until("public/log/", 4, 2);
    let written = bucket.written();
    let place = |name: &str| written.iter().position(|one| *one == format!("/logs/public/log/{name}"));
    for name in ["tile/0/000.p/4", "tile/entries/000.p/4"] {
        let checkpoint = written.iter().rposition(|one| one.ends_with("/checkpoint"));
        assert!(place(name).is_some() && place(name) < checkpoint, "{written:?}");
    }
    let mut tiles: Vec<_> = written.iter().filter(|name| name.contains("/tile/")).collect();
    let all = tiles.len();
    tiles.sort();
    tiles.dedup();
    assert_eq!(tiles.len(), all, "{written:?}");
    done(elsewhere.path(), &["log", "fsck", &base, "--log-policy", &logs]);
    done(elsewhere.path(), &["log", "mirror", copy.to_str().unwrap(), "--from", &base, "--log-policy", &logs]);
}

#[test]
fn a_store_that_fails_delays_checkpoints_and_loses_nothing() {
    let Some(bucket) = Bucket::start() else { return };
    let home = Home::new();
    let key = begin(&home);
    let logs = policy(&home, &key);
    let server = Server::begin(bucket.serve(&home, "s3://logs", &[]));
    decide(&server, 1);
    bucket.until("", 1, 1);
    let mut entries = 1;
    for (mode, said) in [("down", "503 Service Unavailable (SlowDown)"), ("redirect", "307"), ("huge", "length limit")]
    {
        bucket.set(mode);
        let ids = decide(&server, 2);
        entries += 2;
        server.until(|status| status.contains("s3://logs") && status.contains(said));
        let (_, metrics) = server.send("GET /metrics HTTP/1.1", "");
        for gauge in ["proofmark_log_unsigned_entries 2", "proofmark_log_uncopied_entries 2"] {
            assert!(metrics.lines().any(|line| line == gauge), "{metrics}");
        }
        assert!(metrics.contains("proofmark_log_copy_failures_total"), "{metrics}");
        // Nobody sees a checkpoint whose files are not there, and what was decided has no proof yet.
        let (_, note) = server.send("GET /log/checkpoint HTTP/1.1", "");
        assert_eq!(note.lines().nth(1).unwrap(), (entries - 2).to_string());
        assert_eq!(server.send(&format!("GET /v1/decisions/{}/proof HTTP/1.1", ids[0]), "").0, 404);
        assert_eq!(server.get("/healthz", "").0, 200);
        bucket.set("");
        bucket.until("", entries, 1);
        server.until(|status| !status.contains("\"log\":"));
        for id in ids {
            until(&server, &format!("/v1/decisions/{id}/proof"), |status, _| status == 200);
        }
        done(home.path(), &["log", "fsck", &format!("{}/logs", bucket.files.base()), "--log-policy", &logs]);
    }
    // A server that ends meanwhile has signed nothing that is not there; the next one goes on.
    bucket.set("down");
    decide(&server, 2);
    server.until(|status| status.contains("SlowDown"));
    server.signal("-TERM");
    let (code, said) = server.ended();
    assert_eq!(code, Some(0), "{said}");
    for secret in [KEY, SECRET, TOKEN, "X-Amz"] {
        assert!(!said.contains(secret), "{said}");
    }
    // Also with a store that does not know conditions.
    bucket.set("old");
    let server = Server::begin(bucket.serve(&home, "s3://logs", &[]));
    bucket.until("", entries + 2, 1);
    drop(server);
    let store = home.store();
    done(home.path(), &["log", "fsck", "--store", store.to_str().unwrap()]);
}

#[test]
fn a_bucket_that_shows_what_was_not_signed_is_not_written_to() {
    let Some(bucket) = Bucket::start() else { return };
    let (home, other) = (Home::new(), Home::new());
    begin(&home);
    begin(&other);
    let server = Server::begin(bucket.serve(&home, "s3://logs", &[]));
    decide(&server, 2);
    let note = bucket.until("", 2, 1);
    drop(server);
    // Another log, by another key.
    let server = Server::begin(bucket.serve(&other, "s3://logs", &[]));
    server.until(|status| status.contains("no key of this log has signed"));
    assert_eq!(server.send("GET /log/checkpoint HTTP/1.1", "").0, 200, "what `log init` signed");
    decide(&server, 1);
    drop(server);
    // The same one, whose store and home have forgotten it: the copy shows that they were rolled back.
    for table in ["log_state", "log_tiles", "log_entries"] {
        home.sql(&format!("DELETE FROM {table}"));
    }
    std::fs::remove_file(home.path().join("log/checkpoint")).unwrap();
    let server = Server::begin(bucket.serve(&home, "s3://logs", &[]));
    server.until(|status| status.contains("rolled back"));
    drop(server);
    // A key that the store does not know.
    let mut wrong = bucket.serve(&other, "s3://logs/other", &[]);
    wrong.env("AWS_SECRET_ACCESS_KEY", "another-secret");
    let server = Server::begin(wrong);
    server.until(|status| status.contains("403 Forbidden (SignatureDoesNotMatch)") && !status.contains("secret"));
    drop(server);
    assert_eq!(bucket.get("/logs/checkpoint"), (200, note));
    assert_eq!(bucket.get("/logs/other/checkpoint").0, 404);
}

#[test]
fn a_place_that_cannot_be_used_is_refused_at_the_start() {
    let home = Home::new();
    begin(&home);
    let check = |place: &str, variables: &[(&str, &str)]| {
        let mut command = serve(&home, &["--log", "--log-tiles", place, "--check"]);
        command.env("NO_COLOR", "1");
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"] {
            command.env_remove(name);
        }
        let output = command.envs(variables.iter().copied()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let keys = [("AWS_ACCESS_KEY_ID", KEY), ("AWS_SECRET_ACCESS_KEY", SECRET)];
    let (code, said) = check("s3://logs", &keys);
    assert_eq!(code, Some(0), "{said}");
    let plain = [&keys[..], &[("AWS_ENDPOINT_URL", "http://store.example")]].concat();
    for (place, variables, words) in [
        ("s3://logs", &[][..], "AWS_ACCESS_KEY_ID is not set"),
        ("https://logs", &keys[..], "s3://BUCKET"),
        ("s3://logs/../other", &keys[..], "s3://BUCKET"),
        ("s3://logs", &plain[..], "https://"),
    ] {
        let (code, said) = check(place, variables);
        assert!(code == Some(2) && said.contains(words) && !said.contains(SECRET), "{place}: {code:?} {said}");
    }
}

#[test]
fn a_folder_has_the_files_of_the_log_too() {
    let home = Home::new();
    let key = begin(&home);
    let logs = policy(&home, &key);
    let public = home.path().join("public");
    let public = public.to_str().unwrap();
    let server = Server::start(&home, &["--log", "--log-tiles", public]);
    decide(&server, 2);
    let size = || run(home.path(), &["log", "fsck", public, "--log-policy", &logs, "--json"]);
    let has_all = || out(&size()).contains(r#""sound":true,"entries":2"#);
    assert!((0..6_000).any(|_| has_all() || {
        std::thread::sleep(std::time::Duration::from_millis(10));
        false
    }));
    // What somebody else wrote there stays, and is said.
    std::fs::write(home.path().join("public/tile/0/000.p/3"), "else").unwrap();
    decide(&server, 1);
    server.until(|status| status.contains("another file of this name is there"));
    std::fs::remove_file(home.path().join("public/tile/0/000.p/3")).unwrap();
    server.until(|status| !status.contains("\"log\":"));
}
