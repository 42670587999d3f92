//! Hostile programs: each one attacks, and declares in its header what the
//! sandbox must answer. After each, nothing of it may be left.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop anywhere, and shares its helpers with others"
)]

#[path = "hostile/corpus.rs"]
mod corpus;
#[path = "support/leftovers.rs"]
mod leftovers;
#[path = "support/levels.rs"]
mod levels;

use std::io::ErrorKind;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use corpus::{Hostile, fits, read_all, show};
use leftovers::HostState;
use proofmark_checks::{Job, Language, Outcome, Program};
use proofmark_sandbox::{Host, Level, Worker};

/// So long after a program's deadlines the supervisor itself was held up.
const HELD_UP: Duration = Duration::from_secs(3);

/// What is left over is looked for in the whole process.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn level_a_holds_every_hostile_program_and_nothing_of_it_is_left() {
    hold(Level::A);
}

#[test]
fn level_b_holds_every_hostile_program_and_nothing_of_it_is_left() {
    hold(Level::B);
}

#[test]
fn level_c_holds_every_hostile_program_and_nothing_of_it_is_left() {
    hold(Level::C);
}

fn hold(level: Level) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    if !levels::has(level) {
        return;
    }
    leftovers::adopt_orphans();
    let folder = leftovers::own_temporary_folder();
    let baits = Baits::lay(&folder);
    let start = HostState::now(&folder);
    let mut failures = attack(level, &baits, &folder);
    let left = HostState::left_at_last(&folder, &start);
    failures.extend(left.into_iter().map(|left| format!("{level}: at the end {left}")));
    drop(baits);
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Runs every program at one level; what went wrong.
fn attack(level: Level, baits: &Baits, folder: &Path) -> Vec<String> {
    let host = Host::probe(Some(level));
    let hostile = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hostile");
    let programs = read_all(&hostile, level, &|text| baits.fill(text));
    assert!(programs.len() >= 60, "only {} programs", programs.len());
    let installed: Vec<Language> = host.runtimes().iter().map(|runtime| runtime.language).collect();
    for language in Language::ALL.into_iter().filter(|language| !installed.contains(language)) {
        proofmark_testing::skip(language.as_str(), &format!("{language} is not installed"));
    }
    let wanted = std::env::var("HOSTILE").unwrap_or_default();
    let chosen: Vec<&Hostile> = programs
        .iter()
        .filter(|program| installed.contains(&program.job.language) && program.name.contains(&wanted))
        .collect();
    std::thread::scope(|scope| {
        let attackers: [_; WORKERS] = std::array::from_fn(|_| Attacker::start(scope, &host, level, &programs));
        attackers.iter().for_each(|attacker| assert!(attacker.wrong.recv().unwrap().is_empty()));
        let mut before = HostState::now(folder);
        let mut failures = Vec::new();
        // What is left can be told from what runs only when nothing runs.
        for beside in chosen.chunks(WORKERS) {
            let mut wrong = together(&attackers, beside);
            let now = HostState::now(folder);
            let left = now.left_since(&before);
            if !left.is_empty() {
                // Reported once, not for every program after.
                before = now;
            }
            let names: Vec<&str> = beside.iter().map(|program| program.name.as_str()).collect();
            let of_all = left.into_iter().map(|left| format!("left {left}")).chain(baits.bitten());
            wrong.extend(of_all.map(|text| format!("{}: {text}", names.join(" or "))));
            failures.extend(wrong.into_iter().map(|text| format!("{level} {text}")));
        }
        failures
    })
}

/// So many programs run beside each other, each in a worker of its own.
const WORKERS: usize = 2;

/// A worker, which stays on its thread.
struct Attacker<'p> {
    programs: Sender<&'p Hostile>,
    wrong: Receiver<Vec<String>>,
}

impl<'p> Attacker<'p> {
    /// Starts a worker, which first runs what is opened or started once, and then says that nothing is wrong.
    fn start<'s>(scope: &'s Scope<'s, '_>, host: &'s Host, level: Level, all: &'s [Hostile]) -> Attacker<'p>
    where
        'p: 's,
    {
        let (programs, ordered) = mpsc::channel::<&'p Hostile>();
        let (found, wrong) = mpsc::channel();
        scope.spawn(move || {
            let mut worker = host.worker();
            warm_up(&mut worker, all);
            found.send(Vec::new()).unwrap();
            for program in ordered {
                found.send(run(&mut worker, program, level)).unwrap();
            }
        });
        Attacker { programs, wrong }
    }
}

/// Runs programs at the same time, and waits for all; what was wrong with each.
fn together<'p>(attackers: &[Attacker<'p>], programs: &[&'p Hostile]) -> Vec<String> {
    let pairs = || attackers.iter().zip(programs);
    pairs().for_each(|(attacker, program)| attacker.programs.send(program).unwrap());
    pairs().flat_map(|(attacker, _)| attacker.wrong.recv().unwrap()).collect()
}

fn run(worker: &mut Worker, program: &Hostile, level: Level) -> Vec<String> {
    let started = Instant::now();
    let outcome = worker.run(&program.job);
    let elapsed = started.elapsed();
    let mut wrong = judge(program, &outcome);
    if elapsed > program.patience(&outcome.cases) + HELD_UP {
        wrong.push(format!("held the supervisor up for {elapsed:?}"));
    }
    let mark = if wrong.is_empty() { "" } else { "WRONG" };
    println!("{level} {:<40} {:>6} ms {mark}", program.name, elapsed.as_millis());
    wrong.into_iter().map(|text| format!("{}: {text}", program.name)).collect()
}

/// A first case of each kind, for what is opened or started once.
fn warm_up(worker: &mut Worker, programs: &[Hostile]) {
    for program in programs.iter().filter(|program| program.name.ends_with("/clean")) {
        // As many cases as make an interpreter warm that must be tried out first.
        worker.run(&Job { cases: vec![program.job.cases[0].clone(); 4], ..program.job.clone() });
        if matches!(program.job.language, Language::JavaScript | Language::TypeScript) {
            // Without an answer, it is run again by a fresh interpreter.
            let leaves = Program::Call { source: "process.exit()".to_owned(), entrypoint: "f".to_owned() };
            worker.run(&Job { program: leaves, ..program.job.clone() });
        }
        worker.run(&Job { program: Program::Stdio { source: String::new() }, ..program.job.clone() });
    }
}

fn judge(program: &Hostile, outcome: &Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    for (index, case) in outcome.cases.iter().enumerate() {
        let declared = program.expected(index);
        if !fits(&case.end, declared) {
            wrong.push(format!("case {index} ended `{}` and not `{declared}`", show(&case.end)));
        }
    }
    wrong
}

/// What the programs would like to reach on the host.
struct Baits {
    tcp: TcpListener,
    udp: UdpSocket,
    unix: UnixListener,
    datagrams: UnixDatagram,
    hidden: UnixListener,
    hidden_name: String,
    folder: PathBuf,
}

const SECRET: &str = "the-secret-of-the-host";

impl Baits {
    fn lay(folder: &Path) -> Baits {
        std::fs::write(folder.join("secret"), SECRET).unwrap();
        // SAFETY: called before any other thread of the test reads the environment.
        #[expect(unsafe_code, reason = "a variable of the environment is the bait")]
        unsafe {
            std::env::set_var("PROOFMARK_HOSTILE", SECRET);
        }
        let hidden_name = format!("proofmark-hostile-{}", std::process::id());
        let baits = Baits {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            unix: UnixListener::bind(folder.join("stream")).unwrap(),
            datagrams: UnixDatagram::bind(folder.join("datagrams")).unwrap(),
            hidden: UnixListener::bind_addr(&SocketAddr::from_abstract_name(&hidden_name).unwrap()).unwrap(),
            hidden_name,
            folder: folder.to_owned(),
        };
        for open in ["stream", "datagrams", "secret"] {
            std::fs::set_permissions(folder.join(open), std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        baits.tcp.set_nonblocking(true).unwrap();
        baits.udp.set_nonblocking(true).unwrap();
        baits.unix.set_nonblocking(true).unwrap();
        baits.datagrams.set_nonblocking(true).unwrap();
        baits.hidden.set_nonblocking(true).unwrap();
        baits
    }

    fn fill(&self, text: &str) -> String {
        text.replace("@PORT@", &self.tcp.local_addr().unwrap().port().to_string())
            .replace("@UDP@", &self.udp.local_addr().unwrap().port().to_string())
            .replace("@HIDDEN@", &self.hidden_name)
            .replace("@FOLDER@", &self.folder.to_string_lossy())
            .replace("@PID@", &std::process::id().to_string())
    }

    /// Which baits something came to, or were changed.
    fn bitten(&self) -> Vec<String> {
        let mut bytes = [0; 16];
        let asked = [
            ("tcp", self.tcp.accept().map(drop)),
            ("udp", self.udp.recv(&mut bytes).map(drop)),
            ("unix stream", self.unix.accept().map(drop)),
            ("unix datagram", drained(&self.datagrams)),
            ("abstract", self.hidden.accept().map(drop)),
        ];
        let secret = self.folder.join("secret");
        let kept = std::fs::read_to_string(&secret).is_ok_and(|text| text == SECRET)
            && secret.metadata().is_ok_and(|found| found.permissions().mode() & 0o777 == 0o777);
        if !kept {
            // Laid out again, so that it is reported once.
            std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o777)).unwrap();
            std::fs::write(&secret, SECRET).unwrap();
        }
        let changed = (!kept).then(|| "changed a file of the host".to_owned());
        asked
            .into_iter()
            .filter_map(|(name, result)| match result {
                Err(error) if error.kind() == ErrorKind::WouldBlock => None,
                _ => Some(format!("reached the host's {name} socket")),
            })
            .chain(changed)
            .collect()
    }
}

/// Takes every datagram that came; ready if there was any.
fn drained(socket: &UnixDatagram) -> std::io::Result<()> {
    let first = socket.recv(&mut [0; 16]).map(drop);
    while first.is_ok() && socket.recv(&mut [0; 16]).is_ok() {}
    first
}
