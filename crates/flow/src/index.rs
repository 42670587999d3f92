//! Texts, in which words that stand together are found.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use crate::normal::words;

/// Texts by their words. Words are kept as hashes with a key of this process, so nobody can choose two that collide.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    key: RandomState,
    /// The words of each text.
    texts: Vec<Box<[u64]>>,
    /// Where each word stands: the text and the position in it.
    places: HashMap<u64, Vec<(u32, u32)>>,
}

impl Texts {
    /// Adds a text; its number.
    pub(crate) fn add(&mut self, text: &str) -> u32 {
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let words: Box<[u64]> = words(text).iter().map(|word| self.key.hash_one(word.as_str())).collect();
        for (position, word) in words.iter().enumerate() {
            self.places.entry(*word).or_default().push((number, u32::try_from(position).unwrap_or(u32::MAX)));
        }
        self.texts.push(words);
        number
    }

    /// The texts in which these words stand together, in order and without repetition. Each comparison takes one from `steps`;
    /// `None` when none is left.
    pub(crate) fn with(&self, wanted: &[String], steps: &mut u64) -> Option<Vec<u32>> {
        let wanted: Vec<u64> = wanted.iter().map(|word| self.key.hash_one(word.as_str())).collect();
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
            let Some(words) = self.texts.get(*text as usize) else { continue };
            let Some(there) = words.get(start..start + wanted.len()) else { continue };
            let same = there.iter().zip(&wanted).take_while(|(one, other)| one == other).count();
            *steps = steps.checked_sub(same as u64)?;
            if same == wanted.len() {
                found.push(*text);
            }
        }
        Some(found)
    }
}
