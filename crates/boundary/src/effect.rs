//! What each rule did in a decision, for counting.

use crate::decide::Decision;
use crate::evidence::EvidenceItem;
use crate::judge::{RuleFinding, RuleStatus};
use crate::rule_ref::RuleKind;

/// The longest text of [`effects_text`], in bytes; rules that would make it longer are left out.
const MAX_TEXT: usize = 2 << 10;

/// What a rule did in a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleEffect {
    /// It had nothing against the action.
    Met,
    Warned,
    /// A person's approval met it, or lifted it.
    Lifted,
    /// It blocked, or would have without shadow mode.
    Stopped,
}

impl RuleEffect {
    const WORDS: [(&'static str, Self); 4] =
        [("met", Self::Met), ("warned", Self::Warned), ("lifted", Self::Lifted), ("stopped", Self::Stopped)];

    /// The word: `met`, `warned`, `lifted` or `stopped`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Warned => "warned",
            Self::Lifted => "lifted",
            Self::Stopped => "stopped",
        }
    }
}

/// The rules that were judged and what each did, as one line: `boundaries[0].require[1]:stopped repeat:met`. Decisions that
/// went the same way have the same line.
#[must_use]
pub fn effects_text(decision: &Decision) -> String {
    let mut text = String::new();
    for finding in decision.findings() {
        let Some(effect) = effect(finding) else { continue };
        let (rule, word) = (&finding.rule, effect.as_str());
        if text.len() + rule.len() + word.len() + 2 > MAX_TEXT {
            break;
        }
        let space = if text.is_empty() { "" } else { " " };
        text.push_str(&format!("{space}{rule}:{word}"));
    }
    text
}

/// The rules and their effects of a line that [`effects_text`] wrote.
pub fn read_effects(text: &str) -> impl Iterator<Item = (&str, RuleEffect)> {
    text.split(' ').filter_map(|part| {
        let (rule, word) = part.rsplit_once(':')?;
        let effect = RuleEffect::WORDS.iter().find(|(known, _)| *known == word)?.1;
        Some((rule, effect))
    })
}

fn effect(finding: &RuleFinding) -> Option<RuleEffect> {
    if finding.blocks.is_some() {
        return Some(RuleEffect::Stopped);
    }
    let has_approval =
        finding.evidence.iter().any(|item| matches!(item, EvidenceItem::Document { role: Some(_), refusal: None, .. }));
    match (finding.source.kind, finding.status) {
        (_, RuleStatus::NotApplicable) => None,
        (RuleKind::Warn, RuleStatus::Fails | RuleStatus::Unknown) => Some(RuleEffect::Warned),
        // A denial that an approval lifts has a reason, and does not block.
        (RuleKind::Deny, RuleStatus::Holds) if finding.reason.is_some() => Some(RuleEffect::Lifted),
        (RuleKind::Require, RuleStatus::Holds) if has_approval => Some(RuleEffect::Lifted),
        (RuleKind::Deny | RuleKind::Require | RuleKind::Warn, _) => Some(RuleEffect::Met),
        (
            RuleKind::Review
            | RuleKind::Class
            | RuleKind::Definition
            | RuleKind::Match
            | RuleKind::When
            | RuleKind::Unmatched
            | RuleKind::Repeat,
            _,
        ) => None,
    }
}
