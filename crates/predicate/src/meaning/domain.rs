//! Whether things that are said at once exclude one another.

use std::cmp::Ordering;

use super::{Known, place};
use crate::decimal::Decimal;
use crate::tree::{Expression, Operator, View};
use crate::value::Value;

/// One thing that is said of the facts.
#[derive(Clone, Debug)]
pub(super) enum Atom<'p> {
    /// An expression compares with a value in this way.
    Compares { key: Expression<'p>, operator: Operator, value: Value },
    /// An expression is one of these values, or none of them.
    OneOf { key: Expression<'p>, values: Vec<Value>, truth: bool },
    /// Two expressions compare in this way.
    Pair { left: Expression<'p>, operator: Operator, right: Expression<'p> },
    /// A value is in a list that depends on the facts, or is not.
    In { left: Expression<'p>, right: Expression<'p>, truth: bool },
    /// Any other condition has this truth.
    Holds(Expression<'p>, bool),
}

impl<'p> Atom<'p> {
    /// What it says something of; two for a pair.
    fn subjects(&self) -> Vec<Expression<'p>> {
        match self {
            Self::Compares { key, .. } | Self::OneOf { key, .. } => vec![*key],
            Self::Pair { left, right, .. } | Self::In { left, right, .. } => vec![*left, *right],
            Self::Holds(expression, _) => match expression.view() {
                View::Call { arguments, .. } => arguments,
                View::Matches { text, .. } => vec![text],
                View::Has { .. } => Vec::new(),
                _ => vec![*expression],
            },
        }
    }
}

/// Whether no two of these exclude each other, as far as that can be told.
pub(super) fn is_consistent(atoms: &[Atom<'_>], known: &[Known<'_>]) -> bool {
    let mut keys: Vec<Expression<'_>> = Vec::new();
    for atom in atoms {
        for subject in atom.subjects() {
            if !keys.contains(&subject) {
                keys.push(subject);
            }
        }
    }
    let pairs = || atoms.iter().enumerate().flat_map(|(at, one)| atoms.iter().skip(at + 1).map(move |two| (one, two)));
    !pairs().any(|(one, two)| exclude(one, two))
        && !atoms.iter().any(|atom| is_absent_and_read(atom, &keys))
        && keys.into_iter().all(|key| Domain::of(key, atoms).may_exist(key, known))
}

fn exclude(one: &Atom<'_>, two: &Atom<'_>) -> bool {
    match (one, two) {
        (Atom::Holds(one, truth), Atom::Holds(two, other)) => truth != other && one == two,
        (Atom::In { left, right, truth }, Atom::In { left: other_left, right: other_right, truth: other }) => {
            truth != other && left == other_left && right == other_right
        }
        (
            Atom::Pair { left, operator, right },
            Atom::Pair { left: other_left, operator: other, right: other_right },
        ) => {
            let same = left == other_left && right == other_right;
            let turned = left == other_right && right == other_left;
            (same && outcomes(*operator) & outcomes(*other) == 0)
                || (turned && outcomes(*operator) & outcomes(other.mirrored()) == 0)
        }
        _ => false,
    }
}

/// Whether it says that something is not there of which another one reads a value.
fn is_absent_and_read(atom: &Atom<'_>, keys: &[Expression<'_>]) -> bool {
    let Atom::Holds(expression, false) = atom else { return false };
    let View::Has { base, field } = expression.view() else { return false };
    let Some(mut absent) = base.map_or(Some(Vec::new()), place) else { return false };
    absent.push(field);
    keys.iter().any(|key| read_place(*key).is_some_and(|read| read.starts_with(&absent)))
}

/// The place that an expression reads a value of.
fn read_place(expression: Expression<'_>) -> Option<Vec<&str>> {
    match expression.view() {
        View::Call { arguments, .. } => read_place(*arguments.first()?),
        _ => place(expression),
    }
}

/// Of less, equal, more, and different in another way: those for which a comparison holds.
fn outcomes(operator: Operator) -> u8 {
    match operator {
        Operator::Equal => 0b0010,
        Operator::NotEqual => 0b1101,
        Operator::Less => 0b0100,
        Operator::LessOrEqual => 0b0110,
        Operator::Greater => 0b0001,
        Operator::GreaterOrEqual => 0b0011,
        _ => 0b1111,
    }
}

/// Whether two values are equal, numbers whatever their type.
pub(super) fn same(one: &Value, two: &Value) -> bool {
    match (one.as_decimal(), two.as_decimal()) {
        (Some(one), Some(two)) => one == two,
        _ => one == two,
    }
}

/// Whether a comparison of two values holds; `None` where they cannot be compared.
pub(super) fn holds(left: &Value, operator: Operator, right: &Value) -> Option<bool> {
    let order = match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        _ => left.as_decimal().zip(right.as_decimal()).map(|(left, right)| left.cmp(&right)),
    };
    Some(match (operator, order) {
        (Operator::Equal, _) => same(left, right),
        (Operator::NotEqual, _) => !same(left, right),
        (_, None) => return None,
        (Operator::Less, Some(order)) => order == Ordering::Less,
        (Operator::LessOrEqual, Some(order)) => order != Ordering::Greater,
        (Operator::Greater, Some(order)) => order == Ordering::Greater,
        (Operator::GreaterOrEqual, Some(order)) => order != Ordering::Less,
        (_, Some(_)) => return None,
    })
}

/// Whether one of two values is neither null nor of the type of the other one: then every comparison of them is unknown.
fn differ_in_type(one: &Value, two: &Value) -> bool {
    let is_number = |value: &Value| value.as_decimal().is_some();
    let either_null = *one == Value::Null || *two == Value::Null;
    !either_null && is_number(one) != is_number(two)
        || !either_null && !is_number(one) && one.type_name() != two.type_name()
}

/// What is said of one expression.
#[derive(Default)]
struct Domain<'p> {
    /// It is one of these.
    one_of: Option<Vec<Value>>,
    /// It is none of these.
    none_of: Vec<Value>,
    /// How it is ordered against values.
    ordered: Vec<(Operator, Value)>,
    texts: Vec<(TextTest<'p>, bool)>,
}

/// A condition on a text.
enum TextTest<'p> {
    Starts(&'p str),
    Ends(&'p str),
    Contains(&'p str),
    Matches(Expression<'p>),
}

impl<'p> Domain<'p> {
    fn of(key: Expression<'p>, atoms: &[Atom<'p>]) -> Self {
        let mut domain = Self::default();
        for atom in atoms {
            match atom {
                Atom::Compares { key: other, operator, value } if *other == key => match operator {
                    Operator::Equal => domain.restrict(std::slice::from_ref(value)),
                    Operator::NotEqual => domain.none_of.push(value.clone()),
                    operator => domain.ordered.push((*operator, value.clone())),
                },
                Atom::OneOf { key: other, values, truth } if *other == key => {
                    if *truth {
                        domain.restrict(values);
                    } else {
                        domain.none_of.extend(values.iter().cloned());
                    }
                }
                Atom::Holds(expression, truth) if *expression == key => domain.restrict(&[Value::Bool(*truth)]),
                Atom::Holds(expression, truth) => {
                    domain.texts.extend(text_test(*expression, key).map(|test| (test, *truth)));
                }
                _ => {}
            }
        }
        domain
    }

    fn restrict(&mut self, values: &[Value]) {
        let is_in = |value: &Value| values.iter().any(|other| same(other, value));
        match &mut self.one_of {
            Some(known) => known.retain(is_in),
            None => self.one_of = Some(values.to_vec()),
        }
    }

    /// Whether the expression may have a value of which all this is true.
    fn may_exist(&self, key: Expression<'_>, known: &[Known<'_>]) -> bool {
        if let Some(values) = &self.one_of {
            let place = place(key);
            let fits_known = |text: &str| {
                known.iter().filter(|known| place.as_deref() == Some(known.place)).all(|known| (known.may_be)(text))
            };
            return values
                .iter()
                .any(|value| self.admits(key, value) && !matches!(value, Value::String(text) if !fits_known(text)));
        }
        self.numbers_are_possible(key) && self.texts_are_possible(key)
    }

    fn admits(&self, key: Expression<'_>, value: &Value) -> bool {
        let comparable = |other: &Value| !differ_in_type(value, other);
        let is_free = self.none_of.iter().all(|other| comparable(other) && !same(value, other));
        let is_ordered = self.ordered.iter().all(|(operator, other)| match holds(value, *operator, other) {
            Some(truth) => truth,
            // An order of other types than numbers and texts is not looked at.
            None => comparable(other) && !matches!(value, Value::Null | Value::Bool(_)),
        });
        let fits = |(test, truth): &(TextTest<'_>, bool)| match value {
            Value::String(text) => test.holds(text) == *truth,
            _ => false,
        };
        is_free && is_ordered && self.texts.iter().all(fits) && is_result_of(key, value)
    }

    fn numbers_are_possible(&self, key: Expression<'_>) -> bool {
        let is_size = is_call(key, "size");
        let numbers = self.ordered.iter().filter_map(|(operator, value)| Some((*operator, value.as_decimal()?)));
        // The bounds, and whether they are excluded.
        let mut low: Option<(Decimal, bool)> = is_size.then_some((Decimal::ZERO, false));
        let mut high: Option<(Decimal, bool)> = None;
        for (operator, value) in numbers {
            let strict = matches!(operator, Operator::Less | Operator::Greater);
            match operator {
                Operator::Greater | Operator::GreaterOrEqual => {
                    if low.is_none_or(|(old, was)| value > old || (value == old && strict && !was)) {
                        low = Some((value, strict));
                    }
                }
                _ => {
                    if high.is_none_or(|(old, was)| value < old || (value == old && strict && !was)) {
                        high = Some((value, strict));
                    }
                }
            }
        }
        let (Some((low, above)), Some((high, below))) = (low, high) else { return true };
        match low.cmp(&high) {
            Ordering::Greater => false,
            Ordering::Equal => !above && !below && !self.none_of.iter().any(|value| value.as_decimal() == Some(low)),
            // No whole number is between two that follow each other.
            Ordering::Less if is_size && above && below => {
                high.minus(low).map_or(true, |gap| gap > Decimal::from(1_i64))
            }
            Ordering::Less => true,
        }
    }

    fn texts_are_possible(&self, key: Expression<'_>) -> bool {
        let is_lower = is_call(key, "lower");
        let holding = || self.texts.iter().filter(|(_, truth)| *truth).map(|(test, _)| test);
        let fails = |(test, truth): &(TextTest<'_>, bool)| {
            if *truth { is_lower && test.has_capitals() } else { test.holds_for_all() }
        };
        if self.texts.iter().any(fails)
            || (!self.texts.is_empty() && self.ordered.iter().any(|(_, value)| value.as_decimal().is_some()))
        {
            return false;
        }
        let mut pairs = holding().flat_map(|one| holding().map(move |two| (one, two)));
        let clash = pairs.any(|pair| match pair {
            (TextTest::Starts(one), TextTest::Starts(two)) => !one.starts_with(two) && !two.starts_with(one),
            (TextTest::Ends(one), TextTest::Ends(two)) => !one.ends_with(two) && !two.ends_with(one),
            _ => false,
        });
        let denied = || self.texts.iter().filter(|(_, truth)| !*truth).map(|(test, _)| test);
        !clash && !holding().any(|one| denied().any(|two| one.implies(two)))
    }
}

impl TextTest<'_> {
    fn holds(&self, text: &str) -> bool {
        match self {
            Self::Starts(part) => text.starts_with(part),
            Self::Ends(part) => text.ends_with(part),
            Self::Contains(part) => text.contains(part),
            Self::Matches(expression) => expression.finds(text).unwrap_or(true),
        }
    }

    fn holds_for_all(&self) -> bool {
        match self {
            Self::Starts(part) | Self::Ends(part) | Self::Contains(part) => part.is_empty(),
            Self::Matches(expression) => finds_everywhere(*expression),
        }
    }

    fn has_capitals(&self) -> bool {
        match self {
            Self::Starts(part) | Self::Ends(part) | Self::Contains(part) => part.to_lowercase() != **part,
            Self::Matches(_) => false,
        }
    }

    /// Whether a text for which this holds is one for which `other` does.
    fn implies(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Starts(one), Self::Starts(two)) => one.starts_with(two),
            (Self::Ends(one), Self::Ends(two)) => one.ends_with(two),
            (Self::Starts(one) | Self::Ends(one) | Self::Contains(one), Self::Contains(two)) => one.contains(two),
            _ => false,
        }
    }
}

/// Whether a pattern is found in every text: it matches nothing at all, and asks nothing of what is around that.
fn finds_everywhere(expression: Expression<'_>) -> bool {
    let View::Matches { pattern, .. } = expression.view() else { return false };
    let inner = pattern.strip_prefix('^').unwrap_or(pattern);
    let bare = matches!(inner, ".*" | ".*$");
    bare || (!pattern.contains(['^', '$', '\\']) && expression.finds("") == Some(true))
}

/// The condition on the text `key` that an expression is.
fn text_test<'p>(expression: Expression<'p>, key: Expression<'p>) -> Option<TextTest<'p>> {
    match expression.view() {
        View::Matches { text, .. } if text == key => Some(TextTest::Matches(expression)),
        View::Call { function, arguments } => {
            let [text, part] = arguments.as_slice() else { return None };
            let View::Constant(Value::String(part)) = part.view() else { return None };
            if *text != key {
                return None;
            }
            match function.name() {
                "startsWith" => Some(TextTest::Starts(part)),
                "endsWith" => Some(TextTest::Ends(part)),
                "contains" => Some(TextTest::Contains(part)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether the function that gives the key can give this value.
fn is_result_of(key: Expression<'_>, value: &Value) -> bool {
    if is_call(key, "lower") {
        return matches!(value, Value::String(text) if text.to_lowercase() == **text);
    }
    if is_call(key, "size") {
        return value.as_integer().is_some_and(|size| size >= 0);
    }
    true
}

fn is_call(key: Expression<'_>, name: &str) -> bool {
    matches!(key.view(), View::Call { function, .. } if function.name() == name)
}
