//! What a decision receipt states, for those who show it: its signature is not checked here.

use proofmark_evidence::Scopes;
use proofmark_receipt::{Json, Object};

use crate::disposition::Disposition;
use crate::policy::ActionPolicy;
use crate::receipt::DecisionReceipt;

/// A reason of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatedReason<'a> {
    pub code: &'a str,
    pub message: &'a str,
    /// The rule's place, as in `boundaries[0].require[1]`.
    pub rule: &'a str,
    pub cause: Option<&'a str>,
    pub detail: Option<&'a str>,
}

/// What a reason says about its rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Lifted,
    Warning,
    Unknown,
    NotMet,
    Denied,
    Exempted,
    Blocked,
}

impl Standing {
    /// In the words of people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lifted => "lifted by an approval",
            Self::Warning => "warning",
            Self::Unknown => "unknown",
            Self::NotMet => "not met",
            Self::Denied => "denied",
            Self::Exempted => "exempted",
            Self::Blocked => "blocked",
        }
    }

    /// Whether the reason stops the action.
    #[must_use]
    pub fn stops(self) -> bool {
        !matches!(self, Self::Lifted | Self::Warning)
    }
}

impl StatedReason<'_> {
    /// What the reason says about its rule.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (self.cause, self.rule) {
            (Some("lifted"), _) => Standing::Lifted,
            (_, rule) if rule.contains(".warn[") => Standing::Warning,
            (Some("unknown"), _) => Standing::Unknown,
            (_, rule) if rule.contains(".require[") => Standing::NotMet,
            (_, rule) if rule.contains(".deny[") => Standing::Denied,
            (_, rule) if rule.starts_with("exemptions[") => Standing::Exempted,
            _ => Standing::Blocked,
        }
    }
}

/// A rule that was met, by this evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedRule<'a> {
    /// The rule's place.
    pub rule: &'a str,
    /// What it was met by, in words.
    pub by: Vec<String>,
}

impl DecisionReceipt {
    /// Why the action is blocked or warned about, in policy order.
    #[must_use]
    pub fn reasons(&self) -> Vec<StatedReason<'_>> {
        self.items("reasons")
            .filter_map(|json| {
                let text = |name| text(json, name);
                let (cause, detail) = (text("cause"), text("detail"));
                Some(StatedReason {
                    code: text("code")?,
                    message: text("message")?,
                    rule: text("rule")?,
                    cause,
                    detail,
                })
            })
            .collect()
    }

    /// The one of [`DecisionReceipt::reasons`] that says most about the outcome: what blocks by itself, then what is missing,
    /// then what only warns.
    #[must_use]
    pub fn main_reason(&self) -> Option<StatedReason<'_>> {
        self.reasons().into_iter().min_by_key(|reason| match reason.rule {
            _ if reason.cause == Some("lifted") => 2,
            rule if rule.contains(".warn[") => 3,
            rule if rule.contains(".require[") || rule == "repeat" => 1,
            _ => 0,
        })
    }

    /// The rules that read evidence and gave no reason to block or to warn, in policy order.
    #[must_use]
    pub fn rules_met(&self) -> Vec<StatedRule<'_>> {
        let reasons = self.reasons();
        let mut met: Vec<StatedRule<'_>> = Vec::new();
        for item in self.items("evidence") {
            let Some(rule) = text(item, "rule") else { continue };
            // A boundary whose `when` is false is listed with its evidence, and requires nothing.
            if !rule.contains(".require[") || reasons.iter().any(|reason| reason.rule == rule) {
                continue;
            }
            if met.last().is_none_or(|last| last.rule != rule) {
                met.push(StatedRule { rule, by: Vec::new() });
            }
            if let Some(last) = met.last_mut() {
                last.by.extend(evidence_words(item));
            }
        }
        met
    }

    /// What would make it an allow, all together.
    #[must_use]
    pub fn changes(&self) -> Vec<&str> {
        self.items_of(self.document().get("what_would_change_this")).filter_map(Json::as_str).collect()
    }

    /// Whether an approval is among what would make it an allow.
    #[must_use]
    pub fn asks_approval(&self) -> bool {
        let conditions = self.items_of(self.member("resume_contract", "conditions"));
        conditions.filter_map(Json::as_object).any(|condition| text(condition, "kind") == Some("approval"))
    }

    /// Whether approvals, and nothing else, would make it an allow.
    #[must_use]
    pub fn asks_approval_only(&self) -> bool {
        let conditions = self.items_of(self.member("resume_contract", "conditions"));
        let mut conditions = conditions.map(|condition| condition.as_object().and_then(|one| text(one, "kind")));
        self.asks_approval() && conditions.all(|kind| kind == Some("approval"))
    }

    /// What an approval in this role may reach beyond the one action: what all rules offer that ask for it here. Places of rules
    /// say nothing about another policy than the one that decided, so of that one it is what any rule of the role offers.
    #[must_use]
    pub fn scopes_offered(&self, policy: &ActionPolicy, role: &str) -> Scopes {
        if self.bound("policy_hash") != Some(policy.hash().to_string().as_str()) {
            return policy.approvals(role).map(|(_, demand)| demand.scopes).fold(Scopes::default(), Scopes::or);
        }
        let reasons = self.reasons();
        let asked = policy.approvals(role).filter(|(place, _)| reasons.iter().any(|reason| reason.rule == *place));
        asked.map(|(_, demand)| demand.scopes).reduce(Scopes::and).unwrap_or_default()
    }

    /// What it would have been without shadow mode.
    #[must_use]
    pub fn shadowed(&self) -> Option<Disposition> {
        let shadow = self.member("metadata", "shadow")?.as_object()?;
        Disposition::from_words(text(shadow, "outcome")?, text(shadow, "mode")?)
    }

    /// A text of `binding`: `action_hash`, `decided_at`, ….
    #[must_use]
    pub fn bound(&self, name: &str) -> Option<&str> {
        self.member("binding", name)?.as_str()
    }

    fn items<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Object> + use<'a> {
        self.items_of(self.document().get(name)).filter_map(Json::as_object)
    }

    fn items_of<'a>(&self, list: Option<&'a Json>) -> impl Iterator<Item = &'a Json> + use<'a> {
        list.and_then(Json::as_array).unwrap_or_default().iter()
    }
}

/// The words for an entry of `evidence` that met its rule.
fn evidence_words(item: &Object) -> Option<String> {
    match text(item, "kind")? {
        "receipt" | "approval" if item.get("used")?.as_bool()? => {
            let id = text(item.get("document")?.as_object()?, "receipt_id")?;
            Some(format!("{} {id}", text(item, "kind")?))
        }
        "fact" => Some(format!("`{}` is {}", text(item, "predicate")?, text(item, "truth")?)),
        // Calls are counted from 0 in the receipt, and from 1 for people.
        "tool_call" => {
            let call = item.get("call")?.as_number()?.as_u64()?.saturating_add(1);
            Some(format!("call {call}, of {}", text(item, "tool")?))
        }
        _ => None,
    }
}

fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}
