//! The strength of the suites of MBPP, of parts of them and of suites that see nothing, and how fast mutants run.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use measure::of_this_process_and_descendants;
use proofmark_checks::{Caps, Format, Request};
use proofmark_receipt::{Json, Object, object};
use proofmark_sandbox::{Host, Worker};
use proofmark_verifier::{Strength, prepare, strength};

use super::mbpp::{self, Task};

/// No suite takes so long.
const TIME: Duration = Duration::from_secs(600);

/// A suite below this figure sees next to nothing.
const TRIVIAL: f64 = 0.2;

/// How a suite is made of a task.
type Suite = fn(&Task) -> Option<Json>;

pub(crate) fn run() -> anyhow::Result<()> {
    let tasks = mbpp::tasks()?;
    println!(
        "{} tasks of MBPP, their own solutions as reference; one worker, processor time of it and its cells",
        tasks.len()
    );
    let suites: [(&str, Suite); 4] = [
        ("every assert", every),
        ("the first assert", first),
        ("calls with JSON", calls),
        ("the function is there", trivial),
    ];
    let host = Host::untested(None);
    let mut worker = host.worker();
    for (name, suite) in suites {
        report(name, &tasks, suite, &host, &mut worker)?;
    }
    println!("HumanEval+ is not in a registry as data, so which suites it breaks was not compared");
    Ok(())
}

fn report(name: &str, tasks: &[Task], suite: Suite, host: &Host, worker: &mut Worker) -> anyhow::Result<()> {
    let mut measured: Vec<Strength> = Vec::new();
    let mut refused = 0;
    let requests: Vec<Request> = tasks
        .iter()
        .filter_map(suite)
        .map(|request| Request::read(request.to_text().as_bytes(), Format::Json, None))
        .collect::<Result<_, _>>()?;
    prepare(host, &requests);
    let before = of_this_process_and_descendants()?;
    for request in &requests {
        match strength(worker, &Caps::default(), request, TIME, &AtomicBool::new(false)) {
            Ok(strength) => measured.push(strength),
            Err(error) => {
                refused += 1;
                eprintln!("{name}: {error}");
            }
        }
    }
    let took = of_this_process_and_descendants()?.saturating_sub(before);
    let sum = |count: fn(&Strength) -> u64| measured.iter().map(count).sum::<u64>();
    let mut figures: Vec<f64> =
        measured.iter().filter_map(Strength::figure).map(|share| f64::from(share.thousandths()) / 1_000.0).collect();
    figures.sort_by(f64::total_cmp);
    let at = |part: usize| figures.get(figures.len().saturating_sub(1) * part / 4).copied().unwrap_or(f64::NAN);
    println!(
        "{name}: {} suites, {refused} not measured; strength: least {:.3}, quartiles {:.3} {:.3} {:.3}, most {:.3}; {} below {TRIVIAL}",
        measured.len(),
        at(0),
        at(1),
        at(2),
        at(3),
        at(4),
        figures.iter().filter(|figure| **figure < TRIVIAL).count(),
    );
    let mutants = sum(|strength| strength.mutants);
    println!(
        "  {mutants} mutants: {} killed, {} survived, {} did not load; {:.0} a second of processor time",
        sum(|strength| strength.killed),
        sum(|strength| strength.survived),
        sum(|strength| strength.invalid),
        mutants as f64 / took.as_secs_f64(),
    );
    Ok(())
}

fn every(task: &Task) -> Option<Json> {
    Json::parse(task.request().as_bytes()).ok()
}

fn first(task: &Task) -> Option<Json> {
    let tests = task.tests.first().cloned().into_iter().collect();
    every(&Task { id: task.id.clone(), code: task.code.clone(), tests })
}

fn trivial(task: &Task) -> Option<Json> {
    let (name, _) = task.tests.first()?.0.split_once('(')?;
    let tests = vec![(format!("callable({name})"), "True".to_owned())];
    every(&Task { id: task.id.clone(), code: task.code.clone(), tests })
}

/// The asserts that are calls of one function with JSON, as tests of the mode `call`.
fn calls(task: &Task) -> Option<Json> {
    let (name, _) = task.tests.first()?.0.split_once('(')?;
    let tests = task.tests.iter().enumerate().map(|(index, (call, expected))| {
        let inside = call.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')')?;
        let input = Json::parse(format!("[{inside}]").as_bytes()).ok()?;
        let expected = Json::parse(expected.as_bytes()).ok()?;
        Some(Json::from(object! { "name": format!("{index}"), "input": input, "expected_output": expected.to_text() }))
    });
    let tests: Vec<Json> = tests.collect::<Option<_>>()?;
    let verification: Object = object! {
        "kind": "test_suite",
        "language": "python",
        "mode": "call",
        "entrypoint": name,
        "tests": tests,
    };
    let output: Object = object! { "content": task.code.as_str() };
    Some(object! { "output": output, "verification": verification }.into())
}
