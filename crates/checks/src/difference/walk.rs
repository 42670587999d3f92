//! Finds what differs in two values, each pair of members compared once.

use std::collections::{HashMap, VecDeque};

use super::Comparison;
use super::align::{MAX_ALIGNED, Step, align};
use crate::compare::{canonical_entries, canonical_key, equal};
use crate::value::Value;

/// After so many differences the rest is not compared.
const MAX_FOUND: usize = 40;

/// How many values are looked at a second time to align members.
const MAX_EFFORT: usize = 1_000_000;

/// Of equal members in a row, how many of the first are kept; a value with more is never shown on one line.
pub(super) const KEPT_FIRST: usize = 24;
/// And how many of the last.
pub(super) const KEPT_LAST: usize = 2;

/// Two values that differ.
pub(super) enum Found<'a> {
    /// As a whole.
    Whole(&'a Value, &'a Value),
    /// In their members.
    Inside(Inside<'a>),
}

/// Two containers of a kind, some of whose members differ.
pub(super) struct Inside<'a> {
    pub(super) expected: &'a Value,
    pub(super) parts: Vec<Part<'a>>,
}

/// A part of two containers.
pub(super) enum Part<'a> {
    Same(Run<'a>),
    Pair(Member<'a>, Member<'a>, Found<'a>),
    Missing(Member<'a>),
    Extra(Member<'a>),
    /// Members that were not compared.
    Rest,
}

/// A member of a container, with its position there.
#[derive(Clone, Copy)]
pub(super) struct Member<'a> {
    pub(super) index: usize,
    /// The key, in dicts and Maps.
    pub(super) key: Option<&'a Value>,
    pub(super) value: &'a Value,
}

/// Equal members in a row, as the expected side has them.
#[derive(Default)]
pub(super) struct Run<'a> {
    pub(super) count: usize,
    pub(super) first: Vec<Member<'a>>,
    pub(super) last: VecDeque<Member<'a>>,
}

/// What differs; `None` where the values are equal.
pub(super) fn differ<'a>(expected: &'a Value, answer: &'a Value, by: Comparison) -> Option<Found<'a>> {
    Walk { by, found: 0, effort: MAX_EFFORT }.differ(expected, answer)
}

struct Walk {
    by: Comparison,
    found: usize,
    effort: usize,
}

impl Walk {
    fn differ<'a>(&mut self, expected: &'a Value, answer: &'a Value) -> Option<Found<'a>> {
        let parts = match (expected, answer) {
            (Value::List(left), Value::List(right)) | (Value::Tuple(left), Value::Tuple(right)) => {
                self.items(left, right)
            }
            (Value::List(left), Value::Tuple(right)) | (Value::Tuple(left), Value::List(right))
                if self.by.rules.json =>
            {
                self.items(left, right)
            }
            (Value::Dict(left), Value::Dict(right)) | (Value::Map(left), Value::Map(right)) => {
                match self.members(left, right) {
                    Ok(parts) => parts,
                    Err(Repeats) => {
                        let keys = [left, right].map(|pairs| canonical_entries(pairs, self.by.rules));
                        let [left, right] = keys;
                        return (left != right).then(|| self.whole(expected, answer));
                    }
                }
            }
            (Value::Set(left), Value::Set(right)) => self.set(left, right),
            _ => {
                let same = equal(answer, expected, self.by.rules, self.by.tolerance);
                return (!same).then(|| self.whole(expected, answer));
            }
        };
        let differs = parts.iter().any(|part| !matches!(part, Part::Same(_)));
        differs.then_some(Found::Inside(Inside { expected, parts }))
    }

    fn whole<'a>(&mut self, expected: &'a Value, answer: &'a Value) -> Found<'a> {
        self.found += 1;
        Found::Whole(expected, answer)
    }

    fn is_done(&self) -> bool {
        self.found >= MAX_FOUND
    }

    fn items<'a>(&mut self, expected: &'a [Value], answer: &'a [Value]) -> Vec<Part<'a>> {
        let mut parts = Parts::default();
        let mut start = 0;
        let before = self.found;
        let mut first = None;
        for (index, (left, right)) in expected.iter().zip(answer).enumerate() {
            first = self.differ(left, right);
            if first.is_some() {
                break;
            }
            parts.same(item(expected, index));
            start = index + 1;
        }
        if start == expected.len() && start == answer.len() {
            return parts.0;
        }
        // It is counted again below, if the two belong together at all.
        self.found = before;
        let end = if expected.len() == answer.len() { 0 } else { self.equal_end(expected, answer, start) };
        let (left_end, right_end) = (expected.len() - end, answer.len() - end);
        let middle = [expected.get(start..left_end), answer.get(start..right_end)].map(Option::unwrap_or_default);
        match self.steps(middle) {
            Some((steps, whole)) => {
                let base = (start, start);
                self.take(&mut parts, [expected, answer], steps.into_iter(), base, first);
                if !whole {
                    parts.0.push(Part::Rest);
                }
            }
            None => {
                let both = left_end.max(right_end) - start;
                let (lefts, rights) = (left_end - start, right_end - start);
                self.take(
                    &mut parts,
                    [expected, answer],
                    (0..both).map(|index| match (index < lefts, index < rights) {
                        (true, true) => Step::Pair(index, index),
                        (true, false) => Step::Missing(index),
                        (false, _) => Step::Extra(index),
                    }),
                    (start, start),
                    first,
                );
            }
        }
        (left_end..expected.len()).for_each(|index| parts.same(item(expected, index)));
        parts.0
    }

    /// How many members at the end are equal, where lists of different lengths cannot be compared by position.
    fn equal_end(&mut self, expected: &[Value], answer: &[Value], start: usize) -> usize {
        let most = expected.len().min(answer.len()) - start;
        let pairs = expected.iter().rev().zip(answer.iter().rev()).take(most);
        let (rules, tolerance) = (self.by.rules, self.by.tolerance);
        pairs
            .take_while(|(left, right)| {
                self.charge([left, right].into_iter().copied()) && equal(right, left, rules, tolerance)
            })
            .count()
    }

    /// How the members of two lists belong together, and whether that covers all of them. `None` where only positions are
    /// left to go by.
    fn steps(&mut self, lists: [&[Value]; 2]) -> Option<(Vec<Step>, bool)> {
        let [left, right] = lists;
        let whole = left.len().max(right.len()) <= MAX_ALIGNED;
        if !whole && left.len() == right.len() {
            return None;
        }
        let lists = lists.map(|list| list.get(..MAX_ALIGNED).unwrap_or(list));
        if !self.charge(lists.iter().flat_map(|list| list.iter())) {
            return None;
        }
        let mut numbers = HashMap::new();
        let [left, right] = lists.map(|list| {
            list.iter()
                .map(|value| {
                    let next = numbers.len();
                    *numbers.entry(canonical_key(value, self.by.rules)).or_insert(next)
                })
                .collect::<Vec<_>>()
        });
        let mut steps = align(&left, &right);
        if !whole {
            // Members after the last equal ones may belong to some that were not looked at.
            let last = steps.iter().rposition(|step| matches!(step, Step::Same(..)));
            let first_pair = usize::from(steps.first().is_some_and(|step| !matches!(step, Step::Same(..))));
            steps.truncate(last.map_or(first_pair, |last| last + 1));
        }
        Some((steps, whole))
    }

    fn take<'a>(
        &mut self,
        parts: &mut Parts<'a>,
        [expected, answer]: [&'a [Value]; 2],
        steps: impl Iterator<Item = Step>,
        (left_base, right_base): (usize, usize),
        mut first: Option<Found<'a>>,
    ) {
        for step in steps {
            if self.is_done() {
                return parts.0.push(Part::Rest);
            }
            match step {
                Step::Same(left, _) => parts.same(item(expected, left_base + left)),
                Step::Missing(left) => {
                    self.found += 1;
                    parts.0.extend(item(expected, left_base + left).map(Part::Missing));
                }
                Step::Extra(right) => {
                    self.found += 1;
                    parts.0.extend(item(answer, right_base + right).map(Part::Extra));
                }
                Step::Pair(left, right) => {
                    let known = if (left, right) == (0, 0) { first.take() } else { None };
                    let (Some(left), Some(right)) =
                        (item(expected, left_base + left), item(answer, right_base + right))
                    else {
                        continue;
                    };
                    match known.inspect(|_| self.found += 1).or_else(|| self.differ(left.value, right.value)) {
                        Some(found) => parts.0.push(Part::Pair(left, right, found)),
                        // They are equal within the tolerance, which the alignment does not know.
                        None => parts.same(Some(left)),
                    }
                }
            }
        }
    }

    fn members<'a>(
        &mut self,
        expected: &'a [(Value, Value)],
        answer: &'a [(Value, Value)],
    ) -> Result<Vec<Part<'a>>, Repeats> {
        let rules = self.by.rules;
        let keys = |pairs: &[(Value, Value)]| -> Result<HashMap<Vec<u8>, usize>, Repeats> {
            let keys: HashMap<_, _> =
                pairs.iter().enumerate().map(|(index, (key, _))| (canonical_key(key, rules), index)).collect();
            if keys.len() == pairs.len() { Ok(keys) } else { Err(Repeats) }
        };
        let (expected_keys, mut answer_keys) = (keys(expected)?, keys(answer)?);
        drop(expected_keys);
        let mut parts = Parts::default();
        for index in 0..expected.len() {
            let Some(left) = entry(expected, index) else { continue };
            if self.is_done() {
                parts.0.push(Part::Rest);
                return Ok(parts.0);
            }
            let right = left.key.and_then(|key| answer_keys.remove(&canonical_key(key, rules)));
            match right.and_then(|index| entry(answer, index)) {
                Some(right) => match self.differ(left.value, right.value) {
                    Some(found) => parts.0.push(Part::Pair(left, right, found)),
                    None => parts.same(Some(left)),
                },
                None => {
                    self.found += 1;
                    parts.0.push(Part::Missing(left));
                }
            }
        }
        let mut extra: Vec<usize> = answer_keys.into_values().collect();
        extra.sort_unstable();
        self.extra(&mut parts, extra.into_iter().filter_map(|index| entry(answer, index)));
        Ok(parts.0)
    }

    fn extra<'a>(&mut self, parts: &mut Parts<'a>, extra: impl Iterator<Item = Member<'a>>) {
        for member in extra {
            if self.is_done() {
                return parts.0.push(Part::Rest);
            }
            self.found += 1;
            parts.0.push(Part::Extra(member));
        }
    }

    /// Members of sets have no order, so they are taken in that of their canonical texts.
    fn set<'a>(&mut self, expected: &'a [Value], answer: &'a [Value]) -> Vec<Part<'a>> {
        let sorted = |items: &'a [Value]| {
            let mut keys: Vec<_> =
                items.iter().enumerate().map(|(index, item)| (canonical_key(item, self.by.rules), index)).collect();
            keys.sort_unstable();
            keys
        };
        let (left, right) = (sorted(expected), sorted(answer));
        let mut parts = Parts::default();
        let mut extra = Vec::new();
        let mut rights = right.into_iter().peekable();
        for (key, index) in left {
            while let Some((_, other)) = rights.next_if(|(other, _)| *other < key) {
                extra.push(other);
            }
            match rights.next_if(|(other, _)| *other == key) {
                Some(_) => parts.same(item(expected, index)),
                None if self.is_done() => {
                    parts.0.push(Part::Rest);
                    return parts.0;
                }
                None => {
                    self.found += 1;
                    parts.0.extend(item(expected, index).map(Part::Missing));
                }
            }
        }
        extra.extend(rights.map(|(_, index)| index));
        self.extra(&mut parts, extra.into_iter().filter_map(|index| item(answer, index)));
        parts.0
    }

    /// Takes what it costs to look at values once more; false when the effort is used up.
    fn charge<'a>(&mut self, values: impl Iterator<Item = &'a Value>) -> bool {
        for value in values {
            if !spend(value, &mut self.effort) {
                self.effort = 0;
                return false;
            }
        }
        true
    }
}

/// A dict in which a key repeats: which members belong together is unknown.
struct Repeats;

#[derive(Default)]
struct Parts<'a>(Vec<Part<'a>>);

impl<'a> Parts<'a> {
    fn same(&mut self, member: Option<Member<'a>>) {
        if !matches!(self.0.last(), Some(Part::Same(_))) {
            self.0.push(Part::Same(Run::default()));
        }
        let (Some(Part::Same(run)), Some(member)) = (self.0.last_mut(), member) else { return };
        run.count += 1;
        if run.first.len() < KEPT_FIRST {
            run.first.push(member);
        }
        if run.last.len() == KEPT_LAST {
            run.last.pop_front();
        }
        run.last.push_back(member);
    }
}

fn item(items: &[Value], index: usize) -> Option<Member<'_>> {
    items.get(index).map(|value| Member { index, key: None, value })
}

fn entry(pairs: &[(Value, Value)], index: usize) -> Option<Member<'_>> {
    pairs.get(index).map(|(key, value)| Member { index, key: Some(key), value })
}

/// Takes one for each value and each 16 bytes of text.
fn spend(value: &Value, effort: &mut usize) -> bool {
    let bytes = match value {
        Value::Text(text) | Value::Symbol(text) => text.len(),
        Value::Wide(bytes) | Value::Bytes(bytes) => bytes.len(),
        Value::Int(integer) | Value::BigInt(integer) => integer.as_str().len(),
        _ => 0,
    };
    let Some(left) = effort.checked_sub(1 + bytes / 16) else { return false };
    *effort = left;
    match value {
        Value::List(items) | Value::Tuple(items) | Value::Set(items) => items.iter().all(|item| spend(item, effort)),
        Value::Dict(pairs) | Value::Map(pairs) => {
            pairs.iter().all(|(key, member)| spend(key, effort) && spend(member, effort))
        }
        _ => true,
    }
}
