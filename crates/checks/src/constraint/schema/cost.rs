//! How often a schema visits a document.
//!
//! Where two subschemas of one place lead to the same subschema, each level of the document doubles the visits, so a
//! small schema and a small document can take forever. The visits are counted before they are made: subschemas that
//! apply to the same place are counted, not followed, so counting takes no longer than the distinct ones.
//!
//! A pattern looks through the whole text of a place, so its visits are counted by the length of the text as well.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::super::MAX_VISITS;
use super::super::pattern::{MAX_STEPS_PER_BLOCK, Pattern, blocks};

/// The most pairs of subschemas that apply to the same place.
const MAX_PAIRS: usize = 1 << 20;

/// Keywords whose subschemas apply to the same place.
pub(super) const HERE: [(&str, Holds); 9] = [
    ("allOf", Holds::Schemas),
    ("anyOf", Holds::Schemas),
    ("oneOf", Holds::Schemas),
    ("not", Holds::Schemas),
    ("if", Holds::Schemas),
    ("then", Holds::Schemas),
    ("else", Holds::Schemas),
    ("dependentSchemas", Holds::Members),
    ("dependencies", Holds::Members),
];
/// Keywords that name a subschema which applies to the same place.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords whose subschemas apply to any item or member of the place.
pub(super) const BELOW: [(&str, Holds); 8] = [
    ("patternProperties", Holds::Members),
    ("additionalProperties", Holds::Schemas),
    ("unevaluatedProperties", Holds::Schemas),
    ("items", Holds::Schemas),
    ("additionalItems", Holds::Schemas),
    ("unevaluatedItems", Holds::Schemas),
    ("contains", Holds::Schemas),
    ("propertyNames", Holds::Schemas),
];

/// The address of a schema without one, as the validator has it.
const DEFAULT_BASE: &str = "json-schema:///";
/// How often a schema of schemas visits one place, rounded up: the validator carries those of all drafts.
const BUNDLED_VISITS: usize = 100;

/// How much work a pattern is that is written for another engine than ours, for each block of text.
const FOREIGN_PATTERN_STEPS: u64 = 16;

/// What the value of a keyword holds.
#[derive(Clone, Copy)]
pub(super) enum Holds {
    /// A schema, or a list of them.
    Schemas,
    /// Names, and a schema for each.
    Members,
}

/// Subschemas that apply to the same place, and how often.
type Counts = BTreeMap<usize, u64>;

/// Why the cost of a schema cannot be bounded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CostError {
    /// It leads back to itself without going deeper into the document.
    Cycle,
    /// It visits the same place too often.
    TooMany,
}

/// The subschemas of a schema, and which leads to which.
pub(super) struct Cost {
    /// For each subschema those it applies to the same place, itself included.
    here: Vec<Counts>,
    below: Vec<Below>,
    patterns: Vec<Patterns>,
}

/// How much work the patterns of a subschema are, for each block of text.
#[derive(Clone, Copy, Default)]
struct Patterns {
    /// On a text at its place, or the name of that.
    text: u64,
    /// On the name of each member.
    names: u64,
}

/// What a document takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Visits {
    pub(super) places: u64,
    /// The steps of patterns.
    pub(super) searches: u64,
}

#[derive(Default)]
struct Below {
    any: Vec<usize>,
    named: HashMap<String, usize>,
    /// By the index of the item.
    items: Vec<Option<usize>>,
}

impl Cost {
    /// Counts what a schema applies to one place.
    pub(super) fn of(schema: &Value) -> Result<Cost, CostError> {
        let mut places = Places::default();
        // The schema itself comes first, so it is node 0, where `visits` begins.
        places.collect(schema, String::new());
        let mut edges: Vec<Vec<usize>> = places.nodes.iter().map(|(at, node)| places.here(at, node)).collect();
        let mut below: Vec<Below> = places.nodes.iter().map(|(at, node)| places.below(at, node)).collect();
        let mut patterns: Vec<Patterns> = places.nodes.iter().map(|(_, node)| Patterns::of(node)).collect();
        patterns.push(Patterns::default());
        edges.push(Vec::new());
        below.push(places.below_bundled());
        let mut closing =
            Closing { edges: &edges, done: vec![None; edges.len()], open: vec![false; edges.len()], pairs: 0 };
        (0..edges.len()).try_for_each(|node| closing.close(node).map(drop))?;
        Ok(Cost { here: closing.done.into_iter().map(Option::unwrap_or_default).collect(), below, patterns })
    }

    /// What a document takes; `None` where its visits are too many for reasonable time.
    pub(super) fn visits(&self, document: &Value) -> Option<Visits> {
        let root = [(0, 1)].into_iter().filter(|_| !self.here.is_empty()).collect();
        let mut visits = Visits::default();
        self.walk(document, "", &root, &mut visits).map(|()| visits)
    }

    /// Counts the visits of a place, which has this name in an object, and of those below.
    fn walk(&self, place: &Value, name: &str, asked: &Counts, visits: &mut Visits) -> Option<()> {
        let mut applied = Counts::new();
        for (node, times) in asked {
            for (other, count) in self.here.get(*node).into_iter().flatten() {
                add(&mut applied, *other, times.saturating_mul(*count));
            }
        }
        visits.places = applied.values().fold(visits.places, |sum, count| sum.saturating_add(*count));
        // The budget is checked at every place, so a hostile document ends the count early as well.
        if visits.places > MAX_VISITS {
            return None;
        }
        visits.searches = visits.searches.saturating_add(self.searches(place, name, &applied));
        // One walk for all subschemas of a place: their counts multiply, the steps of this walk do not.
        match place {
            Value::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
                let next = self.next(&applied, |below| below.items.get(index)?.as_ref());
                next.is_empty().then_some(()).or_else(|| self.walk(item, "", &next, visits))
            }),
            Value::Object(members) => members.iter().try_for_each(|(name, member)| {
                let next = self.next(&applied, |below| below.named.get(name));
                next.is_empty().then_some(()).or_else(|| self.walk(member, name, &next, visits))
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(()),
        }
    }

    /// The steps of the patterns that are applied to a place.
    fn searches(&self, place: &Value, name: &str, applied: &Counts) -> u64 {
        // The schema in `propertyNames` is applied to the name.
        let text = blocks(place.as_str().unwrap_or_default()).saturating_add(blocks(name));
        let names = || place.as_object().into_iter().flat_map(|members| members.keys()).map(|name| blocks(name)).sum();
        let (mut in_text, mut in_names) = (0_u64, 0_u64);
        for (node, times) in applied {
            let patterns = self.patterns.get(*node).copied().unwrap_or_default();
            in_text = in_text.saturating_add(times.saturating_mul(patterns.text));
            in_names = in_names.saturating_add(times.saturating_mul(patterns.names));
        }
        let names: u64 = if in_names == 0 { 0 } else { names() };
        in_text.saturating_mul(text).saturating_add(in_names.saturating_mul(names))
    }

    fn next<'a>(&'a self, applied: &Counts, own: impl Fn(&'a Below) -> Option<&'a usize>) -> Counts {
        let mut next = Counts::new();
        for (node, times) in applied {
            let Some(below) = self.below.get(*node) else { continue };
            below.any.iter().chain(own(below)).for_each(|to| add(&mut next, *to, *times));
        }
        next
    }
}

impl Patterns {
    fn of(schema: &Value) -> Patterns {
        let steps = |pattern: &str| match Pattern::new(pattern) {
            Ok(built) => built.steps_per_block(),
            // The validator's classes are smaller, so it may hold it.
            Err(regex::Error::CompiledTooBig(_)) => MAX_STEPS_PER_BLOCK,
            Err(_) => FOREIGN_PATTERN_STEPS,
        };
        let names = schema.get("patternProperties").and_then(Value::as_object);
        Patterns {
            text: schema.get("pattern").and_then(Value::as_str).map_or(0, steps),
            names: names.into_iter().flat_map(|names| names.keys()).map(|name| steps(name)).sum(),
        }
    }
}

fn add(counts: &mut Counts, node: usize, times: u64) {
    let count = counts.entry(node).or_default();
    *count = count.saturating_add(times);
}

/// Follows what applies to the same place to its end.
struct Closing<'a> {
    edges: &'a [Vec<usize>],
    done: Vec<Option<Counts>>,
    open: Vec<bool>,
    pairs: usize,
}

impl Closing<'_> {
    /// Closes a node after those it leads to; a list of its own stands in for the stack, which a schema could overflow.
    fn close(&mut self, start: usize) -> Result<(), CostError> {
        let mut path = vec![start];
        while let Some(&node) = path.last() {
            if self.done.get(node).is_none_or(Option::is_some) {
                path.pop();
                continue;
            }
            let edges = self.edges.get(node).map_or(&[][..], Vec::as_slice);
            let waiting: Vec<usize> =
                edges.iter().copied().filter(|to| self.done.get(*to).is_some_and(Option::is_none)).collect();
            if waiting.is_empty() {
                let counts = self.counts(node, edges)?;
                self.done.get_mut(node).into_iter().for_each(|done| *done = Some(counts.clone()));
                path.pop();
                continue;
            }
            // A node that is met again while it waits for others waits for itself.
            if std::mem::replace(self.open.get_mut(node).ok_or(CostError::Cycle)?, true) {
                return Err(CostError::Cycle);
            }
            path.extend(waiting);
        }
        Ok(())
    }

    fn counts(&mut self, node: usize, edges: &[usize]) -> Result<Counts, CostError> {
        let mut counts = Counts::from([(node, 1)]);
        for to in edges {
            for (other, count) in self.done.get(*to).into_iter().flatten().flatten() {
                add(&mut counts, *other, *count);
            }
        }
        // The closure may hold every pair of subschemas, so its size is bounded, not only the visits.
        self.pairs += counts.len();
        let visits = counts.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
        if self.pairs > MAX_PAIRS || visits > MAX_VISITS { Err(CostError::TooMany) } else { Ok(counts) }
    }
}

/// Every object of a schema with the pointer to it.
#[derive(Default)]
struct Places<'a> {
    nodes: Vec<(String, &'a Value)>,
    pointers: HashMap<String, usize>,
    /// Where a schema with an address of its own begins, by the last part of the address.
    resources: Vec<(&'a str, String)>,
    anchors: HashMap<&'a str, Vec<usize>>,
}

impl<'a> Places<'a> {
    fn collect(&mut self, value: &'a Value, at: String) {
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| self.collect(item, format!("{at}/{index}")));
            }
            Value::Object(members) => {
                let node = self.nodes.len();
                self.nodes.push((at.clone(), value));
                self.pointers.insert(at.clone(), node);
                // Every object counts as a possible subschema: `$ref` may point below any keyword, also an unknown one.
                let text = |name: &str| members.get(name).and_then(Value::as_str);
                // Which of the two counts depends on the draft; a wrong one only adds to what is counted.
                for address in ["$id", "id"].iter().filter_map(|name| text(name)) {
                    self.resources.push((last_part(address), at.clone()));
                    // Until draft 7 an address that is only a fragment was an anchor.
                    if let Some(anchor) = address.strip_prefix('#') {
                        self.anchors.entry(anchor).or_default().push(node);
                    }
                }
                for anchor in ["$anchor", "$dynamicAnchor"].iter().filter_map(|name| text(name)) {
                    self.anchors.entry(anchor).or_default().push(node);
                }
                for (name, member) in members {
                    self.collect(member, format!("{at}/{}", escaped(name)));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The subschemas that apply to the same place. What decides about the rest evaluates them once more.
    fn here(&self, at: &str, node: &Value) -> Vec<usize> {
        let mut found = self.under(&HERE, at, node);
        let references = REFERENCES.iter().filter_map(|name| node.get(name)?.as_str());
        found.extend(references.flat_map(|reference| self.referred(reference)));
        if node.get("unevaluatedProperties").or_else(|| node.get("unevaluatedItems")).is_some() {
            // What is twice in the list is twice in the counts.
            found.extend(found.clone());
        }
        found
    }

    fn below(&self, at: &str, node: &Value) -> Below {
        let named = node.get("properties").and_then(Value::as_object).into_iter().flat_map(|members| members.keys());
        let schema = |name: &String| self.pointers.get(&format!("{at}/properties/{}", escaped(name))).copied();
        let listed = ["prefixItems", "items"].into_iter().find(|name| node.get(name).is_some_and(Value::is_array));
        let count = listed.and_then(|name| node.get(name)?.as_array()).map_or(0, Vec::len);
        // An array in `items` (older drafts) is one schema for each index, already in `listed`.
        // With `prefixItems` beside it the draft decides which of the two applies, so both count.
        let unlisted = listed == Some("items");
        let any: Vec<_> = BELOW.into_iter().filter(|(name, _)| !(unlisted && *name == "items")).collect();
        Below {
            any: self.under(&any, at, node),
            named: named.filter_map(|name| Some((name.clone(), schema(name)?))).collect(),
            items: (0..count)
                .map(|index| self.pointers.get(&format!("{at}/{}/{index}", listed.unwrap_or_default())).copied())
                .collect(),
        }
    }

    fn under(&self, keywords: &[(&str, Holds)], at: &str, node: &Value) -> Vec<usize> {
        let values = keywords.iter().filter_map(|(name, holds)| Some((name, node.get(name)?, holds)));
        values.flat_map(|(name, value, holds)| self.inside(&format!("{at}/{name}"), value, *holds)).collect()
    }

    /// The schema at a pointer, or the schemas of a list or of named members there.
    fn inside(&self, at: &str, value: &Value, holds: Holds) -> Vec<usize> {
        let node = |at: &str| self.pointers.get(at).copied();
        match (value, holds) {
            (Value::Array(items), _) => (0..items.len()).filter_map(|index| node(&format!("{at}/{index}"))).collect(),
            (Value::Object(members), Holds::Members) => {
                members.keys().filter_map(|name| node(&format!("{at}/{}", escaped(name)))).collect()
            }
            (_, _) => node(at).into_iter().collect(),
        }
    }

    /// What a reference may lead to; where that depends on more than its text, all of it.
    fn referred(&self, reference: &str) -> Vec<usize> {
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let address = if address == DEFAULT_BASE { "" } else { address };
        let within = self.resources.iter().filter(|(last, _)| address.is_empty() || *last == last_part(address));
        let mut begins: Vec<&str> = within.map(|(_, at)| at.as_str()).collect();
        begins.extend(address.is_empty().then_some(""));
        begins.sort_unstable();
        begins.dedup();
        let found: Vec<usize> = if fragment.is_empty() || fragment.starts_with('/') {
            begins.iter().filter_map(|at| self.pointers.get(&format!("{at}{}", plain(fragment)))).copied().collect()
        } else {
            self.anchors.get(fragment).cloned().unwrap_or_default()
        };
        // The validator refuses a reference that leads nowhere; any other leads into a schema that it carries with it.
        if found.is_empty() { vec![self.nodes.len(); BUNDLED_VISITS] } else { found }
    }

    /// The schemas of schemas apply to every place below, and may lead back to what is anchored as `meta` here.
    fn below_bundled(&self) -> Below {
        let recursive = self.nodes.iter().position(|(_, node)| node.get("$recursiveAnchor").is_some());
        let anchored = self.anchors.get("meta").into_iter().flatten().copied();
        Below { any: anchored.chain(recursive).chain([self.nodes.len()]).collect(), ..Below::default() }
    }
}

/// A name as it stands in a JSON Pointer (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn last_part(address: &str) -> &str {
    let address = address.split('#').next().unwrap_or_default();
    address.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default()
}

/// The text of a fragment, in which some characters are written as `%` and two digits.
fn plain(fragment: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let coded = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match coded.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
