//! Which rules of a policy are reached by cases.

use std::collections::BTreeMap;

use proofmark_receipt::document::counted;

use crate::decide::Decision;
use crate::judge::RuleStatus;
use crate::policy::ActionPolicy;

/// How often cases reached each rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    rules: Vec<RuleHits>,
}

/// How often cases reached one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleHits {
    /// Its place in the policy; for a boundary the counts say how often it applied.
    pub rule: String,
    pub boundary: String,
    /// Its place with the id of the boundary, as in `deploy.require[0]`.
    pub name: String,
    pub held: u64,
    /// How often it failed or was unknown, so that it had an effect.
    pub hit: u64,
}

impl RuleHits {
    /// What the counts mean, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let (held, hit) = (counted(self.held, "time"), counted(self.hit, "time"));
        match self.rule.rsplit_once('.').map(|(_, kind)| kind.split('[').next().unwrap_or(kind)) {
            Some("deny") => format!("did not apply {held}, denied {hit}"),
            Some("require") => format!("was met {held}, blocked {hit}"),
            Some("warn") => format!("did not apply {held}, warned {hit}"),
            _ => format!("applied {held}, was unknown {hit}"),
        }
    }
}

impl Coverage {
    /// Coverage by no case.
    #[must_use]
    pub fn new(policy: &ActionPolicy) -> Self {
        let mut rules = Vec::new();
        for boundary in &policy.boundaries {
            let mut add = |rule: &str| {
                let boundary = boundary.id.to_string();
                let name = policy.rule_name(rule);
                rules.push(RuleHits { rule: rule.to_owned(), boundary, name, held: 0, hit: 0 });
            };
            add(&boundary.at);
            boundary.deny.iter().for_each(|rule| add(&rule.at));
            boundary.require.iter().for_each(|rule| add(&rule.at));
            boundary.warn.iter().for_each(|rule| add(&rule.at));
        }
        Self { rules }
    }

    /// Adds the rules that one decision reached.
    pub fn add(&mut self, decision: &Decision) {
        let at: BTreeMap<&str, usize> =
            self.rules.iter().enumerate().map(|(index, rule)| (rule.rule.as_str(), index)).collect();
        let reached: Vec<_> =
            decision.findings().iter().filter_map(|finding| Some((*at.get(&*finding.rule)?, finding.status))).collect();
        for (index, status) in reached {
            let Some(rule) = self.rules.get_mut(index) else { continue };
            match status {
                RuleStatus::Holds => rule.held += 1,
                RuleStatus::Fails | RuleStatus::Unknown => rule.hit += 1,
                RuleStatus::NotApplicable => {}
            }
        }
    }

    /// All rules, in policy order.
    #[must_use]
    pub fn rules(&self) -> &[RuleHits] {
        &self.rules
    }

    /// The rules that no case reached: those of boundaries that never matched.
    pub fn never_reached(&self) -> impl Iterator<Item = &RuleHits> {
        self.rules.iter().filter(|rule| rule.held == 0 && rule.hit == 0)
    }

    /// The rules that never had an effect: denials that never applied, requirements that were always met.
    pub fn never_hit(&self) -> impl Iterator<Item = &RuleHits> {
        // Without a dot it is `boundaries[0]` itself, which blocks only while its `match` or `when` is unknown.
        self.rules.iter().filter(|rule| rule.hit == 0 && rule.rule.matches('.').count() > 0)
    }
}
