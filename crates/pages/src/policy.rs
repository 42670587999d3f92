//! `/ui/policy`: the action policy in words, and what each of its rules did in the last days.

use std::collections::BTreeMap;

use askama::Template;
use proofmark_boundary::{ActionPolicy, BoundaryWords, Mode, RuleEffect, explain_boundaries, read_effects};
use proofmark_server::problem::Problem;
use proofmark_server::reply::Reply;
use proofmark_store::DecisionCount;

use super::frame::{Frame, Here};
use super::html::html;
use super::text::{Coded, Shown};
use super::visit::Visit;
use super::words::{DAY, address, number, short_digest};

/// How far back rules are counted.
const DAYS: i64 = 7;
/// The name of the policy that is asked where none is named.
const DEFAULT: &str = "default";
/// From how many stops on it is said that nearly all were approved, and how many of a hundred that takes.
const MANY: u64 = 10;
const NEARLY_ALL: u64 = 90;

#[derive(Template)]
#[template(path = "policy.html")]
struct PolicyPage {
    frame: Frame,
    hash: (String, String),
    is_shadow: bool,
    boundaries: Vec<BoundaryView>,
    /// Whether it is of less weight, and the words.
    rest: Vec<(bool, Coded)>,
    /// Whether decisions were made by another policy in that time.
    others: bool,
    name: String,
    /// The names of the policies that can be shown, and where; none where there is only this one.
    names: Vec<(String, String)>,
    decided: String,
    days: i64,
}

#[derive(Template)]
#[template(path = "no-policy.html")]
struct NoPolicyPage {
    frame: Frame,
}

struct BoundaryView {
    id: Shown,
    matches: Coded,
    when: Option<Shown>,
    rules: Vec<RuleView>,
}

struct RuleView {
    words: Coded,
    counts: RuleCounts,
    hint: Option<String>,
}

/// What a rule did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleCounts {
    pub(crate) asked: u64,
    pub(crate) stopped: u64,
    pub(crate) lifted: u64,
    pub(crate) warned: u64,
}

impl RuleCounts {
    fn shown(&self) -> Vec<(&'static str, String)> {
        let all = [("asked", self.asked), ("stopped", self.stopped), ("lifted", self.lifted), ("warned", self.warned)];
        // How often it was asked is shown even where that is never.
        all.into_iter()
            .filter(|(name, count)| *count > 0 || *name == "asked")
            .map(|(name, count)| (name, number(count)))
            .collect()
    }

    /// What stands out, of a policy that made so many decisions.
    fn hint(&self, decided: u64) -> Option<String> {
        match *self {
            // Nothing can be said of the rules of a policy that was not asked.
            Self { asked: 0, .. } => (decided > 0).then(|| format!("not used in {DAYS} days")),
            Self { stopped: 0, lifted: 0, warned: 0, asked } if asked >= MANY => {
                Some(format!("no effect in {DAYS} days"))
            }
            Self { stopped, lifted, .. } if stopped >= MANY && lifted * 100 >= stopped * NEARLY_ALL => {
                Some(format!("stopped {} times and lifted {} times: is it needed?", number(stopped), number(lifted)))
            }
            _ => None,
        }
    }
}

/// What the rules of this policy did, by their places; and how many decisions that were.
pub(crate) fn rule_counts(counts: &[DecisionCount], policy: &ActionPolicy) -> (BTreeMap<String, RuleCounts>, u64) {
    let (mut rules, mut decided) = (BTreeMap::<String, RuleCounts>::new(), 0_u64);
    for count in counts {
        // Places of another policy's rules mean other rules here.
        let Some(judged) = count.judged.as_ref().filter(|judged| judged.policy == policy.hash()) else { continue };
        decided = decided.saturating_add(count.decisions);
        for (rule, effect) in read_effects(&judged.rules) {
            // Every rule that read evidence was asked, also one that was met.
            let entry = rules.entry(rule.to_owned()).or_default();
            entry.asked = entry.asked.saturating_add(count.decisions);
            let more = match effect {
                RuleEffect::Met => continue,
                RuleEffect::Warned => &mut entry.warned,
                RuleEffect::Lifted => &mut entry.lifted,
                RuleEffect::Stopped => &mut entry.stopped,
            };
            *more = more.saturating_add(count.decisions);
        }
    }
    (rules, decided)
}

/// Where the policy of this name is shown.
pub(crate) fn place(name: &str) -> String {
    address("/ui/policy", &[("name", if name == DEFAULT { "" } else { name })])
}

/// Where a policy that the tenant can ask is shown.
pub(crate) fn address_of(visit: &Visit<'_>, policy: &ActionPolicy) -> String {
    let all = visit.context.decider.policies_of(&visit.context.caller.tenant);
    let found = all.iter().find(|(_, one)| one.hash() == policy.hash());
    found.map_or_else(|| "/ui/policy".to_owned(), |(name, _)| place(name))
}

/// `GET /ui/policy?name=`.
pub(crate) fn show(visit: &Visit<'_>) -> Result<Reply, Problem> {
    visit.context.only(&["name"])?;
    let frame = Frame::of(visit, Here::Policy, "Policy")?;
    let all = visit.context.decider.policies_of(&visit.context.caller.tenant);
    let named = visit.context.parameter("name");
    let shown = match named {
        Some(named) => Some(all.iter().find(|(name, _)| name == named).ok_or_else(|| Problem::not_found("policy"))?),
        // The one that is asked where none is named comes first.
        None => all.iter().find(|(name, _)| name == DEFAULT).or(all.first()),
    };
    let Some((name, policy)) = shown else { return html(&NoPolicyPage { frame }) };
    let counts = visit.context.store().decision_counts(visit.now.saturating_sub(DAYS * DAY))?;
    let (rules, decided) = rule_counts(&counts, policy);
    let (boundaries, rest) = explain_boundaries(policy);
    let hash = policy.hash().to_string();
    let judged = counts.iter().filter_map(|count| count.judged.as_ref());
    let others = judged.map(|judged| judged.policy).any(|hash| hash != policy.hash());
    let page = PolicyPage {
        frame,
        hash: (short_digest(&hash), hash),
        is_shadow: policy.mode() == Mode::Shadow,
        boundaries: boundaries.into_iter().map(|boundary| BoundaryView::of(boundary, &rules, decided)).collect(),
        rest: rest.into_iter().map(|(depth, line)| (depth > 0, Shown::with_code(&line))).collect(),
        others,
        name: name.clone(),
        names: if all.len() > 1 {
            all.iter().map(|(name, _)| (name.clone(), place(name))).collect()
        } else {
            Vec::new()
        },
        decided: number(decided),
        days: DAYS,
    };
    html(&page)
}

impl BoundaryView {
    fn of(boundary: BoundaryWords, counts: &BTreeMap<String, RuleCounts>, decided: u64) -> Self {
        let rules = boundary.rules.into_iter().map(|rule| {
            let counts = counts.get(&rule.place).copied().unwrap_or_default();
            RuleView { words: Shown::with_code(&rule.words), hint: counts.hint(decided), counts }
        });
        Self {
            id: boundary.id.into(),
            matches: Shown::with_code(&boundary.matches),
            when: boundary.when.map(Shown::from),
            rules: rules.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_do_nothing_or_are_always_lifted_stand_out() {
        let hint = |[asked, stopped, lifted, warned]: [u64; 4], decided| {
            RuleCounts { asked, stopped, lifted, warned }.hint(decided)
        };
        assert_eq!(hint([0, 0, 0, 0], 0), None, "a policy that was not asked");
        assert_eq!(hint([0, 0, 0, 0], 1).as_deref(), Some("not used in 7 days"));
        assert_eq!(hint([9, 0, 0, 0], 9), None, "too few to say");
        assert_eq!(hint([10, 0, 0, 0], 10).as_deref(), Some("no effect in 7 days"));
        assert_eq!(hint([10, 0, 0, 1], 10), None, "it has warned");
        let lifted = Some("stopped 10 times and lifted 9 times: is it needed?".to_owned());
        assert_eq!((hint([19, 10, 9, 0], 19), hint([18, 10, 8, 0], 18)), (lifted, None));
        assert_eq!(hint([18, 9, 9, 0], 18), None, "too few stops");
    }
}
