//! Conditions whose answer is assumed.

use proofmark_predicate::tree::{Expression, View};

/// The assumed truth of a condition. It holds for every condition that is written the same or as its negation, so that no
/// rule assumes true what another one assumes false.
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

    /// The truth of a condition under this assumption, if it says anything about it.
    pub(crate) fn answer(&self, expression: Expression<'_>) -> Option<bool> {
        match expression.view() {
            View::Not(inner) => self.answer(inner).map(|truth| !truth),
            _ => (self.expression == expression).then_some(self.truth),
        }
    }

    /// Whether it and another one exclude each other, as far as `!`, `&&` and `||` show.
    pub(crate) fn contradicts(&self, other: &Self) -> bool {
        let (mut own, mut others) = (Vec::new(), Vec::new());
        self.follow(&mut own);
        other.follow(&mut others);
        own.iter().any(|one| others.iter().any(|other| one.expression == other.expression && one.truth != other.truth))
    }

    /// Adds it and what follows from it.
    fn follow(self, all: &mut Vec<Self>) {
        all.push(self);
        match (self.expression.view(), self.truth) {
            // Only these two say something about each part; a false `&&` leaves open which of its parts is false.
            (View::And(items), true) | (View::Or(items), false) => {
                items.into_iter().for_each(|item| Self::new(item, self.truth).follow(all));
            }
            _ => {}
        }
    }
}
