//! Conditions whose answer is assumed.

use proofmark_predicate::tree::{Expression, View};

/// The assumed answer of a condition, and of every other one that is written alike or is its negation: what one rule
/// takes for true, no other may take for false.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Assumption<'p> {
    expression: Expression<'p>,
    truth: bool,
}

impl<'p> Assumption<'p> {
    pub(crate) fn new(expression: Expression<'p>, truth: bool) -> Self {
        match expression.view() {
            View::Not(inner) => Self::new(inner, !truth),
            _ => Self { expression, truth },
        }
    }

    /// What a condition comes to under it, if it is about that condition.
    pub(crate) fn answer(&self, expression: Expression<'_>) -> Option<bool> {
        match expression.view() {
            View::Not(inner) => self.answer(inner).map(|truth| !truth),
            _ => (self.expression == expression).then_some(self.truth),
        }
    }

    /// Whether it and another one cannot both be so, as far as `!`, `&&` and `||` tell.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        self.follow(&mut own);
        other.follow(&mut others);
        own.iter().any(|one| others.iter().any(|other| one.expression == other.expression && one.truth != other.truth))
    }

    /// It, and what follows from it.
    fn follow(self, all: &mut Vec<Self>) {
        all.push(self);
        match (self.expression.view(), self.truth) {
            (View::And(items), true) | (View::Or(items), false) => {
                items.into_iter().for_each(|item| Self::new(item, self.truth).follow(all));
            }
            _ => {}
        }
    }
}
