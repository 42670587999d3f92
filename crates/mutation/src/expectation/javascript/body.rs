//! The assertions that every path through a test reaches.

use std::ops::Range;

use proofmark_checks::Expectation;

use super::super::arguments::{of_call, outermost, trimmed};
use super::assertion::Assertion;
use super::words;
use crate::token::Kind;
use crate::tokens::Tokens;

/// Reads the bodies of functions among these tokens.
pub(super) struct Body<'a>(pub(super) &'a Tokens<'a>);

/// The assertions of a test.
#[derive(Default)]
pub(super) struct Reached {
    pub(super) certain: Vec<Expectation>,
    /// In loops, which may have no rounds, and behind promises.
    pub(super) looped: Vec<Expectation>,
}

/// What a function does: what is between its braces, or behind its arrow.
pub(super) fn of_function(tokens: &Tokens<'_>, function: &Range<usize>) -> Option<Range<usize>> {
    let words = words(tokens, function);
    let arrow = words.iter().position(|index| tokens.text(*index) == "=>");
    let is_function = || words.iter().take(2).any(|index| tokens.text(*index) == "function");
    match arrow {
        Some(arrow) => {
            let body = *words.get(arrow + 1)?;
            match tokens.text(body) {
                "{" => tokens.inside(body),
                _ => Some(trimmed(tokens, body..function.end)),
            }
        }
        None if is_function() => tokens.inside(*words.iter().find(|index| tokens.text(**index) == "{")?),
        None => None,
    }
}

impl Body<'_> {
    pub(super) fn assertions(&self, body: &Range<usize>) -> Reached {
        let mut reached = Reached::default();
        self.block(body, &mut reached);
        reached
    }

    fn block(&self, block: &Range<usize>, reached: &mut Reached) {
        let tokens = self.0;
        for at in outermost(tokens, block.clone()) {
            let text = tokens.text(at);
            if text == "return" && self.is_conditional(at, block.start) {
                return;
            }
            match (tokens.get(at).map(|token| token.kind), text) {
                (Some(Kind::Name), "for") => reached.looped.extend(self.of_loop(at)),
                (Some(Kind::Name), "forEach" | "then") => reached.looped.extend(self.of_callback(at)),
                (Some(Kind::Name), _) if self.begins(at, block.start) => {
                    reached.certain.extend(Assertion(tokens).read(at));
                }
                (Some(Kind::Open), "{") if self.may_return(at, block.start) => return,
                _ => {}
            }
        }
    }

    /// The assertions in the block of a `for`.
    fn of_loop(&self, at: usize) -> Vec<Expectation> {
        let tokens = self.0;
        let open = tokens.after(at).filter(|open| tokens.text(*open) == "(");
        let close = open.and_then(|open| tokens.get(open)?.partner);
        let block = close.and_then(|close| tokens.after(close)).filter(|block| tokens.text(*block) == "{");
        block.and_then(|block| tokens.inside(block)).map(|inside| self.all(&inside)).unwrap_or_default()
    }

    /// The assertions in the function that `forEach` or `then` calls.
    fn of_callback(&self, at: usize) -> Vec<Expectation> {
        let tokens = self.0;
        let arguments = tokens.after(at).and_then(|open| of_call(tokens, open)).unwrap_or_default();
        let function = arguments.first().and_then(|function| of_function(tokens, function));
        function.map(|function| self.all(&function)).unwrap_or_default()
    }

    fn all(&self, block: &Range<usize>) -> Vec<Expectation> {
        let Reached { mut certain, looped } = self.assertions(block);
        certain.extend(looped);
        certain
    }

    /// Whether a statement begins here that runs whenever the block does.
    fn begins(&self, at: usize, start: usize) -> bool {
        let tokens = self.0;
        let Some(before) = self.before(at, start) else { return true };
        let is_on_line =
            tokens.get(before).map(|token| tokens.place(token.end).line) == tokens.get(at).map(|token| token.line);
        match tokens.text(before) {
            ";" | "}" | "return" | "await" | "void" => !self.is_conditional(before, start),
            ")" => !is_on_line && !self.is_head(before),
            "]" => !is_on_line,
            "else" | "do" | "=>" => false,
            _ => {
                let is_operator = tokens.get(before).is_some_and(|token| token.kind == Kind::Operator);
                !is_on_line && !is_operator && tokens.get(before).is_some_and(|token| token.kind != Kind::Open)
            }
        }
    }

    /// Whether a `return` or an `await` stands behind a condition.
    fn is_conditional(&self, at: usize, start: usize) -> bool {
        if !matches!(self.0.text(at), "return" | "await" | "void") {
            return false;
        }
        let Some(before) = self.before(at, start) else { return false };
        match self.0.text(before) {
            ")" => self.is_head(before),
            "return" | "await" | "void" => self.is_conditional(before, start),
            "else" | "&&" | "||" | "?" | ":" | "??" => true,
            _ => false,
        }
    }

    /// Whether this bracket ends the condition of an `if`, or the head of a loop.
    fn is_head(&self, close: usize) -> bool {
        let open = self.0.get(close).and_then(|token| token.partner);
        let word = open.and_then(|open| self.0.before(open));
        word.is_some_and(|word| matches!(self.0.text(word), "if" | "while" | "for" | "with" | "switch"))
    }

    /// Whether a block of a condition may leave the function.
    fn may_return(&self, open: usize, start: usize) -> bool {
        let Some(before) = self.before(open, start) else { return false };
        let is_condition = match self.0.text(before) {
            ")" => self.is_head(before),
            "else" | "try" | "finally" | "do" => true,
            _ => false,
        };
        is_condition && self.0.inside(open).is_some_and(|mut inside| inside.any(|index| self.0.text(index) == "return"))
    }

    /// The token before this one that means something, in the same block.
    fn before(&self, at: usize, start: usize) -> Option<usize> {
        let mut before = at;
        loop {
            before = self.0.before(before).filter(|before| *before >= start)?;
            if self.0.get(before)?.kind != Kind::Newline {
                return Some(before);
            }
        }
    }
}
