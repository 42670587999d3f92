//! From a text to its tokens.

use proofmark_checks::{Language, TestFile};

use crate::grammar;
use crate::lexer::{self, LexError};
use crate::tokens::Tokens;

impl<'a> Tokens<'a> {
    /// Splits a text into tokens. JSX is read in JavaScript, and not in TypeScript, where `<T>` may begin a function.
    ///
    /// # Errors
    /// Where a literal or a bracket is not closed, a character begins no token, or a limit is exceeded.
    pub fn read(language: Language, text: &'a str) -> Result<Tokens<'a>, LexError> {
        let tokens = lexer::tokens(grammar::of(language).token, text)?;
        Ok(Tokens::new(language, text, tokens))
    }
}

/// Finds the tests in a text of this language; none where it has none, or tests of the language are not altered.
///
/// # Errors
/// [`LexError`] where the text is no program.
pub fn read_tests(text: &str, language: Language) -> Result<Option<TestFile>, LexError> {
    match grammar::of(language).tests {
        Some(tests) => Ok(tests(&Tokens::read(language, text)?)),
        None => Ok(None),
    }
}
