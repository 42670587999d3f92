//! Servers and workers that share a store.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use proofmark_store::{Filter, Place as StorePlace, Store};
use proofmark_testing::Home;

use crate::server::{PROOFMARK, Server, serve};

/// Longer than anything here may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Answers after so many seconds.
pub(crate) fn slow(seconds: u32) -> String {
    format!("import time\ndef f(x):\n    time.sleep({seconds})\n    return x + 1\n")
}

/// Never answers.
pub(crate) const ENDLESS: &str = "import time\ndef f(x):\n    while True: time.sleep(60)\n";

/// A request that runs nothing.
pub(crate) fn quick(text: &str) -> String {
    format!(
        r#"{{"output": {{"content": "{text}"}}, "verification": {{"kind": "schema_check",
            "checks": [{{"name": "short", "constraint": "length <= 10"}}]}}}}"#
    )
}

/// A home, and a store that its servers and workers share.
pub(crate) struct Fleet {
    pub(crate) home: Home,
    /// What `--store` is given: a file, or the URL of a database.
    pub(crate) store: String,
}

impl Fleet {
    pub(crate) fn in_file() -> Self {
        Self::of(Home::in_file())
    }

    /// None after a skip.
    pub(crate) fn in_postgres() -> Option<Self> {
        Home::in_postgres().map(Self::of)
    }

    fn of(home: Home) -> Self {
        let store = home.store().into_string().unwrap();
        Self { home, store }
    }

    /// A store that there is, or that the first server makes.
    pub(crate) fn at(store: String) -> Self {
        Self { home: Home::in_file(), store }
    }

    pub(crate) fn is_database(&self) -> bool {
        self.store.starts_with("postgres:")
    }

    /// A server that leaves verifications to workers.
    pub(crate) fn front(&self, more: &[&str]) -> Server {
        Server::start(&self.home, &[&["--no-verify", "--store", &self.store], more].concat())
    }

    /// A worker that signs with the key of the servers.
    pub(crate) fn worker(&self, more: &[&str]) -> Worker {
        self.worker_of(self.home.path(), more)
    }

    /// A worker that signs with the key of this home.
    pub(crate) fn worker_of(&self, home: &Path, more: &[&str]) -> Worker {
        let mut command = Command::new(PROOFMARK);
        command.args(["work", "--store", &self.store]).args(more).env("PROOFMARK_HOME", home);
        Worker::begin(command)
    }

    /// A worker that was told that its receipts are taken.
    pub(crate) fn admitted(&self, more: &[&str]) -> Worker {
        let worker = self.worker(more);
        worker.said("jobs are claimed");
        worker
    }

    pub(crate) fn opened(&self) -> Store {
        Store::open_existing(StorePlace::parse(&self.store)).unwrap()
    }

    /// How many receipts there are.
    pub(crate) fn receipts(&self) -> usize {
        let store = self.opened();
        let page = store.all_tenants_receipts(&Filter { limit: 1_000, ..Filter::default() }).unwrap();
        page.receipts.len()
    }

    /// Changes the database as time would.
    pub(crate) fn sql(&self, statement: &str) {
        self.home.sql(statement);
    }

    /// The command, for a person at this home.
    pub(crate) fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let done = Command::new(PROOFMARK).args(arguments).env("PROOFMARK_HOME", self.home.path()).output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8(said).unwrap())
    }

    pub(crate) fn file(&self, name: &str, content: &str) -> String {
        let path = self.home.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The same arguments as a server of this home has, without a choice of who verifies.
    pub(crate) fn plain(&self) -> Command {
        serve(&self.home, &["--store", &self.store])
    }
}

/// A worker that is killed when it is dropped.
pub(crate) struct Worker {
    child: Child,
    log: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Worker {
    /// A worker, by a command that runs one.
    pub(crate) fn begin(command: Command) -> Self {
        let worker = Self::spawn(command);
        worker.said("runs python");
        worker
    }

    /// A process with a log, by any command.
    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&log);
        let note = move |line: std::io::Result<String>| kept.lock().unwrap().push_str(&format!("{}\n", line.unwrap()));
        let reader = Some(std::thread::spawn(move || lines.for_each(note)));
        Self { child, log, reader }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    /// Waits until its log holds this text.
    pub(crate) fn said(&self, text: &str) {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if self.log().contains(text) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it did not say `{text}`: {}", self.log());
    }

    /// Where its figures are.
    pub(crate) fn address(&self) -> String {
        self.said("figures on http://");
        let log = self.log();
        let (_, rest) = log.split_once("figures on http://").unwrap();
        rest.split_once("/metrics").unwrap().0.to_owned()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until it has ended; how, and its whole log.
    pub(crate) fn ended(mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                self.reader.take().unwrap().join().unwrap();
                return (status, self.log());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("it has not ended: {}", self.log());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
