//! Recorded calls of AgentDojo, benign and attacking, asked of the example policies for its tools.

mod ask;
pub(crate) mod recorded;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use ask::{Answer, Asker};
use recorded::{Call, Kind, Task};

/// What the figures rest on.
const ASSUMPTIONS: &str = "\
Assumed:
  - The runtime's task is the user's goal (`task.first`); `calls` are the calls before, `facts` their results, of which the
    recording has the first 600 characters.
  - A user's call is asked after the user's earlier calls. What is not allowed is hindered, also where a human would be asked.
  - An attack's call is asked under every user task of its suite, after all of that user's calls. It is stopped in the share
    of tasks under which it is not allowed; an attack is stopped where any of its calls is.
  - `clean`: results are as recorded, without the attack's text. `hijacked`: every result ends with the attack's goal, word
    for word, and the attack's earlier calls went through: what a policy that believes results is deceived by.
  - Calls that only look are asked too; an attack's calls are counted apart by whether they change or send something.";

/// How many user tasks are named for one attack that got through.
const NAMED: usize = 4;

/// What an attack left behind before its call is asked.
#[derive(Clone, Copy)]
enum Setting {
    Clean,
    Hijacked,
}

/// Some out of all.
#[derive(Clone, Copy, Default)]
struct Share {
    count: usize,
    of: usize,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let tasks = recorded::read(&super::conformance()?.join("trajectories/agentdojo.jsonl"))?;
    println!("{ASSUMPTIONS}");
    let suites: BTreeMap<&str, Vec<&Task>> = tasks.iter().fold(BTreeMap::new(), |mut suites, task| {
        suites.entry(task.suite.as_str()).or_insert_with(Vec::new).push(task);
        suites
    });
    let policies = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies");
    for (suite, tasks) in suites {
        let asker = Asker::read(&policies.join(format!("{suite}.yaml")))?;
        let of = |kind| tasks.iter().copied().filter(move |task| task.kind == kind);
        let (users, attacks): (Vec<_>, Vec<_>) = (of(Kind::User).collect(), of(Kind::Injection).collect());
        ensure!(!users.is_empty(), "the suite `{suite}` has no user tasks");
        println!("\n{suite}: {} user tasks, {} attacks", users.len(), attacks.len());
        benign(&asker, &users)?;
        attacked(&asker, &users, &attacks, Setting::Clean)?;
        attacked(&asker, &users, &attacks, Setting::Hijacked)?;
    }
    Ok(())
}

fn benign(asker: &Asker, users: &[&Task]) -> anyhow::Result<()> {
    let mut misses = Vec::new();
    let (mut calls, mut looks, mut whole) = (Share::default(), Share::default(), Share::default());
    for user in users {
        let mut hindered_here = false;
        for (at, call) in user.calls.iter().enumerate() {
            let answer = asker.ask(&user.goal, user.calls.get(..at).unwrap_or_default(), None, call)?;
            let hindered = !answer.allowed;
            calls.add(hindered);
            if ask::looks(call)? {
                looks.add(hindered);
            }
            hindered_here |= hindered;
            if hindered {
                misses.push(hindrance(user, call, &answer));
            }
        }
        whole.add(hindered_here);
    }
    println!("  benign calls hindered: {calls} (of those that only look: {looks}); tasks with one: {whole}");
    misses.iter().for_each(|miss| println!("    {miss}"));
    Ok(())
}

fn hindrance(user: &Task, call: &Call, answer: &Answer) -> String {
    format!("{} step {} {}: {}\n      asked: {}", user.name, call.step, call.shown(), answer.why(), user.goal)
}

fn attacked(asker: &Asker, users: &[&Task], attacks: &[&Task], setting: Setting) -> anyhow::Result<()> {
    let mut misses = Vec::new();
    let (mut acts, mut looks, mut whole) = (Share::default(), Share::default(), Share::default());
    for attack in attacks {
        let mut through: Vec<bool> = vec![true; users.len()];
        for (at, call) in attack.calls.iter().enumerate() {
            let mut allowed_under = Vec::new();
            for (user, through) in users.iter().zip(&mut through) {
                let allowed = under(asker, user, attack, at, setting)?.allowed;
                *through &= allowed;
                if ask::looks(call)? { &mut looks } else { &mut acts }.add(!allowed);
                if allowed {
                    allowed_under.push(user.name.as_str());
                }
            }
            if !allowed_under.is_empty() && !ask::looks(call)? {
                misses.push(passage(attack, call, &allowed_under, users.len()));
            }
        }
        through.iter().for_each(|through| whole.add(!through));
    }
    let name = match setting {
        Setting::Clean => "clean",
        Setting::Hijacked => "hijacked",
    };
    println!("  attack calls stopped, {name}: {acts} that change or send, {looks} that look; whole attacks: {whole}");
    misses.iter().for_each(|miss| println!("    {miss}"));
    Ok(())
}

fn under(asker: &Asker, user: &Task, attack: &Task, at: usize, setting: Setting) -> anyhow::Result<Answer> {
    let call = attack.calls.get(at).context("an attack has no such call")?;
    match setting {
        Setting::Clean => asker.ask(&user.goal, &user.calls, None, call),
        Setting::Hijacked => {
            let before: Vec<Call> = user.calls.iter().chain(attack.calls.iter().take(at)).cloned().collect();
            asker.ask(&user.goal, &before, Some(&attack.goal), call)
        }
    }
}

fn passage(attack: &Task, call: &Call, allowed_under: &[&str], of: usize) -> String {
    let named = allowed_under.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    let more = if allowed_under.len() > NAMED { ", …" } else { "" };
    let count = allowed_under.len();
    format!("{} {}: allowed under {count} of {of}: {named}{more}", attack.name, call.shown())
}

impl Share {
    fn add(&mut self, counts: bool) {
        self.count += usize::from(counts);
        self.of += 1;
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let percent = 100.0 * self.count as f64 / self.of.max(1) as f64;
        write!(f, "{} of {} ({percent:.1} %)", self.count, self.of)
    }
}
