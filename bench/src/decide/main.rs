//! The 20 rules of the conformance data as 20 boundaries over its 1,000 requests, from JSON text to a decision receipt,
//! beside `cedar-policy`, from JSON text to a decision.
//!
//! Both read every request from its text each time and must agree on every allow and deny before anything is timed.

mod by_boundary;
#[path = "../predicate/by_cedar.rs"]
mod by_cedar;
#[path = "../predicate/rules.rs"]
#[allow(dead_code, reason = "the other benchmark compares reasons too")]
mod rules;

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use measure::{Contender, TURNS, Table, in_turns};

use by_boundary::{ByBoundary, Denial, Depth};
use by_cedar::{ByCedar, Way};
use rules::{Answer, Rules};

/// How long one turn takes at least.
const LEAST: Duration = Duration::from_secs(1);
/// How many differences are shown.
const SHOWN: usize = 5;

/// A rival's way to decide requests.
trait Engine {
    /// What a request is turned into before it is decided.
    type Facts;

    /// The facts of a request, from its JSON text.
    fn read(&self, text: &str) -> anyhow::Result<Self::Facts>;

    /// What the rules say of them.
    fn decide(&self, facts: &Self::Facts) -> anyhow::Result<Answer>;
}

/// One request in the words of both.
struct Asked {
    /// As the data has it, for the rival.
    original: String,
    /// In the plain form, for the boundaries.
    plain: String,
    allowed: bool,
}

fn main() -> anyhow::Result<()> {
    let folder = folder()?;
    let text = |name: &str| fs::read_to_string(folder.join(name)).with_context(|| format!("failed to read `{name}`"));
    let rules = Rules::read(&text("p.cel")?)?;
    let ours = ByBoundary::load(&rules, Denial::Replan)?;
    let ending = ByBoundary::load(&rules, Denial::End)?;
    let (policies, schema) = (text("p.cedar")?, text("p.cedarschema")?);
    let cedar = ByCedar::load(&rules, &policies, &schema, Way::Direct)?;
    let documented = ByCedar::load(&rules, &policies, &schema, Way::Documented)?;
    let requests = text("requests.jsonl")?;
    let (allowed, denied) = compare(&ours, &cedar, &requests)?;
    println!(
        "{} boundaries, {} requests ({} allowed, {} denied), one thread",
        rules.list.len(),
        allowed.len() + denied.len(),
        allowed.len(),
        denied.len()
    );
    println!("differences in allow and deny: 0");
    let there = |engine: &ByCedar<'_>, asked: &Asked| Ok(engine.decide(&engine.read(&asked.original)?)?.allowed);
    let here = |depth, asked: &Asked| ours.answer(&asked.plain, depth);
    let engines: [Measured<'_>; 6] = [
        ("cedar-policy, decision", &|asked| there(&cedar, asked)),
        ("as documented, decision", &|asked| there(&documented, asked)),
        ("here, denials end the path", &|asked| ending.answer(&asked.plain, Depth::Decision)),
        ("here, decision with what would change it", &|asked| here(Depth::Decision, asked)),
        ("here, its receipt as text", &|asked| here(Depth::Receipt, asked)),
        ("here, its signed receipt as text", &|asked| here(Depth::Signed, asked)),
    ];
    measure("Allowed", &allowed, &engines)?;
    measure("Blocked", &denied, &engines)
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

/// The requests both allow and those both deny; an error where they differ.
fn compare(ours: &ByBoundary, cedar: &ByCedar<'_>, requests: &str) -> anyhow::Result<(Vec<Asked>, Vec<Asked>)> {
    let (mut allowed, mut denied, mut differences) = (Vec::new(), Vec::new(), 0);
    for (index, original) in requests.lines().enumerate() {
        let place = || format!("failed to decide request {}", index + 1);
        let plain = by_boundary::plain(original).with_context(place)?;
        let here = ours.answer(&plain, Depth::Signed).with_context(place)?;
        let there = cedar.decide(&cedar.read(original)?).with_context(place)?.allowed;
        if here != there {
            differences += 1;
            if differences <= SHOWN {
                println!("request {}: allowed here {here}, by cedar-policy {there}", index + 1);
            }
        }
        let asked = Asked { original: original.to_owned(), plain, allowed: here };
        if asked.allowed { &mut allowed } else { &mut denied }.push(asked);
    }
    ensure!(differences == 0, "{differences} requests are decided differently, so times cannot be compared");
    Ok((allowed, denied))
}

/// A name, and what is measured: a request to whether it is allowed.
type Measured<'a> = (&'a str, &'a dyn Fn(&Asked) -> anyhow::Result<bool>);

/// Measures all in turns over these requests, and prints them beside the first.
fn measure(what: &str, requests: &[Asked], engines: &[Measured<'_>]) -> anyhow::Result<()> {
    let all = |work: &dyn Fn(&Asked) -> anyhow::Result<bool>| {
        for asked in requests {
            ensure!(black_box(work(black_box(asked))?) == asked.allowed, "a decision changed while it was measured");
        }
        Ok(requests.len() as u64)
    };
    let contenders = engines.iter().map(|(name, work)| Contender::repeating(*name, LEAST, move || all(work)));
    let rows = in_turns(TURNS, contenders.collect())?;
    println!("\n{what}:\n\n{}", Table::beside("cedar-policy, decision", "requests").show(&rows));
    Ok(())
}
