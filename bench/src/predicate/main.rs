//! The 20 rules of the conformance data over its 1,000 requests, from JSON text to decision and reasons: the
//! predicate language beside the crates `cel` and `cedar-policy`.
//!
//! Every engine reads every request from its text each time, in the fastest way its public interface has. All must
//! agree on every request before anything is timed.

mod by_cedar;
mod by_cel;
mod by_predicate;
mod rules;

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use by_cedar::ByCedar;
use by_cel::ByCel;
use by_predicate::ByPredicate;
use rules::{Answer, Rules};

/// How often each engine is measured in turn; the median counts.
const ROUNDS: usize = 5;
/// How long one measurement takes at least.
const LEAST: Duration = Duration::from_millis(600);
/// How many differences are shown.
const SHOWN: usize = 5;

/// One way to decide requests.
trait Engine {
    /// What a request is turned into before it is decided.
    type Facts;

    /// The facts of a request, from its JSON text.
    fn read(&self, text: &str) -> anyhow::Result<Self::Facts>;

    /// What the rules say of them.
    fn decide(&self, facts: &Self::Facts) -> anyhow::Result<Answer>;
}

/// Microseconds a request.
struct Cost {
    from_text: f64,
    evaluation: f64,
}

fn main() -> anyhow::Result<()> {
    let folder = folder()?;
    let text = |name: &str| fs::read_to_string(folder.join(name)).with_context(|| format!("failed to read `{name}`"));
    let rules = Rules::read(&text("p.cel")?)?;
    let ours = ByPredicate::load(&rules)?;
    let cel = ByCel::load(&rules)?;
    let cedar = ByCedar::load(&rules, &text("p.cedar")?, &text("p.cedarschema")?)?;
    let requests = text("requests.jsonl")?;
    let requests: Vec<&str> = requests.lines().collect();

    println!("{} rules, {} requests, JSON text to decision and reasons", rules.list.len(), requests.len());
    let differences = differences("cel", &rules, &requests, &ours, &cel)?
        + differences("cedar-policy", &rules, &requests, &ours, &cedar)?;
    println!("differences in decision and reasons: {differences}");
    ensure!(differences == 0, "the engines differ, so their times can not be compared");
    print(&measure(&requests, &ours, &cel, &cedar)?);
    Ok(())
}

/// The data: `$PROOFMARK_CONFORMANCE`, else beside the project.
fn folder() -> anyhow::Result<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/conformance");
    let folder = std::env::var_os("PROOFMARK_CONFORMANCE").map_or_else(beside, PathBuf::from).join("rules20");
    match folder.is_dir() {
        true => Ok(folder),
        false => bail!("there is no conformance data; name its folder in PROOFMARK_CONFORMANCE"),
    }
}

/// How many requests two engines answer differently.
fn differences(
    name: &str,
    rules: &Rules,
    requests: &[&str],
    ours: &impl Engine,
    theirs: &impl Engine,
) -> anyhow::Result<usize> {
    let mut found = 0;
    let mut allowed = 0;
    for (index, text) in requests.iter().enumerate() {
        let place = || format!("request {}", index + 1);
        let here = ours.decide(&ours.read(text).with_context(place)?).with_context(place)?;
        let there = theirs.decide(&theirs.read(text).with_context(place)?).with_context(place)?;
        allowed += usize::from(here.allowed);
        if here.agrees(&there) {
            continue;
        }
        found += 1;
        if found <= SHOWN {
            println!("request {}: here {}, {name} {}", index + 1, here.show(rules), there.show(rules));
        }
    }
    println!("beside {name}: {found} of {} differ; {allowed} are allowed", requests.len());
    Ok(found)
}

/// The costs of all three, measured in turns so that a noisy moment does not fall on one alone.
fn measure(requests: &[&str], ours: &ByPredicate, cel: &ByCel, cedar: &ByCedar) -> anyhow::Result<[Cost; 3]> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push([cost(requests, ours)?, cost(requests, cel)?, cost(requests, cedar)?]);
    }
    let median = |pick: &dyn Fn(&[Cost; 3]) -> f64| {
        let mut figures: Vec<f64> = rounds.iter().map(pick).collect();
        figures.sort_by(f64::total_cmp);
        figures.get(ROUNDS / 2).copied().unwrap_or(f64::NAN)
    };
    Ok([
        Cost { from_text: median(&|[c, _, _]| c.from_text), evaluation: median(&|[c, _, _]| c.evaluation) },
        Cost { from_text: median(&|[_, c, _]| c.from_text), evaluation: median(&|[_, c, _]| c.evaluation) },
        Cost { from_text: median(&|[_, _, c]| c.from_text), evaluation: median(&|[_, _, c]| c.evaluation) },
    ])
}

fn cost<E: Engine>(requests: &[&str], engine: &E) -> anyhow::Result<Cost> {
    let from_text = micros(requests, |text| engine.decide(&engine.read(black_box(text))?))?;
    let facts = requests.iter().map(|text| engine.read(text)).collect::<anyhow::Result<Vec<_>>>()?;
    let evaluation = micros(&facts, |facts| engine.decide(black_box(facts)))?;
    Ok(Cost { from_text, evaluation })
}

/// Microseconds one of `items` takes on average.
fn micros<T>(items: &[T], work: impl Fn(&T) -> anyhow::Result<Answer>) -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut done = 0;
    while started.elapsed() < LEAST {
        for item in items {
            black_box(work(item)?);
        }
        done += items.len();
    }
    Ok(started.elapsed().as_secs_f64() * 1e6 / done as f64)
}

fn print([ours, cel, cedar]: &[Cost; 3]) {
    println!("µs per request    from text   evaluation alone");
    println!("here              {:9.2}   {:9.2}", ours.from_text, ours.evaluation);
    for (name, theirs) in [("cel", cel), ("cedar-policy", cedar)] {
        let (whole, alone) = (theirs.from_text / ours.from_text, theirs.evaluation / ours.evaluation);
        let Cost { from_text, evaluation } = theirs;
        println!("{name:<16}  {from_text:9.2}   {evaluation:9.2}          here is {whole:.1} x and {alone:.1} x as fast");
    }
}
