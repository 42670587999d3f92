//! The tokens of programs, and small changes of them.
//!
//! [`Tokens::read`] splits the text of a program into tokens that cover it. It reads programs that their interpreter accepts;
//! of others it may read some. It does not parse: what a token means depends on its neighbours, and who changes a program by
//! its tokens has to expect that the result does not load.
//!
//! This crate runs nothing, and knows no files, clock or randomness.
//!
//! Read the files in this order: `token` and `tokens` are what callers see, `grammar` has a file and a row for each language, `lexer` is
//! what the languages share, with the folder `lexer` for the parts of it. `read` is the way from one to the other.
//! `mutants` has the changes that a good suite notices, and `draw` chooses among them. `expectation` finds the tests in a text, and how
//! what they expect is made wrong. `limits` bounds all of it.

mod draw;
mod expectation;
mod grammar;
mod lexer;
pub mod limits;
mod mutants;
mod read;
mod token;
mod tokens;

pub use draw::{Drawn, METHOD, Source, draw, is_load_error};
pub use lexer::{LexError, Place};
pub use mutants::{Class, Mutant};
pub use read::read_tests;
pub use token::{Kind, Token};
pub use tokens::{LogicalLine, Tokens};
