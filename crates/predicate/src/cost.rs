//! What a walk along a JSONPath costs, which the libraries that walk cannot be asked: they can neither be interrupted nor
//! count.

use crate::limits::MAX_PATH_NESTING;

/// How often a walk along a JSONPath may visit the nodes of a document, judged by the text of the path.
///
/// The marks of the text are counted generously: one too many only lowers how much is walked.
#[derive(Debug)]
pub struct PathCost {
    /// `$`: each begins a walk of its own, in a filter one for each node.
    roots: u32,
    /// `..`: each visits a node once for each of the nodes above it.
    descents: u32,
    /// In how many ways unions visit the same node.
    unions: u64,
    /// `@`: each is a query of its own for every node that a filter looks at.
    relatives: u64,
    /// The most brackets open at once.
    nesting: usize,
}

impl PathCost {
    /// The cost of a path, which may be invalid.
    #[must_use]
    pub fn of(text: &str) -> PathCost {
        let mut cost = PathCost { roots: 0, descents: 0, unions: 1, relatives: 0, nesting: 0 };
        // The selectors of each bracket that is open: one, and one more for each comma.
        let mut open: Vec<u64> = Vec::new();
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\'' | '"' => skip_string(&mut characters, character),
                '$' => cost.roots += 1,
                '.' if characters.peek() == Some(&'.') => cost.descents += 1,
                '@' => cost.relatives += 1,
                ',' => open.iter_mut().last().into_iter().for_each(|selectors| *selectors += 1),
                '[' | '(' => {
                    open.push(1);
                    cost.nesting = cost.nesting.max(open.len());
                }
                // A bracket that closes nothing multiplies by one; the parser refuses such a path afterwards.
                ']' | ')' => cost.unions = cost.unions.saturating_mul(open.pop().unwrap_or(1)),
                _ => {}
            }
        }
        cost
    }

    /// Whether a parser, which recurses, would recurse too deeply: past [`MAX_PATH_NESTING`].
    #[must_use]
    pub fn nests_too_deeply(&self) -> bool {
        self.nesting > MAX_PATH_NESTING
    }

    /// The most visits in a document of so many nodes that nest so deeply; `u64::MAX` where they are more than can be counted.
    #[must_use]
    pub fn visits(&self, nodes: u64, depth: u64) -> u64 {
        let walks = nodes.saturating_pow(self.roots).saturating_mul(depth.saturating_pow(self.descents));
        walks.saturating_mul(self.unions).saturating_mul(self.relatives.saturating_add(1))
    }
}

fn skip_string(characters: &mut impl Iterator<Item = char>, quote: char) {
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            character if character == quote => return,
            _ => {}
        }
    }
}
