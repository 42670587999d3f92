//! What a tenant notices of another one that takes what it can get: each attack on a server of its own, with the limits that it has by
//! default, and the waits of a tenant that asks for little, before the attack and beside it.

mod attacks;
mod client;
mod server;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use measure::Waits;
use rustix::process::{Resource, Rlimit, getrlimit, setpriority_process, setrlimit};

use super::guard::waits_of;
use attacks::{ATTACKS, Attack};
use client::Request;
use server::Server;

/// How long the other tenant is alone, and how long it is measured beside the attack.
const QUIET: Duration = Duration::from_secs(4);
const BESIDE: Duration = Duration::from_secs(10);
/// How long an attack goes on before it counts.
const BEGIN: Duration = Duration::from_secs(2);
/// The clients of the tenant that asks for little, and the pause of each between two requests.
const CLIENTS: u64 = 2;
const PAUSE: Duration = Duration::from_millis(5);
/// After so many requests of a client comes one on a new connection.
const NEW_CONNECTION: u64 = 10;
/// Connections of an attack, those of the other tenant, and what the processes have open besides.
const OPEN_FILES: u64 = 4_096;
/// The lowest priority.
const NICE: i32 = 19;

/// What must not be exceeded: the ratio of the 99th percentiles, and MiB of memory.
const MOST_WAIT: f64 = 5.0;
const MOST_MEMORY: f64 = 1_024.0;

/// What the answers to an attack were.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    done: AtomicU64,
    refused: AtomicU64,
    failed: AtomicU64,
    closed: AtomicU64,
}

/// The waits of the tenant that asks for little.
struct Measured {
    waits: Waits,
    count: usize,
    failures: Vec<String>,
}

impl Tally {
    /// Counts an answer, or a connection that was closed without one.
    pub(crate) fn count(&self, answer: &std::io::Result<u16>) {
        let of = match answer {
            Ok(200..400) => &self.done,
            Ok(400..500) => &self.refused,
            Ok(_) => &self.failed,
            Err(_) => &self.closed,
        };
        of.fetch_add(1, Ordering::Relaxed);
    }

    fn shown(&self) -> String {
        let of = |name: &str, count: &AtomicU64| match count.load(Ordering::Relaxed) {
            0 => None,
            count => Some(format!("{count} {name}")),
        };
        let all = [
            of("done", &self.done),
            of("refused", &self.refused),
            of("failed", &self.failed),
            of("closed", &self.closed),
        ];
        all.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Runs the attacks with these names, or all.
pub(crate) fn run(names: &[String]) -> anyhow::Result<()> {
    let open = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit { current: open.maximum.map_or(Some(OPEN_FILES), |most| Some(most.min(OPEN_FILES))), ..open },
    )?;
    if let Some(unknown) = names.iter().find(|name| ATTACKS.iter().all(|attack| attack.name != name.as_str())) {
        let known = ATTACKS.map(|attack| attack.name).join("`, `");
        bail!("there is no attack `{unknown}`; there are `{known}`");
    }
    println!(
        "Two clients of one tenant ask for decisions and short lists, first alone for {} s and then beside an attack by another tenant, from
another address, for {} s. Each attack has a server of its own. The threads of the attack have the lowest priority, because they share the
processors with the server, and wait 20 ms when they are refused. Aim: p99 at most {MOST_WAIT} x, at most {MOST_MEMORY} MiB, no request failed.\n",
        QUIET.as_secs(),
        BESIDE.as_secs()
    );
    println!(
        "| attack | alone: p50, p99 ms | beside: p50, p99 ms | p50 ÷ alone | p99 ÷ alone | failed | server's memory, MiB | answers to the attack | |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---|---|");
    let mut failures = Vec::new();
    for attack in ATTACKS.iter().filter(|attack| names.is_empty() || names.iter().any(|name| name == attack.name)) {
        let row = measured(attack, &mut failures).with_context(|| format!("failed to measure `{}`", attack.name))?;
        println!("{row}");
    }
    for failure in failures {
        println!("\n- {failure}");
    }
    Ok(())
}

/// The row of one attack. What a request failed with is added to `failures`, once for each attack.
fn measured(attack: &Attack, failures: &mut Vec<String>) -> anyhow::Result<String> {
    let server = Server::start()?;
    (attack.prepare)(&server)?;
    let alone = little(&server, QUIET)?;
    let (stop, tally) = (AtomicBool::new(false), Tally::default());
    let (beside, memory) = std::thread::scope(|scope| {
        for number in 0..attack.clients {
            let (server, stop, tally) = (&server, &stop, &tally);
            scope.spawn(move || {
                // Only this thread. It is not the attack that is measured, and the client of a real one has processors of its own.
                let _refused = setpriority_process(None, NICE);
                (attack.act)(server, number, stop, tally);
            });
        }
        std::thread::sleep(BEGIN);
        let beside = little(&server, BESIDE);
        let memory = server.most_memory();
        stop.store(true, Ordering::Relaxed);
        // Clients that wait for an answer end with it.
        server.end();
        (beside, memory)
    });
    let (beside, memory) = (beside?, memory?);
    if let Some(first) = alone.failures.first() {
        bail!("a request failed without the attack: {first}");
    }
    failures.extend(beside.failures.first().map(|first| format!("{}: {first}", attack.name)));
    let millis = |waits: &Waits| format!("{}, {}", digits(waits.median), digits(waits.p99));
    let ratio =
        |figure: fn(&Waits) -> Duration| figure(&beside.waits).as_secs_f64() / figure(&alone.waits).as_secs_f64();
    let (median, p99) = (ratio(|waits| waits.median), ratio(|waits| waits.p99));
    let is_met = p99 <= MOST_WAIT && memory <= MOST_MEMORY && beside.failures.is_empty();
    Ok(format!(
        "| {} | {} | {} | {median:.1} | {p99:.1} | {} of {} | {memory:.0} | {} | {} |",
        attack.name,
        millis(&alone.waits),
        millis(&beside.waits),
        beside.failures.len(),
        beside.count + beside.failures.len(),
        tally.shown(),
        if is_met { "met" } else { "missed" }
    ))
}

/// The waits of a tenant that asks for little, for this long.
fn little(server: &Server, least: Duration) -> anyhow::Result<Measured> {
    let (until, times, failures) = (Instant::now() + least, Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (times, failures) = (&times, &failures);
            scope.spawn(move || {
                let (mut client, mut done) = (None, 0_u64);
                while Instant::now() < until {
                    let request = match done % 3 {
                        2 => Request::get("/v1/decisions?limit=5"),
                        _ => Request::post("/v1/decisions", &server.note(number << 32 | done)),
                    };
                    if done % NEW_CONNECTION == 0 {
                        client = None;
                    }
                    let begun = Instant::now();
                    let answer = server
                        .connected(&mut client, &server.little)
                        .and_then(|client| client.ask(&request, &server.little));
                    let took = begun.elapsed();
                    match answer {
                        Ok(200) => push(times, took),
                        Ok(status) => push(
                            failures,
                            format!("{} {} was answered with {status} after {took:.1?}", request.method, request.path),
                        ),
                        Err(error) => {
                            client = None;
                            push(
                                failures,
                                format!(
                                    "{} {} was not answered: {error} after {took:.1?}",
                                    request.method, request.path
                                ),
                            );
                        }
                    }
                    done += 1;
                    std::thread::sleep(PAUSE);
                }
            });
        }
    });
    let (times, failures) = (taken(times), taken(failures));
    let count = times.len();
    let waits = waits_of(times).or(failures.first().map(|_| Waits { median: least, p99: least }));
    Ok(Measured { waits: waits.context("no request was answered")?, count, failures })
}

fn push<T>(all: &Mutex<Vec<T>>, one: T) {
    all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(one);
}

fn taken<T>(all: Mutex<Vec<T>>) -> Vec<T> {
    all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Milliseconds with three digits that count.
fn digits(time: Duration) -> String {
    match time.as_secs_f64() * 1e3 {
        millis if millis >= 100.0 => format!("{millis:.0}"),
        millis if millis >= 10.0 => format!("{millis:.1}"),
        millis => format!("{millis:.2}"),
    }
}
