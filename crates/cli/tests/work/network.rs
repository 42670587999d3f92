//! A worker, and a server with its client, that cannot reach the database for longer than a lease lasts.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_testing::Network;
use proofmark_testing::postgres::{Cluster, Proxy, psql};

use crate::client::{GOOD, POLICY, job, once};
use crate::fleet::{Fleet, PATIENCE, Worker, slow};
use crate::server::{PROOFMARK, serves_at};

/// No request waits longer for its answer, on a machine under load.
const MAX_WAIT: Duration = Duration::from_secs(40);

/// Never answers, and works for long enough to be found.
const ENDLESS: &str =
    "import time\ndef f(x):\n    while time.process_time() < 1: pass\n    while True: time.sleep(60)\n";

/// Asks for decisions, one after another, and says how each was answered.
const ASKS: &str = r#"
import http.client, itertools, json, sys, time
host, port = sys.argv[1].split(":")
for n in itertools.count():
    begun = time.monotonic()
    connection = http.client.HTTPConnection(host, int(port), timeout=120)
    action = {"tool": "add_note", "class": "record_mutation", "args": {"text": str(n)}}
    connection.request("POST", "/v1/decisions", json.dumps({"action": action}), {"content-type": "application/json"})
    response = connection.getresponse()
    response.read()
    print(response.status, round(1000 * (time.monotonic() - begun)), response.getheader("retry-after"), flush=True)
    time.sleep(0.02)
"#;

/// What is cut.
enum Cable {
    /// Loses what is sent, so that timeouts of TCP expire.
    Network(Network),
    /// Holds what is sent: connections stay.
    Proxy(Proxy),
}

impl Cable {
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        match self {
            Self::Network(network) => network.command(program),
            Self::Proxy(_) => Command::new(program),
        }
    }

    fn url(&self, url: &str) -> String {
        match self {
            Self::Network(network) => Cluster::url_in(network, url),
            Self::Proxy(proxy) => proxy.url(),
        }
    }

    fn cut(&self) {
        match self {
            Self::Network(network) => network.cut(),
            Self::Proxy(proxy) => proxy.cut(),
        }
    }

    fn heal(&self) {
        match self {
            Self::Network(network) => network.heal(),
            Self::Proxy(proxy) => proxy.heal(),
        }
    }
}

/// A client on the far side of the cable.
struct Asker {
    process: Child,
    answers: Receiver<(u16, Duration)>,
}

impl Asker {
    fn begin(mut python: Command, address: &str) -> Self {
        let mut process = python.args(["-c", ASKS, address]).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (sender, answers) = mpsc::channel();
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let parts: Vec<&str> = line.split(' ').collect();
                let [status, took, again] = parts[..] else { panic!("{line}") };
                assert!(status == "200" || (status == "503" && again != "None"), "{line}");
                let _over = sender.send((status.parse().unwrap(), Duration::from_millis(took.parse().unwrap())));
            }
        });
        Self { process, answers }
    }

    /// Its answers up to the next decision, and so many decisions more.
    fn decisions(&self, count: usize) -> Vec<(u16, Duration)> {
        let mut seen = Vec::new();
        while seen.iter().filter(|(status, _)| *status == 200).count() < count {
            seen.push(self.answers.recv_timeout(PATIENCE).unwrap());
        }
        seen
    }

    fn end(mut self) -> Vec<(u16, Duration)> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.answers.iter().collect()
    }
}

#[test]
fn a_worker_behind_a_dead_network_stops_before_another_one_begins() {
    let Some(network) = Network::start() else { return };
    let Some(cluster) = Cluster::start() else { return };
    cluster.join(&network);
    let url = cluster.create_database();
    is_cut_off(&url, &Cable::Network(network));
}

#[test]
fn a_worker_whose_connections_are_silent_stops_before_another_one_begins() {
    let Some(database) = proofmark_testing::postgres::database() else { return };
    let proxy = Proxy::to(&database.url());
    is_cut_off(&database.url(), &Cable::Proxy(proxy));
}

fn is_cut_off(url: &str, cable: &Cable) {
    let fleet = Fleet::at(url.to_owned());
    let front = fleet.front(&[]);
    let (cut_off, _server, asker) = far_side(&fleet, cable);
    let mut answers = asker.decisions(10);
    let long = job(&front, ENDLESS);
    // It ends while it cannot be stored.
    let short = job(&front, &slow(6));
    [&long, &short].iter().for_each(|id| cut_off.said(id));
    let submission = busiest(cut_off.id());

    cable.cut();
    let second = fleet.admitted(&["--jobs", "2"]);
    runs_once(url, &long, &submission);
    // By itself, while it reaches nobody. The log may be behind.
    let is_left = |line: &&str| line.contains("left to another process") && line.contains(&long);
    let left = || cut_off.log().lines().filter(is_left).count();
    let begun = Instant::now();
    while left() == 0 && begun.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(left(), 1, "{}", cut_off.log());

    cable.heal();
    answers.extend(asker.decisions(10));
    let (status, cancelled) = front.send(&format!("DELETE /v1/jobs/{long} HTTP/1.1"), "");
    assert_eq!(status, 200, "{cancelled}");
    once(&front, &short, "done");
    assert_eq!(fleet.receipts(), 1);
    // The first one goes on.
    second.signal("-TERM");
    assert_eq!(second.ended().0.code(), Some(0));
    once(&front, &job(&front, GOOD), "done");
    assert_eq!(fleet.receipts(), 2);

    answers.extend(asker.end());
    let longest = answers.iter().map(|(_, took)| *took).max().unwrap();
    assert!(longest < MAX_WAIT, "an answer took {longest:?}");
    let decided = answers.iter().filter(|(status, _)| *status == 200).count();
    let stored: usize = psql(url, "SELECT count(*) FROM decisions").parse().unwrap();
    // Of those that failed some may be stored, and of the last one the answer was not read.
    assert!((decided..=answers.len() + 1).contains(&stored), "{stored} of {decided} decisions");
}

/// A worker, and a server with its client, behind the cable.
fn far_side(fleet: &Fleet, cable: &Cable) -> (Worker, Worker, Asker) {
    let store = cable.url(&fleet.store);
    let begin = |arguments: &[&str]| {
        let mut command = cable.command(PROOFMARK);
        command.args(arguments).args(["--store", &store]).env("PROOFMARK_HOME", fleet.home.path());
        Worker::spawn(command)
    };
    let worker = begin(&["work", "--jobs", "2"]);
    worker.said("jobs are claimed");
    let server = begin(&["serve", "--no-verify", "--listen", "127.0.0.1:0", "--policy", POLICY]);
    server.said("serving on http://");
    let address = server.log().lines().find_map(serves_at).unwrap();
    let asker = Asker::begin(cable.command("python3"), &address);
    (worker, server, asker)
}

/// Waits until another worker has claimed the job; by then the submission does not run any more.
fn runs_once(url: &str, job: &str, submission: &(u32, u64)) {
    let attempts = format!("SELECT attempt FROM jobs WHERE job_id = '\\x{}'", job.replace('-', ""));
    let begun = Instant::now();
    loop {
        let attempt = psql(url, &attempts);
        assert!(attempt == "1" || !exists(submission), "two workers run the job");
        if attempt == "2" {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "no other worker has claimed it");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The process of a submission that works: the one below `ancestor` that uses the most processor time, with when it began.
fn busiest(ancestor: u32) -> (u32, u64) {
    let begun = Instant::now();
    loop {
        let found = below(ancestor).into_iter().filter_map(|pid| Some((pid, ticks(pid)?)));
        // Half a second of work: nothing else below a worker does as much once it runs a job.
        if let Some((pid, (_, began))) = found.filter(|(_, (used, _))| *used > 50).max_by_key(|(_, (used, _))| *used) {
            return (pid, began);
        }
        assert!(begun.elapsed() < PATIENCE, "no submission works");
        thread::sleep(Duration::from_millis(50));
    }
}

fn exists((pid, began): &(u32, u64)) -> bool {
    ticks(*pid).is_some_and(|(_, at)| at == *began)
}

/// How much processor time a process has used, and when it began (proc_pid_stat(5)); none where it has ended.
fn ticks(pid: u32) -> Option<(u64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    (fields.first() != Some(&"Z")).then_some((number(11)? + number(12)?, number(19)?))
}

fn below(ancestor: u32) -> BTreeSet<u32> {
    let parent = |pid: &u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
    };
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_below = |pid: &u32| std::iter::successors(parent(pid), parent).any(|one| one == ancestor);
    pids.filter(is_below).collect()
}
