//! From a text to its tokens.

use proofmark_checks::Language;

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
