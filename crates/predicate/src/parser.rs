//! Tokens to expression. The nesting is bounded, so that neither parsing nor code that walks the result can run out of
//! stack.

use std::sync::Arc;

mod calls;

use crate::ast::{Kind, Node, Operator};
use crate::error::{Fault, Located, Span};
use crate::lexer::{self, Token};
use crate::limits::MAX_DEPTH;
use crate::value::{TypeName, Value};

/// Parses a whole predicate.
pub(crate) fn parse(source: &str) -> Result<Node, Located> {
    let tokens = lexer::tokens(source)?;
    let mut parser = Parser { tokens, at: 0, depth: 0, scope: Vec::new(), patterns: 0 };
    let node = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(node),
        Token::Operator("=") => Err(parser.unexpected("`==`")),
        _ => Err(parser.unexpected("an operator or the end of the predicate")),
    }
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    /// Brackets and prefixes open at this point.
    depth: usize,
    /// The variables of the enclosing macros, outermost first.
    scope: Vec<Arc<str>>,
    /// Patterns and paths so far.
    patterns: usize,
}

impl Parser {
    fn expression(&mut self) -> Result<Node, Located> {
        self.nested(Self::conditional)
    }

    /// Parses one level deeper, up to the limit.
    fn nested<T>(&mut self, parse: fn(&mut Self) -> Result<T, Located>) -> Result<T, Located> {
        // `node` checks the result, but only after the recursion: this check bounds the parser's own stack.
        if self.depth >= MAX_DEPTH {
            return Err(Fault::TooDeep.at(self.span()));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    fn conditional(&mut self) -> Result<Node, Located> {
        let condition =
            self.junction("||", Kind::Or, |parser| parser.junction("&&", Kind::And, |parser| parser.binary(1)))?;
        if !self.accept("?") {
            return Ok(condition);
        }
        let then = self.expression()?;
        self.expect(":")?;
        let otherwise = self.expression()?;
        let span = cover(&condition, &otherwise);
        node(Kind::Conditional(Box::new([condition, then, otherwise])), span)
    }

    fn junction(
        &mut self,
        operator: &'static str,
        kind: fn(Vec<Node>) -> Kind,
        operand: fn(&mut Self) -> Result<Node, Located>,
    ) -> Result<Node, Located> {
        let first = operand(self)?;
        if !self.at_operator(operator) {
            return Ok(first);
        }
        let mut span = first.span;
        let mut items = vec![first];
        while self.accept(operator) {
            let item = operand(self)?;
            span.end = item.span.end;
            items.push(item);
        }
        node(kind(items), span)
    }

    /// A chain of operators that bind at least this tightly, from left to right.
    fn binary(&mut self, tightness: u8) -> Result<Node, Located> {
        let mut left = self.unary()?;
        while let Some((operator, binds)) = self.peek_operator() {
            if binds < tightness {
                break;
            }
            self.advance();
            // One tighter, so that equal operators group from the left. It recurses at most three times.
            let right = self.binary(binds + 1)?;
            let span = cover(&left, &right);
            left = node(Kind::Binary { operator, operands: Box::new([left, right]) }, span)?;
        }
        Ok(left)
    }

    fn peek_operator(&self) -> Option<(Operator, u8)> {
        match self.peek() {
            Token::Operator(text) => Operator::from_text(text),
            Token::Word(word) if **word == *"in" => Operator::from_text("in"),
            _ => None,
        }
    }

    fn unary(&mut self) -> Result<Node, Located> {
        let start = self.span().start;
        if self.accept("!") {
            let operand = self.nested(Self::unary)?;
            let span = Span { start, end: operand.span.end };
            return node(Kind::Not(Box::new(operand)), span);
        }
        if !self.accept("-") {
            return self.postfix();
        }
        if let Some(number) = self.negative_literal(start)? {
            return self.postfix_of(number);
        }
        let operand = self.nested(Self::unary)?;
        let span = Span { start, end: operand.span.end };
        node(Kind::Negate(Box::new(operand)), span)
    }

    /// The number after a minus sign: the smallest integer has no positive counterpart.
    fn negative_literal(&mut self, start: usize) -> Result<Option<Node>, Located> {
        let value = match self.peek() {
            Token::Int(magnitude) => match 0i64.checked_sub_unsigned(*magnitude) {
                Some(value) => Value::Int(value),
                None => return Err(self.fault_here("the integer does not fit 64 bits")),
            },
            Token::Decimal(value) => Value::Decimal(value.negate()),
            _ => return Ok(None),
        };
        self.advance();
        node(Kind::Constant(value), self.span_since(start)).map(Some)
    }

    fn postfix(&mut self) -> Result<Node, Located> {
        let primary = self.primary()?;
        self.postfix_of(primary)
    }

    fn postfix_of(&mut self, mut base: Node) -> Result<Node, Located> {
        loop {
            let start = base.span.start;
            if self.accept("[") {
                let index = self.expression()?;
                self.expect("]")?;
                let kind = Kind::Index { base: Box::new(base), index: Box::new(index) };
                base = node(kind, self.span_since(start))?;
            } else if self.accept(".") {
                let name_span = self.span();
                let (name, quoted) = self.field_name()?;
                base = if !quoted && self.at_operator("(") {
                    self.method(base, &name, name_span)?
                } else {
                    let kind = Kind::Select { base: Box::new(base), field: name };
                    node(kind, self.span_since(start))?
                };
            } else {
                return Ok(base);
            }
        }
    }

    fn field_name(&mut self) -> Result<(Arc<str>, bool), Located> {
        match self.peek().clone() {
            // As in CEL, a field may have the name of a reserved word, `order.package`; a fact may not.
            Token::Word(name) if !matches!(&*name, "true" | "false" | "null" | "in") => {
                self.advance();
                Ok((name, false))
            }
            Token::Quoted(name) => {
                self.advance();
                Ok((name, true))
            }
            _ => Err(self.unexpected("the name of a field or method")),
        }
    }

    fn primary(&mut self) -> Result<Node, Located> {
        let span = self.span();
        let value = match self.peek().clone() {
            Token::Word(name) => return self.word(name),
            Token::Quoted(name) => {
                self.advance();
                return node(Kind::Fact(name), span);
            }
            Token::Int(magnitude) => match i64::try_from(magnitude) {
                Ok(value) => Value::Int(value),
                Err(_) => return Err(self.fault_here("the integer does not fit 64 bits")),
            },
            Token::UInt(value) => Value::UInt(value),
            Token::Decimal(value) => Value::Decimal(value),
            Token::String(value) => Value::String(value),
            Token::Bytes(value) => Value::Bytes(value),
            Token::Operator("(") => return self.parenthesised(),
            Token::Operator("[") => return self.list(),
            Token::Operator("{") => return self.map(),
            _ => return Err(self.unexpected("an operand")),
        };
        self.advance();
        node(Kind::Constant(value), span)
    }

    fn word(&mut self, name: Arc<str>) -> Result<Node, Located> {
        let span = self.span();
        let constant = match &*name {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            _ => None,
        };
        // As in CEL, where an identifier is not a reserved word. Between backticks they are allowed.
        if &*name == "in" || lexer::is_reserved(&name) {
            return Err(self.unexpected("an operand that is not a reserved word"));
        }
        self.advance();
        if let Some(value) = constant {
            return node(Kind::Constant(value), span);
        }
        if self.at_operator("(") {
            return self.function(&name, span);
        }
        // The innermost variable of a name hides the others, and facts.
        let kind = match self.scope.iter().rposition(|variable| *variable == name) {
            Some(slot) => Kind::Local(slot),
            // A fact named like a type is written between backticks, which is a `Token::Quoted`.
            None => match TypeName::denoted_by(&name) {
                Some(denoted) => Kind::Constant(Value::Type(denoted)),
                None => Kind::Fact(name),
            },
        };
        node(kind, span)
    }

    fn parenthesised(&mut self) -> Result<Node, Located> {
        let start = self.span().start;
        self.advance();
        let inner = self.expression()?;
        self.expect(")")?;
        // A clause that decides is shown with its brackets.
        Ok(Node { span: self.span_since(start), ..inner })
    }

    fn list(&mut self) -> Result<Node, Located> {
        let start = self.span().start;
        self.advance();
        let items = self.comma_separated("]", Self::expression)?;
        let literals = items.iter().map(|item| item.kind.literal().cloned());
        let value = literals.collect::<Option<Vec<_>>>().map(Value::from);
        node(Kind::List { items, value }, self.span_since(start))
    }

    fn map(&mut self) -> Result<Node, Located> {
        let start = self.span().start;
        self.advance();
        let entries = self.comma_separated("}", |parser| {
            let key = parser.expression()?;
            parser.expect(":")?;
            Ok([key, parser.expression()?])
        })?;
        node(Kind::Map(entries), self.span_since(start))
    }

    /// Items up to a closing bracket; a comma after the last is allowed.
    fn comma_separated<T>(
        &mut self,
        close: &'static str,
        item: fn(&mut Self) -> Result<T, Located>,
    ) -> Result<Vec<T>, Located> {
        let mut items = Vec::new();
        while !self.accept(close) {
            items.push(item(self)?);
            if !self.accept(",") && !self.at_operator(close) {
                return Err(self.unexpected(&format!("`,` or `{close}`")));
            }
        }
        Ok(items)
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(Span { start: 0, end: 0 }, |(_, span)| *span)
    }

    /// The span from a place to the end of the token just taken.
    fn span_since(&self, start: usize) -> Span {
        let previous = self.tokens.get(self.at.saturating_sub(1));
        Span { start, end: previous.map_or(start, |(_, span)| span.end) }
    }

    fn advance(&mut self) {
        self.at += 1;
    }

    fn at_operator(&self, text: &str) -> bool {
        matches!(self.peek(), Token::Operator(operator) if *operator == text)
    }

    fn accept(&mut self, text: &str) -> bool {
        let there = self.at_operator(text);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, text: &str) -> Result<(), Located> {
        if self.accept(text) {
            return Ok(());
        }
        Err(self.unexpected(&format!("`{text}`")))
    }

    fn unexpected(&self, expected: &str) -> Located {
        let fault = Fault::Syntax { expected: expected.to_owned(), found: self.peek().describe() };
        fault.at(self.span())
    }

    fn fault_here(&self, message: &str) -> Located {
        Fault::Literal(message.to_owned()).at(self.span())
    }
}

/// A node, if it is not nested too deeply.
fn node(kind: Kind, span: Span) -> Result<Node, Located> {
    let depth = 1 + kind.children().map(|child| child.depth).max().unwrap_or(0);
    if depth > MAX_DEPTH {
        return Err(Fault::TooDeep.at(span));
    }
    Ok(Node { kind, span, depth })
}

fn cover(first: &Node, last: &Node) -> Span {
    Span { start: first.span.start, end: last.span.end }
}
