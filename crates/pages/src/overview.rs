//! `/ui`: what waits, and what was decided and verified lately, in figures and plots.

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use proofmark_boundary::{ActionPolicy, Disposition};
use proofmark_receipt::Verdict;
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_store::{AgentCount, DecisionCount, Review, TaskTypeCount, VerdictCount, WaitingWanted};

use super::frame::{Frame, Here};
use super::html::html;
use super::plot::{Rows, Stacks};
use super::policy::{place, rule_counts};
use super::text::Shown;
use super::visit::Visit;
use super::words::{DAY, When, address, counted, number, spaced, span};

const HOUR: i64 = DAY / 24;
/// The periods: how many days, in words, and how many hours a bar has.
const PERIODS: [(i64, &str, i64); 3] = [(1, "24 hours", 1), (7, "7 days", 6), (30, "30 days", 24)];
/// How many rules and agents are shown.
const TOP: usize = 8;
/// How many findings are counted.
const MAX_FINDINGS: usize = 99;
/// How many reviews are looked at.
const MAX_REVIEWS: usize = 1_000;

/// The parts of bars: their class and their name.
const OUTCOMES: [(&str, &str); 3] = [("p", "allowed"), ("w", "held for a review"), ("f", "stopped")];
const VERDICTS: [(&str, &str); 4] = [("p", "pass"), ("w", "partial"), ("f", "fail"), ("e", "error")];
const RULE_PARTS: [(&str, &str); 2] = [("f", "stopped"), ("p", "lifted")];
const AGENT_PARTS: [(&str, &str); 2] = [("p", "allowed"), ("f", "stopped")];
const TYPE_PARTS: [(&str, &str); 2] = [("p", "passed"), ("f", "did not")];
const WAIT_PARTS: [(&str, &str); 1] = [("s", "reviewed")];

/// The upper ends of the spans that waits are counted in, and their names.
const WAITS: [(i64, &str); 6] = [
    (60_000, "under 1 min"),
    (5 * 60_000, "1 to 5 min"),
    (15 * 60_000, "5 to 15 min"),
    (HOUR, "15 to 60 min"),
    (4 * HOUR, "1 to 4 h"),
    (i64::MAX, "over 4 h"),
];

#[derive(Template)]
#[template(path = "overview.html")]
struct OverviewPage {
    frame: Frame,
    periods: Vec<(&'static str, String, bool)>,
    period: &'static str,
    tiles: Vec<Tile>,
    decisions: Plot,
    verdicts: Plot,
    rules: Rows<Shown>,
    agents: Rows<Shown>,
    types: Rows<Shown>,
    waits: Waits,
    has_policy: bool,
}

struct Tile {
    figure: String,
    words: String,
    more: String,
    href: &'static str,
    class: &'static str,
}

/// A plot, and the kinds of its parts.
struct Plot {
    title: &'static str,
    kinds: &'static [(&'static str, &'static str)],
    stacks: Stacks,
    first: String,
    last: String,
}

struct Waits {
    rows: Rows<Shown>,
    median: String,
    p99: String,
    count: usize,
}

/// The hours of a period, in bars.
struct Bars {
    since: i64,
    /// How long one bar is, in milliseconds.
    length: i64,
    count: usize,
}

impl Bars {
    /// Those that end with the hour of now.
    fn new(now: i64, days: i64, hours: i64) -> Self {
        let (length, count) = (hours * HOUR, days * 24 / hours);
        // The store counts by whole hours: a bar that ended within one would have a part of its count.
        let end = now.div_euclid(HOUR).saturating_add(1).saturating_mul(HOUR);
        Self { since: end.saturating_sub(length * count), length, count: usize::try_from(count).unwrap_or_default() }
    }

    fn index(&self, at: i64) -> Option<usize> {
        usize::try_from(at.saturating_sub(self.since).div_euclid(self.length)).ok().filter(|index| *index < self.count)
    }

    fn label(&self, index: usize) -> String {
        let at = self.since.saturating_add(self.length.saturating_mul(i64::try_from(index).unwrap_or_default()));
        let words = When::full(at).words();
        // The bars are of whole hours, so seconds would only take room.
        match self.length {
            DAY => super::words::date(at),
            _ => words.replace(":00:00 UTC", ":00 UTC"),
        }
    }

    fn plot(
        &self,
        title: &'static str,
        kinds: &'static [(&'static str, &'static str)],
        counts: impl Iterator<Item = (i64, usize, u64)>,
    ) -> Plot {
        let mut bars = vec![vec![0_u64; kinds.len()]; self.count];
        for (at, kind, count) in counts {
            // A clock that was set back can have left counts of hours to come.
            let cell = self.index(at).and_then(|index| bars.get_mut(index)?.get_mut(kind));
            if let Some(cell) = cell {
                *cell = cell.saturating_add(count);
            }
        }
        let labelled = bars.into_iter().enumerate().map(|(index, counts)| (self.label(index), counts)).collect();
        let last = self.label(self.count.saturating_sub(1));
        Plot { title, kinds, stacks: Stacks::new(kinds, labelled), first: self.label(0), last }
    }
}

/// `GET /ui?days=`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    let context = &visit.context;
    context.only(&["days"])?;
    let (store, now) = (context.store(), visit.now);
    let asked = context.parsed::<i64>("days", "1, 7 or 30")?.unwrap_or(1);
    let (days, period, hours) = PERIODS.into_iter().find(|(days, _, _)| *days == asked).unwrap_or((1, "24 hours", 1));
    let bars = Bars::new(now, days, hours);
    let decisions = store.decision_counts(bars.since)?;
    let verdicts = store.verdicts_by_hour(bars.since)?;
    let reviews = store.reviews_since(bars.since, MAX_REVIEWS)?;
    let agents = store.agent_counts(bars.since, TOP)?;
    let policies = context.decider.policies_of(&context.caller.tenant);
    let page = OverviewPage {
        frame: Frame::of(visit, Here::Overview, "Overview")?,
        periods: periods(days),
        period,
        tiles: tiles(visit, &decisions, &verdicts)?,
        decisions: bars.plot("Decisions", &OUTCOMES, decisions.iter().map(outcome)),
        verdicts: bars.plot("Verdicts", &VERDICTS, verdicts.iter().map(verdict)),
        rules: rules(&decisions, &policies),
        agents: by_agent(&agents),
        types: by_type(&store.task_type_counts(TOP)?),
        waits: waits(&reviews),
        has_policy: !policies.is_empty(),
    };
    html(&page)
}

fn periods(chosen: i64) -> Vec<(&'static str, String, bool)> {
    let periods = PERIODS.into_iter();
    periods.map(|(days, words, _)| (words, address("/ui", &[("days", &days.to_string())]), days == chosen)).collect()
}

/// When a group of decisions was made, its kind, and how many they are.
fn outcome(count: &DecisionCount) -> (i64, usize, u64) {
    let is_held = Disposition::from_words(&count.outcome, &count.mode) == Some(Disposition::HumanReview);
    let kind = match (count.allowed, is_held) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    (count.hour, kind, count.decisions)
}

/// As [`outcome`], of receipts.
fn verdict(count: &VerdictCount) -> (i64, usize, u64) {
    let kind = match count.verdict {
        Verdict::Pass => 0,
        Verdict::Partial => 1,
        Verdict::Fail => 2,
        Verdict::Error => 3,
    };
    (count.hour, kind, count.receipts)
}

fn tiles(visit: &Visit<'_>, decisions: &[DecisionCount], verdicts: &[VerdictCount]) -> Result<Vec<Tile>, Problem> {
    let store = visit.context.store();
    let waiting = store.waiting_count(&WaitingWanted::default())?;
    let longest = store.waiting(&WaitingWanted::default(), 1)?.0.first().map(|one| visit.now.saturating_sub(one.since));
    let decided: u64 = decisions.iter().map(|count| count.decisions).sum();
    let allowed: u64 = decisions.iter().filter(|count| count.allowed).map(|count| count.decisions).sum();
    let receipts: u64 = verdicts.iter().map(|count| count.receipts).sum();
    let passed: u64 = verdicts.iter().filter(|count| count.verdict == Verdict::Pass).map(|count| count.receipts).sum();
    let findings = store.findings(None, MAX_FINDINGS, None)?;
    let newest = findings.findings.first();
    // Counting all of them would read every finding there ever was.
    let more = if findings.next.is_some() { "+" } else { "" };
    Ok(vec![
        Tile {
            figure: number(waiting),
            words: if waiting == 1 { "decision waits".to_owned() } else { "decisions wait".to_owned() },
            more: longest.map_or_else(
                || "nobody has to do anything".to_owned(),
                |longest| format!("the longest for {}", span(longest)),
            ),
            href: "/ui/waiting",
            class: if waiting > 0 { "is-wait" } else { "" },
        },
        Tile {
            figure: number(decided),
            words: if decided == 1 { "decision".to_owned() } else { "decisions".to_owned() },
            more: share(allowed, decided, "allowed"),
            href: "/ui/decisions",
            class: "",
        },
        Tile {
            figure: number(receipts),
            words: if receipts == 1 { "receipt issued".to_owned() } else { "receipts issued".to_owned() },
            more: share(passed, receipts, "passed"),
            href: "/ui/receipts",
            class: "",
        },
        Tile {
            figure: format!("{}{more}", findings.findings.len()),
            words: if findings.findings.len() == 1 { "finding".to_owned() } else { "findings".to_owned() },
            more: newest.map_or_else(
                || "every execution matches its decision".to_owned(),
                |newest| format!("the newest {}", super::words::ago(visit.now, newest.found_at)),
            ),
            href: "/ui/findings",
            class: if newest.is_some() { "is-fail" } else { "" },
        },
    ])
}

fn share(part: u64, whole: u64, word: &str) -> String {
    match whole {
        0 => "none in this time".to_owned(),
        // The share is rounded down, so that "100 %" means all.
        whole => format!("{} % {word}", u128::from(part) * 100 / u128::from(whole)),
    }
}

/// The rules that stopped most.
fn rules(decisions: &[DecisionCount], policies: &[(String, Arc<ActionPolicy>)]) -> Rows<Shown> {
    let mut rows = Vec::new();
    for (name, policy) in policies {
        let (counts, _) = rule_counts(decisions, policy);
        let names = super::decision::RuleNames { policy: Some(policy) };
        let counts = counts.into_iter().filter(|(_, counts)| counts.stopped + counts.lifted > 0);
        rows.extend(
            counts.map(|(rule, counts)| (names.words(&rule), Some(place(name)), vec![counts.stopped, counts.lifted])),
        );
    }
    // By what they stopped: what was lifted did not cost the agent its action.
    rows.sort_by_key(|(_, _, counts)| std::cmp::Reverse(counts.first().copied().unwrap_or_default()));
    rows.truncate(TOP);
    Rows::new(&RULE_PARTS, rows)
}

fn by_agent(agents: &[AgentCount]) -> Rows<Shown> {
    let rows = agents.iter().map(|count| {
        let named = !count.agent.is_empty();
        let name = if named { Shown::line(&count.agent, 80) } else { "without a name".into() };
        // The list cannot be narrowed to agents without a name.
        let href = named.then(|| address("/ui/decisions", &[("agent", &count.agent)]));
        (name, href, vec![count.allowed, count.stopped])
    });
    Rows::new(&AGENT_PARTS, rows.collect())
}

fn by_type(types: &[TaskTypeCount]) -> Rows<Shown> {
    let rows = types.iter().map(|count| {
        let name =
            count.task_type.as_deref().map_or_else(|| "without a type".into(), |name| Shown::line(&spaced(name), 80));
        (name, None, vec![count.passed, count.others])
    });
    Rows::new(&TYPE_PARTS, rows.collect())
}

/// How long decisions waited for their reviews.
fn waits(reviews: &[(Review, i64)]) -> Waits {
    let mut all: Vec<i64> =
        reviews.iter().map(|(review, decided)| review.reviewed_at.saturating_sub(*decided)).collect();
    // These are percentiles, because one decision over a weekend would move a mean by hours.
    all.sort_unstable();
    let at = |percent: usize| all.get((all.len() * percent / 100).min(all.len().saturating_sub(1))).copied();
    let mut spans: BTreeMap<usize, u64> = BTreeMap::new();
    for wait in &all {
        // The last span has no end.
        let place = WAITS.iter().position(|(end, _)| wait < end).unwrap_or(WAITS.len() - 1);
        *spans.entry(place).or_default() += 1;
    }
    let rows = WAITS
        .iter()
        .enumerate()
        .map(|(place, (_, name))| (Shown::from(*name), None, vec![spans.get(&place).copied().unwrap_or_default()]));
    let words = |wait: Option<i64>| wait.map(span).unwrap_or_default();
    Waits { rows: Rows::new(&WAIT_PARTS, rows.collect()), median: words(at(50)), p99: words(at(99)), count: all.len() }
}

impl Waits {
    fn words(&self) -> String {
        // The store was asked for so many, and may have more.
        let at_least = if self.count == MAX_REVIEWS { "the last " } else { "" };
        format!("{at_least}{}", counted(self.count as u64, "review"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_ends_with_the_hour_of_now() {
        let now = 1_795_284_072_000;
        for (days, _, hours) in PERIODS {
            let bars = Bars::new(now, days, hours);
            assert_eq!(bars.index(now), Some(bars.count - 1), "{days}");
            assert_eq!((bars.index(bars.since), bars.index(bars.since - 1)), (Some(0), None), "{days}");
        }
        assert_eq!(Bars::new(now, 1, 1).label(23), "21 Nov 2026, 18:00 UTC");
    }

    #[test]
    fn shares_of_nothing_are_none() {
        assert_eq!((share(0, 0, "x"), share(1, 3, "x")), ("none in this time".to_owned(), "33 % x".to_owned()));
        assert_eq!(waits(&[]).count, 0);
    }
}
