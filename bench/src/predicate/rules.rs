//! The rules, and what they say of a request.

use anyhow::{Context, bail};

/// The rules in the order of their file.
pub(crate) struct Rules {
    pub(crate) list: Vec<Rule>,
    /// Those that forbid.
    forbidding: u32,
}

/// One rule: it permits or forbids what its condition holds for.
pub(crate) struct Rule {
    pub(crate) id: String,
    pub(crate) condition: String,
    pub(crate) effect: Effect,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Effect {
    Permit,
    Forbid,
}

/// A decision and why; sets of rules have a bit for each, by its place in [`Rules`].
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) allowed: bool,
    /// The rules that decided: those that forbid, else those that permit.
    pub(crate) reasons: u32,
    /// All rules that hold, where the engine tells.
    pub(crate) holding: Option<u32>,
}

impl Rules {
    /// Reads lines of an id, a tab and a condition; ids start with `P` (permit) or `F` (forbid).
    pub(crate) fn read(text: &str) -> anyhow::Result<Self> {
        let list = text.lines().map(Rule::read).collect::<anyhow::Result<Vec<_>>>()?;
        if !(1..=32).contains(&list.len()) {
            bail!("{} rules do not fit the sets of this benchmark; give it 1 to 32", list.len());
        }
        let forbids = |(at, rule): (usize, &Rule)| u32::from(rule.effect == Effect::Forbid) << at;
        let forbidding = list.iter().enumerate().map(forbids).sum();
        Ok(Self { list, forbidding })
    }

    /// What is decided when these rules hold: one that forbids outweighs all that permit.
    pub(crate) fn answer(&self, holding: u32) -> Answer {
        let forbidding = holding & self.forbidding;
        Answer {
            allowed: holding != 0 && forbidding == 0,
            reasons: if forbidding == 0 { holding } else { forbidding },
            holding: Some(holding),
        }
    }

    /// The place of a rule, as a set.
    pub(crate) fn set_of(&self, id: &str) -> anyhow::Result<u32> {
        let at = self.list.iter().position(|rule| rule.id == id);
        at.map(|at| 1 << at).with_context(|| format!("there is no rule `{id}`"))
    }

    fn ids(&self, set: u32) -> Vec<&str> {
        let within = |at: &usize| set >> at & 1 == 1;
        self.list.iter().enumerate().filter(|(at, _)| within(at)).map(|(_, rule)| rule.id.as_str()).collect()
    }
}

impl Answer {
    /// Whether two answers are the same as far as both engines tell.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        let told = self.holding.zip(other.holding);
        self.allowed == other.allowed && self.reasons == other.reasons && told.is_none_or(|(a, b)| a == b)
    }

    /// The answer with the ids of its rules.
    pub(crate) fn show(&self, rules: &Rules) -> String {
        let decision = if self.allowed { "allows" } else { "denies" };
        let holding = self.holding.map(|set| format!(", holding {:?}", rules.ids(set))).unwrap_or_default();
        format!("{decision} for {:?}{holding}", rules.ids(self.reasons))
    }
}

impl Rule {
    fn read(line: &str) -> anyhow::Result<Self> {
        let (id, condition) = line.split_once('\t').with_context(|| format!("`{line}` has no tab after its id"))?;
        let effect = match id.bytes().next() {
            Some(b'P') => Effect::Permit,
            Some(b'F') => Effect::Forbid,
            _ => bail!("the rule `{id}` starts with neither `P` nor `F`"),
        };
        Ok(Self { id: id.to_owned(), condition: condition.to_owned(), effect })
    }
}
