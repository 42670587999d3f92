//! TypeScript, which has the tokens of JavaScript without JSX.

use super::Grammar;
use super::javascript;
use crate::expectation;

pub(super) static GRAMMAR: Grammar = Grammar {
    token: javascript::token_without_markup,
    changes: javascript::CHANGES,
    tests: Some(expectation::javascript::read),
};
