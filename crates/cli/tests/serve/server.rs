//! A real server, and what the tests ask of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use proofmark_testing::Home;

use crate::client::{Client, POLICY};

pub(crate) const PROOFMARK: &str = env!("CARGO_BIN_EXE_proofmark");

/// A server that is killed when it is dropped.
pub(crate) struct Server {
    child: Child,
    client: Client,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start(home: &Home, more: &[&str]) -> Self {
        Self::begin(serve(home, more))
    }

    pub(crate) fn begin(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let log = Arc::new(Mutex::new(String::new()));
        let note = |log: &Mutex<String>, line: &str| log.lock().unwrap().push_str(&format!("{line}\n"));
        let address = said.by_ref().inspect(|line| note(&log, line)).find_map(|line| serves_at(&line));
        let address = address.unwrap_or_else(|| panic!("it did not begin to serve: {}", log.lock().unwrap()));
        let kept = Arc::clone(&log);
        let reader = Some(std::thread::spawn(move || said.for_each(|line| note(&kept, &line))));
        let server = Self { child, client: Client { address }, log, reader };
        // Else a slow self-test would turn the first receipts that tests ask for into jobs.
        server.until(|status| !status.contains("starting"));
        server
    }

    /// Waits until `/readyz` says so.
    pub(crate) fn until(&self, says: impl Fn(&str) -> bool) {
        for _ in 0..6_000 {
            if says(&self.send("GET /readyz HTTP/1.1", "").1) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it is not: {}", self.log.lock().unwrap());
    }

    /// A server that listens at this address, and whose log nobody reads.
    pub(crate) fn of(child: Child, address: &str) -> Self {
        Self { child, client: Client { address: address.to_owned() }, log: Arc::default(), reader: None }
    }

    /// Whether its log has this text now.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.log.lock().unwrap().contains(text)
    }

    /// Waits until its log holds this text.
    pub(crate) fn said(&self, text: &str) {
        for _ in 0..6_000 {
            if self.has_said(text) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it did not say `{text}`: {}", self.log.lock().unwrap());
    }

    /// The most memory it has used, in KiB.
    pub(crate) fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// The variables that other programs of its account see.
    pub(crate) fn variables(&self) -> String {
        String::from_utf8(std::fs::read(format!("/proc/{}/environ", self.child.id())).unwrap()).unwrap()
    }

    /// The CPU time it has used, in user mode and in the kernel (proc_pid_stat(5)); a tick is 10 ms.
    pub(crate) fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let (_, fields) = stat.rsplit_once(") ").unwrap();
        let ticks = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap());
        Duration::from_millis(10 * ticks.sum::<u64>())
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits until it has ended; its exit code and its whole log.
    pub(crate) fn ended(mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        (status.code(), self.log.lock().unwrap().clone())
    }

    /// Waits until it has ended, for at most this long; its exit code.
    pub(crate) fn ended_within(mut self, patience: Duration) -> Option<i32> {
        let begun = std::time::Instant::now();
        while begun.elapsed() < patience {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("it has not ended: {}", self.log.lock().unwrap());
    }
}

impl std::ops::Deref for Server {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The address in the line that says that a server serves, in either format of the log.
pub(crate) fn serves_at(line: &str) -> Option<String> {
    let (_, address) = line.split_once("serving on http://")?;
    Some(address.split([' ', '"']).next().unwrap_or_default().to_owned())
}

/// The command that serves.
pub(crate) fn serve(home: &Home, more: &[&str]) -> Command {
    serve_by(Path::new(POLICY), home, more)
}

/// The command that serves and decides by this policy.
pub(crate) fn serve_by(policy: &Path, home: &Home, more: &[&str]) -> Command {
    let mut command = Command::new(PROOFMARK);
    command.args(["serve", "--listen", "127.0.0.1:0", "--policy"]).arg(policy).args(more).envs(home.variables());
    command
}

/// A new API key, which holds the role `reviewer`, and its entry for the file of keys.
pub(crate) fn new_key(id: &str, role: &str, tenant: &str) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let mut add = Command::new(PROOFMARK);
    add.args(["api-key", "add", "--api-keys"]).arg(&file).args([id, role, "--tenant", tenant, "--holds", "reviewer"]);
    let added = add.output().unwrap();
    assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
    let text = std::fs::read_to_string(&file).unwrap();
    let (_, after) = text.split_once('[').unwrap();
    let (entry, _) = after.rsplit_once(']').unwrap();
    (String::from_utf8(added.stdout).unwrap().trim().to_owned(), entry.to_owned())
}

/// Writes the file of keys.
pub(crate) fn keys_file(home: &Path, entries: &[&str]) -> String {
    let file = home.join("keys.json");
    std::fs::write(&file, format!("{{\"keys\": [{}]}}", entries.join(","))).unwrap();
    file.to_str().unwrap().to_owned()
}
