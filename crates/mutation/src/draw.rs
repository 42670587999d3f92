//! Which mutants of a program are run.

use std::collections::BTreeSet;

use proofmark_checks::Language;
use sha2::{Digest, Sha256};

use crate::grammar;
use crate::lexer::LexError;
use crate::limits::MAX_TRIES;
use crate::mutants::{self, Mutant};
use crate::tokens::Tokens;

/// How mutants are made and drawn. It changes whenever a program may get other mutants.
pub const METHOD: &str = "tokens/1";

/// A file of a program.
pub struct Source<'a> {
    /// Its name, which is part of what is drawn by.
    pub name: &'a str,
    pub language: Language,
    pub text: &'a str,
}

/// A mutant that was drawn.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The index of its file.
    pub file: usize,
    pub mutant: Mutant,
}

/// Draws at most `most` mutants of these files, in the order that the seed gives them. Anyone who has files and seed draws the
/// same. Two mutants with the same tokens are one, and one with the tokens of the program is none.
///
/// # Errors
/// [`LexError`] with the index of the file that cannot be split into tokens.
pub fn draw(sources: &[Source<'_>], seed: &[u8], most: usize) -> Result<Vec<Drawn>, (usize, LexError)> {
    let mut ranked = Vec::new();
    let mut seen = BTreeSet::new();
    for (file, source) in sources.iter().enumerate() {
        let tokens = Tokens::read(source.language, source.text).map_err(|error| (file, error))?;
        seen.insert((file, fingerprint(&tokens)));
        let mutants = mutants::mutants(&tokens, &grammar::of(source.language).changes).into_iter();
        ranked.extend(mutants.map(|mutant| (rank(&mutant, seed, source.name), Drawn { file, mutant })));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut drawn = Vec::new();
    for (_, candidate) in ranked.into_iter().take(most.saturating_mul(MAX_TRIES)) {
        if drawn.len() >= most {
            break;
        }
        let Some(source) = sources.get(candidate.file) else { continue };
        let changed = candidate.mutant.apply(source.text);
        // One that cannot be split into tokens does not load either.
        let Ok(tokens) = Tokens::read(source.language, &changed) else { continue };
        if seen.insert((candidate.file, fingerprint(&tokens))) {
            drawn.push(candidate);
        }
    }
    Ok(drawn)
}

/// A digest of the tokens that mean something.
fn fingerprint(tokens: &Tokens<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for (index, token) in tokens.all().iter().enumerate() {
        if !token.kind.is_blank() {
            hash.update([0]);
            hash.update(tokens.text(index));
        }
    }
    hash.finalize().into()
}

/// Its place in the sequence that the seed draws: mutants with smaller ones come first.
fn rank(mutant: &Mutant, seed: &[u8], file: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in [seed, file.as_bytes(), mutant.class.as_str().as_bytes(), mutant.replacement.as_bytes()] {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    for number in [mutant.span.start, mutant.span.end] {
        hash.update(u64::try_from(number).unwrap_or(u64::MAX).to_be_bytes());
    }
    hash.finalize().into()
}

/// Whether a program of the language did not load, by the type of the exception, or what it wrote: it is then not one that a
/// suite has to notice.
pub fn is_load_error(language: Language, text: &str) -> bool {
    grammar::of(language).changes.load_errors.iter().any(|error| text.contains(error))
}
