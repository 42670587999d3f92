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
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use measure::{Contender, TURNS, Table, in_turns};

use by_cedar::ByCedar;
use by_cel::ByCel;
use by_predicate::ByPredicate;
use rules::{Answer, Rules};

/// How long one turn takes at least.
const LEAST: Duration = Duration::from_secs(1);
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
    let names = ["here", "cel", "cel, as documented", "cedar-policy", "cedar-policy, as documented"];
    let texts = [
        from_text(&requests, &ours),
        from_text(&requests, &cel),
        from_text(&requests, &cel_documented),
        from_text(&requests, &cedar),
        from_text(&requests, &cedar_documented),
    ];
    measure("From JSON text", names.into_iter().zip(texts).collect())?;
    let facts = [
        from_facts(&requests, &ours)?,
        from_facts(&requests, &cel)?,
        from_facts(&requests, &cel_documented)?,
        from_facts(&requests, &cedar)?,
        from_facts(&requests, &cedar_documented)?,
    ];
    measure("Evaluation alone", names.into_iter().zip(facts).collect())
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

/// What is measured: all requests once, and how many these are.
type Work<'a> = Box<dyn Fn() -> anyhow::Result<u64> + 'a>;

/// Measures all engines in turns, and prints them beside the first.
fn measure(what: &str, engines: Vec<(&str, Work<'_>)>) -> anyhow::Result<()> {
    let contenders = engines.into_iter().map(|(name, work)| Contender::repeating(name, LEAST, work));
    let rows = in_turns(TURNS, contenders.collect())?;
    println!("\n{what}:\n\n{}", Table::beside("here", "requests").show(&rows));
    Ok(())
}

/// Every request, from its text.
fn from_text<'a, E: Engine>(requests: &'a [&'a str], engine: &'a E) -> Work<'a> {
    Box::new(move || {
        for text in requests {
            black_box(decided(engine, black_box(text))?);
        }
        Ok(requests.len() as u64)
    })
}

/// Every request, from its facts.
fn from_facts<'a, E: Engine>(requests: &[&str], engine: &'a E) -> anyhow::Result<Work<'a>>
where
    E::Facts: 'a,
{
    let facts = requests.iter().map(|text| engine.read(text)).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Box::new(move || {
        for facts in &facts {
            black_box(engine.decide(black_box(facts))?);
        }
        Ok(facts.len() as u64)
    }))
}
