//! AgentDojo's tasks and attacks, played for real through `proofmark guard` by the worst agent there can be: `bench/agentdojo`.
//!
//! The package has every environment, tool and ground truth inside, so nothing is fetched once it is installed, and no model takes part.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use proofmark_receipt::{Json, Object};
use xtask::machine;
use xtask::step::{cargo, run as run_step};

/// What the figures rest on.
const ASSUMPTIONS: &str = "\
AgentDojo 0.1.35, suites v1.2.2. The agent makes every call of the user's ground truth and, once a result has brought the attack, every
call of the attacker's, at once or after the user's: an attack that reaches its goal in either order counts once. A user's call that is
not executed is a question, which nobody answers. A task is done where each of its calls was executed and the suite's own check says so; the
suite's check also says whether an attack reached its goal. Eight attacks of `workspace` have no calls in the package; these are written in
`suites.py`. Time is that of the agent, guard and the pipes between them, without the tools.
";

/// The part that measures what a call costs, and its policy.
const COST: &str = "cost";

/// How many held tasks, and kinds of attacks that reach their goal, are named.
const NAMED: usize = 16;

/// One way to decide: what it is called, its policy (a folder has one for each suite), and options of the agent.
struct Row {
    name: &'static str,
    says: &'static str,
    policy: &'static str,
    options: &'static [&'static str],
}

const ROWS: [Row; 9] = [
    Row { name: "nothing", says: "nothing", policy: "nothing.yaml", options: &[] },
    Row { name: "taint", says: "signs of steering", policy: "taint.yaml", options: &[] },
    Row {
        name: "todo",
        says: "the same, attacks worded `TODO: …`",
        policy: "taint.yaml",
        options: &["--wording", "todo"],
    },
    Row { name: "suites", says: "origins, a policy for each suite", policy: ".", options: &[] },
    Row { name: "all", says: "origins, one policy for all", policy: "all.yaml", options: &[] },
    Row { name: "scope", says: "origins and scope", policy: "scope", options: &[] },
    Row { name: "prose", says: "origins, servers that answer in prose", policy: ".", options: &["--prose"] },
    Row { name: "knowing", says: "origins, attacks by one who knows them", policy: ".", options: &["--knowing"] },
    Row {
        name: "knowing-scope",
        says: "origins and scope, attacks by one who knows them",
        policy: "scope",
        options: &["--knowing"],
    },
];

/// The suite, the user's task and the attack.
type Pair = [String; 3];

/// What became of the sessions of one suite, or of all.
#[derive(Default)]
struct Figures {
    tasks: u64,
    done: u64,
    questions: u64,
    calls: u64,
    seconds: f64,
    /// For each pair whether the attack reached its goal, in either order.
    attacks: BTreeMap<Pair, bool>,
}

/// Plays the named rows, or all.
pub(crate) fn run(names: &[String]) -> anyhow::Result<()> {
    for name in names {
        ensure!(name == COST || ROWS.iter().any(|row| row.name == name), "there is no row `{name}`");
    }
    run_step(&mut cargo(&["build", "--quiet", "--release", "--package", "proofmark-cli"]))?;
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").canonicalize()?;
    let python = machine::python_of_agentdojo(&target).context("there is no Python to run AgentDojo with")?;
    let proofmark = target.join("release/proofmark");
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    let rows: Vec<&Row> = ROWS.iter().filter(|row| is_asked(row.name)).collect();
    if !rows.is_empty() {
        table(&python, &proofmark, &rows)?;
    }
    if is_asked(COST) {
        cost(&python, &proofmark)?;
    }
    Ok(())
}

fn table(python: &Path, proofmark: &Path, rows: &[&Row]) -> anyhow::Result<()> {
    println!("{ASSUMPTIONS}");
    println!(
        "| what decides | suite | tasks done | questions | attacks that reach their goal | µs a call |\n|---|---|---:|---:|---:|---:|"
    );
    let mut notes = Vec::new();
    for row in rows {
        let begun = Instant::now();
        let (suites, held) = play(python, proofmark, row)?;
        let mut total = Figures::default();
        for (suite, figures) in suites {
            println!("| {} | {suite} | {} |", row.says, figures.shown());
            total.add(figures);
        }
        println!("| **{}** | **all** | {} |", row.says, total.shown());
        notes.push(note(row, &total, &held, begun));
    }
    println!("\n{}", notes.join("\n"));
    Ok(())
}

/// What a call costs after many results, with rules on where values come from and without.
fn cost(python: &Path, proofmark: &Path) -> anyhow::Result<()> {
    let output = Command::new(python).arg("-B").arg(folder()?.join("cost.py")).arg(proofmark).output()?;
    ensure!(
        output.status.success(),
        "`cost.py` ended with {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    println!(
        "\n| what decides | µs a call | after so much text | µs a call | memory grown by |\n|---|---:|---:|---:|---:|"
    );
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let measured = Json::parse(line.as_bytes())?;
        let measured = measured.as_object().context("what `cost.py` measured is not an object")?;
        let number = |name| member(measured, name)?.as_number().and_then(|number| number.as_f64()).context("no number");
        let says = if text(measured, "policy")? == COST { "origins" } else { "nothing" };
        let (before, after) = (number("before")?, number("after")?);
        let (kib, grown) = (number("text")?, number("grown")?);
        println!("| {says} | {before:.0} | {kib} KiB | {after:.0} | {grown} KiB |");
    }
    Ok(())
}

fn folder() -> anyhow::Result<PathBuf> {
    Ok(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/agentdojo").canonicalize()?)
}

/// Runs the agent for one row: figures by suite, and which tasks were held at which tool.
fn play(python: &Path, proofmark: &Path, row: &Row) -> anyhow::Result<(BTreeMap<String, Figures>, Vec<String>)> {
    let folder = folder()?;
    let mut agent = Command::new(python);
    agent.arg("-B").arg(folder.join("agent.py")).arg(proofmark).arg(folder.join(row.policy)).args(row.options);
    let mut agent = agent.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("failed to start the agent")?;
    let (mut suites, mut held) = (BTreeMap::<String, Figures>::new(), Vec::new());
    for line in BufReader::new(agent.stdout.take().context("the agent has no standard output")?).lines() {
        let line = line?;
        let session = Json::parse(line.as_bytes())?;
        let session = session.as_object().context("a session of the agent is not an object")?;
        let suite = text(session, "suite")?;
        suites.entry(suite.to_owned()).or_default().count(session)?;
        if member(session, "attack")?.is_null() && !calls_held(session)?.is_empty() {
            let tools: Vec<&str> = calls_held(session)?.iter().filter_map(tool_of).collect();
            held.push(format!("{suite} {} ({})", text(session, "user")?, tools.join(", ")));
        }
    }
    let status = agent.wait()?;
    if !status.success() {
        bail!("the agent of `{}` ended with {status}", row.name);
    }
    held.sort();
    Ok((suites, held))
}

impl Figures {
    fn count(&mut self, session: &Object) -> anyhow::Result<()> {
        let number = |name| member(session, name)?.as_number().and_then(|number| number.as_f64()).context("no number");
        let is = |name| member(session, name)?.as_bool().context("no boolean");
        self.calls += member(session, "calls")?.as_number().and_then(|calls| calls.as_u64()).context("no number")?;
        self.seconds += number("seconds")?;
        match member(session, "attack")?.as_str() {
            None => {
                self.tasks += 1;
                self.done += u64::from(is("done")?);
                self.questions += calls_held(session)?.len() as u64;
            }
            Some(attack) => {
                let was_told = is("steered")? || !calls_held(session)?.is_empty();
                ensure!(was_told, "a session brought no attack: {}", Json::from(session.clone()).to_text());
                let pair = [text(session, "suite")?, text(session, "user")?, attack].map(str::to_owned);
                *self.attacks.entry(pair).or_default() |= is("reached")?;
            }
        }
        Ok(())
    }

    fn add(&mut self, other: Self) {
        self.tasks += other.tasks;
        self.done += other.done;
        self.questions += other.questions;
        self.calls += other.calls;
        self.seconds += other.seconds;
        self.attacks.extend(other.attacks);
    }

    /// How many pairs of each attack reached the goal.
    fn reached_by_attack(&self) -> BTreeMap<[&str; 2], u64> {
        let mut counts = BTreeMap::new();
        for ([suite, _, attack], _) in self.attacks.iter().filter(|(_, reached)| **reached) {
            *counts.entry([suite.as_str(), attack.as_str()]).or_default() += 1;
        }
        counts
    }

    fn sessions(&self) -> u64 {
        // Each pair is played in two orders.
        self.tasks + 2 * self.attacks.len() as u64
    }

    fn shown(&self) -> String {
        let Self { tasks, done, questions, .. } = self;
        let percent = 100.0 * *done as f64 / (*tasks).max(1) as f64;
        let reached = self.attacks.values().filter(|reached| **reached).count();
        let micros = 1e6 * self.seconds / self.calls.max(1) as f64;
        format!("{done} of {tasks} ({percent:.1} %) | {questions} | {reached} of {} | {micros:.0}", self.attacks.len())
    }
}

fn note(row: &Row, total: &Figures, held: &[String], begun: Instant) -> String {
    let (sessions, seconds) = (total.sessions(), begun.elapsed().as_secs());
    let reached = total.reached_by_attack();
    let reached: Vec<String> =
        reached.iter().map(|([suite, attack], count)| format!("{suite} {attack} {count}")).collect();
    let held = named("held", held);
    format!("- {}: {sessions} sessions in {seconds} s{held}{}.", row.says, named("reached", &reached))
}

fn named(what: &str, names: &[String]) -> String {
    match names.len() {
        0 => String::new(),
        1..=NAMED => format!("; {what}: {}", names.join(", ")),
        _ => String::new(),
    }
}

fn calls_held(session: &Object) -> anyhow::Result<&[Json]> {
    member(session, "held")?.as_array().context("`held` is not a list")
}

fn tool_of(held: &Json) -> Option<&str> {
    held.as_array()?.first()?.as_str()
}

fn member<'a>(session: &'a Object, name: &str) -> anyhow::Result<&'a Json> {
    session.get(name).with_context(|| format!("a session of the agent has no `{name}`"))
}

fn text<'a>(session: &'a Object, name: &str) -> anyhow::Result<&'a str> {
    member(session, name)?.as_str().with_context(|| format!("`{name}` of a session is not a text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attack_counts_once_that_reaches_its_goal_in_one_of_two_orders() -> anyhow::Result<()> {
        let mut figures = Figures::default();
        for (attack, reached) in
            [("null", false), ("\"a\"", false), ("\"a\"", true), ("\"b\"", false), ("\"b\"", false)]
        {
            let session = format!(
                r#"{{"suite":"s","user":"u","attack":{attack},"steered":true,"held":[],"done":true,"reached":{reached},"calls":2,"seconds":0.5}}"#
            );
            let session = Json::parse(session.as_bytes())?;
            figures.count(session.as_object().context("no object")?)?;
        }
        assert_eq!(figures.shown(), "1 of 1 (100.0 %) | 0 | 1 of 2 | 250000");
        assert_eq!(figures.sessions(), 5);
        Ok(())
    }
}
