//! Texts, in which words that stand together are found.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::normal::{normal, placed_words, searchable, stands_alone};

/// Texts by their words. Words are kept as hashes with a key of this process, so nobody can choose two that collide.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    key: RandomState,
    texts: Vec<Text>,
    /// Where each word stands: the text and the position in it.
    places: HashMap<u64, Vec<(u32, u32)>>,
}

#[derive(Debug)]
struct Text {
    text: Box<str>,
    /// Its words, and where each begins.
    words: Box<[u64]>,
    begins: Box<[u32]>,
}

/// What is looked for.
pub(crate) struct Wanted {
    /// As it is compared.
    value: String,
    words: Vec<String>,
    /// How many bytes stand before its first word.
    lead: usize,
}

impl Wanted {
    pub(crate) fn new(value: &str) -> Self {
        let value = normal(value);
        let placed = placed_words(&value);
        let lead = placed.first().map_or(0, |(_, at)| *at);
        Self { words: placed.into_iter().map(|(word, _)| word).collect(), lead, value }
    }

    /// Whether it stands at this place of a text, with all its characters. A number may be written in another way.
    fn stands_at(&self, text: &str, begin: usize) -> bool {
        if matches!(&self.words[..], [word] if *word == self.value && word.bytes().any(|byte| byte.is_ascii_digit())) {
            return true;
        }
        let Some(start) = begin.checked_sub(self.lead) else { return false };
        let end = start + self.value.len();
        text.get(start..end) == Some(&*self.value) && stands_alone(text, start, end)
    }
}

impl Texts {
    /// Adds a text; its number.
    pub(crate) fn add(&mut self, text: &str) -> u32 {
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let text = searchable(text);
        let placed = placed_words(&text);
        let words: Box<[u64]> = placed.iter().map(|(word, _)| self.key.hash_one(word.as_str())).collect();
        let begins = placed.iter().map(|(_, at)| u32::try_from(*at).unwrap_or(u32::MAX)).collect();
        for (position, word) in words.iter().enumerate() {
            self.places.entry(*word).or_default().push((number, u32::try_from(position).unwrap_or(u32::MAX)));
        }
        self.texts.push(Text { text: text.into(), words, begins });
        number
    }

    /// The texts in which it stands, in order and without repetition: with all its characters, or, `loosely`, only its words. Each
    /// comparison takes one from `steps`; `None` when none is left.
    pub(crate) fn with(&self, value: &Wanted, loosely: bool, steps: &mut u64) -> Option<Vec<u32>> {
        let wanted: Vec<u64> = value.words.iter().map(|word| self.key.hash_one(word.as_str())).collect();
        // The rarest word stands in the fewest places.
        let mut rarest: Option<(usize, &[(u32, u32)])> = None;
        for (at, word) in wanted.iter().enumerate() {
            let Some(places) = self.places.get(word) else { return Some(Vec::new()) };
            if rarest.is_none_or(|(_, fewest)| places.len() < fewest.len()) {
                rarest = Some((at, places));
            }
        }
        let Some((offset, places)) = rarest else { return Some(Vec::new()) };
        let mut found = Vec::new();
        for (text, position) in places {
            if found.last() == Some(text) {
                continue;
            }
            *steps = steps.checked_sub(1)?;
            let Some(start) = (*position as usize).checked_sub(offset) else { continue };
            let Some(Text { text: whole, words, begins }) = self.texts.get(*text as usize) else { continue };
            let Some(there) = words.get(start..start + wanted.len()) else { continue };
            let same = there.iter().zip(&wanted).take_while(|(one, other)| one == other).count();
            *steps = steps.checked_sub(same as u64)?;
            let begin = || begins.get(start).is_some_and(|begin| value.stands_at(whole, *begin as usize));
            if same == wanted.len() && (loosely || begin()) {
                found.push(*text);
            }
        }
        Some(found)
    }
}
