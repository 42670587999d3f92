//! What a session has seen, and where the values of a call stand in it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;

use proofmark_receipt::{Json, Object, object};

use crate::index::{Texts, Wanted};
use crate::leaves::{Step, each_leaf, path_text};
use crate::normal::{links, searchable, words};
use crate::seen::{SeenResult, value_digest};

/// The label of what the user asked for.
pub const REQUEST: &str = "request";
/// The most values of a call whose origins are looked for. A call with more has values of which nothing is known.
pub const MAX_ARGUMENT_VALUES: usize = 2_000;
/// The most values that a session remembers. What is seen after that has no label.
const MAX_PLACES: usize = 200_000;
/// The most text that is kept of what the agent wrote, in bytes.
const MAX_WRITTEN: usize = 16 << 20;
/// How many characters a text has at least that the agent wrote and that is looked for in what is read.
const MIN_WRITTEN: usize = 4;
/// How many characters a text has at least that is looked for within what the agent wrote.
const MIN_PART: usize = 8;
/// How much is searched for what the agent wrote: bytes of a text, for each text that was written.
const MAX_SEARCHED: usize = 64 << 20;
/// How many comparisons of words one call may take.
const MAX_STEPS: u64 = 5_000_000;
/// The most places that are named for one value.
const MAX_NAMED: usize = 4;
/// The most bytes of the paths of all values of a call.
const MAX_PATHS: usize = 1 << 20;
/// The longest value that is written into the fact, in bytes.
const MAX_VALUE_BYTES: usize = 256;
/// The most words of a text that is taken into pieces.
const MAX_PIECES: usize = 200;
/// The most words of one piece.
const MAX_PIECE_WORDS: usize = 32;
/// The most tools that are named whose results nobody vouches for.
const MAX_UNKNOWN: usize = 16;

/// Where a value was read.
#[derive(Debug)]
struct Place {
    /// `None` where no rule vouches for it.
    label: Option<Box<str>>,
    source: Box<str>,
    path: Box<str>,
    at: Box<str>,
    /// When it was read, counted in calls.
    turn: u32,
}

/// A place where a value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit<'a> {
    /// `None` where no rule vouches for it.
    pub label: Option<&'a str>,
    /// The tool that gave it, or [`REQUEST`].
    pub source: &'a str,
    pub path: &'a str,
    pub at: &'a str,
}

/// What a session has seen and what its agent has written, in order.
#[derive(Debug, Default)]
pub struct Origins {
    turn: u32,
    places: Vec<Place>,
    /// The places of each value, by its digest.
    equal: HashMap<u128, Vec<u32>>,
    /// Texts that a label covers with all words within them, and the place of each.
    vouched: Texts,
    vouched_places: Vec<u32>,
    /// What the agent wrote with calls that do more than read, and when.
    written: Texts,
    written_turns: Vec<u32>,
    /// The same texts, as they are compared, with the labels that each had then.
    written_texts: Vec<(String, BTreeSet<String>)>,
    written_bytes: usize,
    written_equal: HashMap<u128, u32>,
    /// When it first wrote something that is not known.
    written_unknown: Option<u32>,
    /// The tools that gave what nobody vouches for.
    unknown: BTreeSet<String>,
    /// Whether some of what was seen could not be kept.
    is_full: bool,
}

impl Origins {
    /// Takes in what the user asks for.
    pub fn asked(&mut self, text: &str, at: &str) {
        let digest = value_digest(text);
        // A prompt that the agent has written itself, to be asked later.
        if self.written_equal.contains_key(&digest) {
            self.unknown(REQUEST);
            return;
        }
        if let Some(place) = self.place(Some(REQUEST), REQUEST, "$", at) {
            self.equal.entry(digest).or_default().push(place);
            self.vouched.add(text);
            self.vouched_places.push(place);
        }
    }

    /// Takes in what a tool gave. `None` for a result of which no labels are known.
    pub fn read(&mut self, tool: &str, at: &str, seen: Option<&SeenResult>) {
        self.turn += 1;
        let Some(seen) = seen else {
            self.unknown(tool);
            return;
        };
        if seen.unknown {
            self.unknown(tool);
        }
        for value in &seen.values {
            match self.place(value.label.as_deref(), tool, &value.path, at) {
                Some(place) => self.equal.entry(value.digest).or_default().push(place),
                None => return,
            }
        }
        for text in &seen.texts {
            let Some(place) = self.place(Some(&text.label), tool, &text.path, at) else { return };
            self.vouched.add(&text.text);
            self.vouched_places.push(place);
        }
    }

    /// Takes in that there is something of which nothing is known, as a call without a result.
    pub fn unknown(&mut self, tool: &str) {
        if self.unknown.len() < MAX_UNKNOWN {
            self.unknown.insert(tool.to_owned());
        }
    }

    /// Takes in the arguments of a call that does more than read. What the agent wrote does not get a label by being read again.
    /// Where the arguments are not known, nothing that is read after it has a label.
    pub fn wrote(&mut self, arguments: Option<&Json>) {
        self.turn += 1;
        let turn = self.turn;
        let Some(arguments) = arguments else {
            self.written_unknown.get_or_insert(turn);
            return;
        };
        let mut steps = MAX_STEPS;
        let _all = each_leaf(arguments, &mut |leaf| {
            if self.written_turns.len() >= MAX_PLACES || self.written_bytes > MAX_WRITTEN {
                self.written_unknown.get_or_insert(turn);
                self.is_full = true;
                return ControlFlow::Break(());
            }
            let hits = self.hits_within(leaf.text, &mut steps);
            let labels = hits.iter().filter_map(|hit| hit.label.map(str::to_owned)).collect();
            self.written_equal.entry(value_digest(leaf.text)).or_insert(turn);
            if leaf.is_text {
                self.written.add(leaf.text);
                self.written_turns.push(turn);
            }
            if leaf.is_text || leaf.number.is_some() {
                let text = searchable(leaf.text);
                self.written_bytes += text.len();
                self.written_texts.push((text, labels));
            }
            ControlFlow::Continue(())
        });
    }

    /// Whether a text that would get this label holds something that the agent wrote, in a call of before or in `arguments`, and that
    /// had neither the label nor that of the request then. Such a text vouches for nothing: pieces of it may be put together.
    #[must_use]
    pub fn holds_written(&self, text: &str, label: &str, arguments: Option<&Json>) -> bool {
        let text = searchable(text);
        if self.written_unknown.is_some() {
            return true;
        }
        let is_long = |text: &str, least: usize| text.chars().nth(least - 1).is_some();
        let is_part = is_long(&text, MIN_PART);
        let holds = |written: &str| {
            (is_long(written, MIN_WRITTEN) && text.contains(written)) || (is_part && written.contains(&*text))
        };
        let has = |labels: &BTreeSet<String>| labels.contains(label) || labels.contains(REQUEST);
        if text.len().saturating_mul(self.written_texts.len()).saturating_add(self.written_bytes) > MAX_SEARCHED {
            return true;
        }
        let before = self.written_texts.iter().any(|(written, labels)| holds(written) && !has(labels));
        let allowed = [label.to_owned(), REQUEST.to_owned()];
        let echoes = arguments.is_some_and(|arguments| {
            each_leaf(arguments, &mut |leaf| {
                let is_echo = leaf.is_text && holds(&searchable(leaf.text)) && leaf.steps.last() != Some(&Step::Name);
                if is_echo && !self.has_label(leaf.text, &allowed) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })
            .is_break()
        });
        before || echoes
    }

    fn place(&mut self, label: Option<&str>, source: &str, path: &str, at: &str) -> Option<u32> {
        if self.places.len() >= MAX_PLACES {
            self.is_full = true;
            return None;
        }
        self.places.push(Place {
            label: label.map(Into::into),
            source: source.into(),
            path: path.into(),
            at: at.into(),
            turn: self.turn,
        });
        u32::try_from(self.places.len() - 1).ok()
    }

    /// The places of a value: those that it is equal to, and those of texts that are vouched for and in which its words stand together.
    /// A place does not give its label if the agent had written the value before it was read there.
    #[must_use]
    pub fn hits(&self, value: &str) -> Vec<Hit<'_>> {
        let mut steps = MAX_STEPS;
        self.hits_within(value, &mut steps)
    }

    fn hits_within(&self, value: &str, steps: &mut u64) -> Vec<Hit<'_>> {
        *steps = steps.saturating_sub(value.len() as u64);
        if *steps == 0 {
            return Vec::new();
        }
        let wanted = Wanted::new(value);
        let digest = value_digest(value);
        let within = self.vouched.with(&wanted, false, steps).unwrap_or_default();
        let within = within.into_iter().filter_map(|text| self.vouched_places.get(text as usize)).copied();
        let equal = self.equal.get(&digest).map(Vec::as_slice).unwrap_or_default();
        let all: BTreeSet<u32> = equal.iter().copied().chain(within).collect();
        let written = self.first_written(&wanted, digest, steps);
        let found = all.into_iter().filter_map(|place| self.places.get(place as usize));
        found
            .map(|place| {
                let is_own = written.is_some_and(|turn| turn <= place.turn) && &*place.source != REQUEST;
                Hit {
                    label: place.label.as_deref().filter(|_| !is_own),
                    source: &place.source,
                    path: &place.path,
                    at: &place.at,
                }
            })
            .collect()
    }

    /// When the agent first wrote the value.
    fn first_written(&self, wanted: &Wanted, digest: u128, steps: &mut u64) -> Option<u32> {
        let equal = self.written_equal.get(&digest).copied();
        // Where too much would have to be compared, the agent may have written it at any time.
        let within = match self.written.with(wanted, true, steps) {
            Some(texts) => texts.first().and_then(|text| self.written_turns.get(*text as usize)).copied(),
            None => Some(0),
        };
        equal.into_iter().chain(within).chain(self.written_unknown).min()
    }

    /// Whether a value has one of these labels.
    #[must_use]
    pub fn has_label(&self, value: &str, labels: &[String]) -> bool {
        self.hits(value).iter().any(|hit| hit.label.is_some_and(|label| labels.iter().any(|one| one == label)))
    }

    /// What is known of where the values of a call come from, as the fact `origins`. `pending` are the tools of calls that have no
    /// result yet. With `pieces`, texts are taken apart into pieces that have labels of their own.
    #[must_use]
    pub fn about<'t>(&'t self, arguments: &Json, pending: impl Iterator<Item = &'t str>, pieces: bool) -> Object {
        let mut unknown: BTreeSet<&str> = self.unknown.iter().map(String::as_str).collect();
        unknown.extend(pending);
        if self.is_full {
            unknown.insert("");
        }
        let (mut values, mut linked, mut steps, mut paths) = (Vec::new(), Vec::new(), MAX_STEPS, 0);
        let flow = each_leaf(arguments, &mut |leaf| {
            if values.len() >= MAX_ARGUMENT_VALUES {
                return ControlFlow::Break(());
            }
            // `true`, `false` and nothing say nothing of where they come from.
            if (!leaf.is_text && leaf.number.is_none()) || leaf.text.trim().is_empty() {
                return ControlFlow::Continue(());
            }
            // The name of an argument is that of the tool.
            if matches!(leaf.steps, [_, Step::Name]) {
                return ControlFlow::Continue(());
            }
            let at = argument_path(&path_text(leaf.steps, MAX_PATHS));
            paths += at.len();
            if paths > MAX_PATHS {
                return ControlFlow::Break(());
            }
            let mut value = self.found(&at, leaf.text, &mut steps);
            if leaf.is_name_of_field() {
                value.insert("plain", true);
            }
            if let Some(number) = leaf.number {
                value.insert("number", number.clone());
            }
            let pieces = if pieces && leaf.is_text { self.pieces(leaf.text, &mut steps) } else { None };
            if let Some(pieces) = pieces {
                value.insert("pieces", pieces);
            }
            values.push(Json::from(value));
            for link in links(leaf.text) {
                if linked.len() >= MAX_ARGUMENT_VALUES {
                    return ControlFlow::Break(());
                }
                linked.push(Json::from(self.found(&at, &link, &mut steps)));
            }
            ControlFlow::Continue(())
        });
        object! {
            "complete": flow.is_continue() && steps > 0,
            "unknown": unknown.into_iter().take(MAX_UNKNOWN).map(Json::from).collect::<Vec<_>>(),
            "values": values,
            "links": linked,
        }
    }

    /// Where one value comes from, as a member of the fact.
    fn found(&self, at: &str, value: &str, steps: &mut u64) -> Object {
        let hits = self.hits_within(value, steps);
        let labels: BTreeSet<&str> = hits.iter().filter_map(|hit| hit.label).collect();
        // Of each label one place, then those without a label, which say where else the value stands.
        let mut named: BTreeMap<Option<&str>, &Hit<'_>> = BTreeMap::new();
        for hit in &hits {
            named.entry(hit.label).or_insert(hit);
        }
        let places = named.values().take(MAX_NAMED).map(|hit| {
            Json::from(object! { "label"?: hit.label, "source": hit.source, "path": hit.path, "at": hit.at })
        });
        object! {
            "at": at,
            "value"?: (value.len() <= MAX_VALUE_BYTES).then_some(value),
            "labels": labels.into_iter().map(Json::from).collect::<Vec<_>>(),
            "places": places.collect::<Vec<_>>(),
        }
    }

    /// The pieces of a text: from its beginning, each the longest run of words that stand together somewhere that has a label, or one
    /// word that does not. `None` for a text of too many words.
    fn pieces(&self, text: &str, steps: &mut u64) -> Option<Vec<Json>> {
        let words = words(text);
        if words.len() > MAX_PIECES {
            return None;
        }
        let (mut pieces, mut rest) = (Vec::new(), words.as_slice());
        while !rest.is_empty() {
            let labels = |length: usize, steps: &mut u64| -> BTreeSet<&str> {
                let piece = rest.get(..length).unwrap_or_default().join(" ");
                self.hits_within(&piece, steps).iter().filter_map(|hit| hit.label).collect()
            };
            let (mut length, mut found) = (1, labels(1, steps));
            // Of each length, since a value that is equal to a run need not have its beginning as another value.
            for longer in 2..=rest.len().min(MAX_PIECE_WORDS) {
                let more = labels(longer, steps);
                if !more.is_empty() {
                    (length, found) = (longer, more);
                }
            }
            let (piece, after) = rest.split_at(length);
            let labels: Vec<_> = found.into_iter().map(Json::from).collect();
            pieces.push(object! { "text": piece.join(" "), "labels": labels }.into());
            rest = after;
        }
        Some(pieces)
    }
}

/// The path of an argument, without the `$.` of all.
fn argument_path(path: &str) -> String {
    path.strip_prefix("$.").unwrap_or(path).to_owned()
}
