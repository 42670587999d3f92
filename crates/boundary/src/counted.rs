//! What limits had counted when a decision was made, and what it adds, as its receipt has both.

use proofmark_predicate::Decimal;
use proofmark_receipt::{Json, Object, Sha256Digest};

/// What was counted under a key when a decision was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    pub key: Sha256Digest,
    /// How many actions, ever.
    pub actions: u64,
    /// What they come to, ever.
    pub total: Decimal,
    /// What those within the limit's window come to.
    pub used: Decimal,
}

/// What a limit had counted when an action was decided on, and what the action adds.
#[derive(Clone, Debug, PartialEq)]
pub struct LimitUse {
    pub counted: Counted,
    /// What the action adds, where it was allowed and the limit is about it.
    pub amount: Option<Decimal>,
    /// The limit's id, the values that it counts apart, its window and its bounds, as receipts have them.
    pub(crate) about: Object,
}

impl Counted {
    /// Nothing so far.
    #[must_use]
    pub fn nothing(key: Sha256Digest) -> Self {
        Self { key, actions: 0, total: Decimal::ZERO, used: Decimal::ZERO }
    }

    /// What was counted with the last action under a key. `before` is the last one before the window; none where the window has all.
    /// None where the numbers cannot be held exactly.
    #[must_use]
    pub fn up_to(last: &CountedAction, before: Option<&CountedAction>) -> Option<Self> {
        let used = before.map_or(Ok(last.total), |before| last.total.minus(before.total)).ok()?;
        Some(Self { key: last.key, actions: last.nth, total: last.total, used })
    }

    /// Reads it where a decision receipt has it; none for what is not of that form.
    pub(crate) fn read(json: &Json) -> Option<Self> {
        let object = json.as_object()?;
        let number = |name: &str| object.get(name)?.as_str()?.parse().ok();
        Some(Self {
            key: object.get("key")?.as_str()?.parse().ok()?,
            actions: object.get("actions")?.as_number()?.as_u64()?,
            total: number("total")?,
            used: number("used")?,
        })
    }
}

impl LimitUse {
    /// The action as it is counted; none where it is not.
    #[must_use]
    pub fn action(&self) -> Option<CountedAction> {
        CountedAction::after(&self.counted, self.amount?)
    }

    /// What [`Counted::read`] reads, with what people want to know beside it.
    pub(crate) fn to_json(&self) -> Json {
        let mut object = self.about.clone();
        object.insert("used", self.counted.used.to_string());
        if let Some(amount) = self.amount {
            object.insert("amount", amount.to_string());
        }
        object.insert("actions", self.counted.actions);
        object.insert("total", self.counted.total.to_string());
        object.insert("key", self.counted.key.to_string());
        object.into()
    }
}

/// An action that a decision has counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedAction {
    pub key: Sha256Digest,
    /// Which action under the key it is, counted from 1.
    pub nth: u64,
    /// What they come to with this one.
    pub total: Decimal,
}

impl CountedAction {
    /// What the document of a decision says that it has counted.
    #[must_use]
    pub fn of_document(decision: &Object) -> Vec<Self> {
        let limits = decision.get("binding").and_then(|binding| binding.as_object()?.get("limits")?.as_array());
        let counted = limits.unwrap_or_default().iter().filter_map(|limit| {
            let amount: Decimal = limit.as_object()?.get("amount")?.as_str()?.parse().ok()?;
            Self::after(&Counted::read(limit)?, amount)
        });
        counted.collect()
    }

    fn after(counted: &Counted, amount: Decimal) -> Option<Self> {
        let total = counted.total.plus(amount).ok()?;
        Some(Self { key: counted.key, nth: counted.actions.checked_add(1)?, total })
    }
}
