//! The 20 rules of the conformance data over its 1,000 requests, from JSON text to decision and reasons: the
//! predicate language beside the crates `cel` and `cedar-policy`.
//!
//! Every engine reads every request from its text each time. The rivals do so in two ways: the fastest their public
//! interfaces have, and the one they document. All must agree on every request before anything is timed.

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

/// How often each engine is measured in turn; the fastest counts.
const ROUNDS: usize = 5;
/// How long one measurement takes at least.
const LEAST: Duration = Duration::from_millis(500);
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
    let requests = text("requests.jsonl")?;
    let requests: Vec<&str> = requests.lines().collect();
    let (policies, schema) = (text("p.cedar")?, text("p.cedarschema")?);

    let ours = ByPredicate::load(&rules)?;
    let cel = |way| ByCel::load(&rules, way);
    let (cel, cel_documented) = (cel(by_cel::Way::Direct)?, cel(by_cel::Way::Documented)?);
    let cedar = |way| ByCedar::load(&rules, &policies, &schema, way);
    let (cedar, cedar_documented) = (cedar(by_cedar::Way::Direct)?, cedar(by_cedar::Way::Documented)?);

    println!("{} rules, {} requests, JSON text to decision and reasons, one thread", rules.list.len(), requests.len());
    let against = Against { rules: &rules, requests: &requests, ours: &ours };
    let differences = against.differences("cel", &cel)?
        + against.differences("cel, as documented", &cel_documented)?
        + against.differences("cedar-policy", &cedar)?
        + against.differences("cedar-policy, as documented", &cedar_documented)?;
    println!("differences in decision and reasons: {differences}");
    ensure!(differences == 0, "the engines differ, so their times cannot be compared");
    measure(&[
        ("here", &|| cost(&requests, &ours)),
        ("cel", &|| cost(&requests, &cel)),
        ("cel, as documented", &|| cost(&requests, &cel_documented)),
        ("cedar-policy", &|| cost(&requests, &cedar)),
        ("cedar-policy, as documented", &|| cost(&requests, &cedar_documented)),
    ])
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

/// What rivals are held against.
struct Against<'a> {
    rules: &'a Rules,
    requests: &'a [&'a str],
    ours: &'a ByPredicate<'a>,
}

impl Against<'_> {
    /// How many requests the rival answers differently.
    fn differences(&self, name: &str, rival: &impl Engine) -> anyhow::Result<usize> {
        let mut found = 0;
        for (index, text) in self.requests.iter().enumerate() {
            let place = || format!("failed to decide request {}", index + 1);
            let here = decided(self.ours, text).with_context(place)?;
            let there = decided(rival, text).with_context(|| format!("{} by {name}", place()))?;
            if here.agrees(&there) {
                continue;
            }
            found += 1;
            if found <= SHOWN {
                let (here, there) = (here.show(self.rules), there.show(self.rules));
                println!("request {}: here {here}, {name} {there}", index + 1);
            }
        }
        Ok(found)
    }
}

fn decided(engine: &impl Engine, text: &str) -> anyhow::Result<Answer> {
    engine.decide(&engine.read(text)?)
}

/// A name, and what measures it once.
type Measured<'a> = (&'a str, &'a dyn Fn() -> anyhow::Result<Cost>);

/// Measures all in turns, so that a noisy moment does not fall on one alone, and prints them beside the first.
fn measure(engines: &[Measured<'_>]) -> anyhow::Result<()> {
    let mut costs: Vec<Vec<Cost>> = engines.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for ((_, measured), costs) in engines.iter().zip(&mut costs) {
            costs.push(measured()?);
        }
    }
    println!("{:<28}  from text   evaluation alone   here is", "µs per request");
    let mut first = None;
    for ((name, _), costs) in engines.iter().zip(&costs) {
        let (whole, alone) = (least(costs, |cost| cost.from_text), least(costs, |cost| cost.evaluation));
        let (our_whole, our_alone) = *first.get_or_insert((whole, alone));
        let ratios = format!("{:5.1} x and {:5.1} x as fast", whole / our_whole, alone / our_alone);
        println!("{name:<28}  {whole:9.2}   {alone:16.2}   {ratios}");
    }
    Ok(())
}

fn least(costs: &[Cost], figure: impl Fn(&Cost) -> f64) -> f64 {
    costs.iter().map(figure).fold(f64::INFINITY, f64::min)
}

fn cost<E: Engine>(requests: &[&str], engine: &E) -> anyhow::Result<Cost> {
    let from_text = micros(requests, |text| decided(engine, black_box(text)))?;
    let facts = requests.iter().map(|text| engine.read(text)).collect::<anyhow::Result<Vec<_>>>()?;
    let evaluation = micros(&facts, |facts| engine.decide(black_box(facts)))?;
    Ok(Cost { from_text, evaluation })
}

/// Microseconds one of `items` takes: their average in the fastest pass, since whatever else the machine does only adds.
fn micros<T>(items: &[T], work: impl Fn(&T) -> anyhow::Result<Answer>) -> anyhow::Result<f64> {
    let started = Instant::now();
    let mut fastest = Duration::MAX;
    while started.elapsed() < LEAST {
        let pass = Instant::now();
        for item in items {
            black_box(work(item)?);
        }
        fastest = fastest.min(pass.elapsed());
    }
    Ok(fastest.as_secs_f64() * 1e6 / items.len() as f64)
}
