//! Reads the part of the predicate language that facts can be found for. Whatever it does not know, it gives up on: what
//! is found is proven by asking the predicate itself.

use proofmark_receipt::Json;
use proofmark_receipt::json::Number;

/// The deepest nesting it follows.
const MAX_DEPTH: usize = 32;
/// The longest source it reads, in bytes.
const MAX_BYTES: usize = 4_096;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Literal(Json),
    /// A fact or a variable, and the way from it.
    Place(Vec<Segment>),
    Not(Box<Expression>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Compare(Operator, Box<Expression>, Box<Expression>),
    List(Vec<Expression>),
    Call {
        base: Option<Box<Expression>>,
        name: String,
        arguments: Vec<Expression>,
    },
}

/// One step of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    Name(String),
    Index(usize),
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
}

/// Reads an expression; nothing when it is beyond this.
pub(super) fn read(source: &str) -> Option<Expression> {
    if source.len() > MAX_BYTES || source.contains("//") {
        return None;
    }
    let mut reader = Reader { rest: source, depth: 0 };
    let expression = reader.either()?;
    reader.skip();
    reader.rest.is_empty().then_some(expression)
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn either(&mut self) -> Option<Expression> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        let mut items = vec![self.both()?];
        while self.take("||") {
            items.push(self.both()?);
        }
        self.depth -= 1;
        single(items, Expression::Or)
    }

    fn both(&mut self) -> Option<Expression> {
        let mut items = vec![self.comparison()?];
        while self.take("&&") {
            items.push(self.comparison()?);
        }
        single(items, Expression::And)
    }

    fn comparison(&mut self) -> Option<Expression> {
        const OPERATORS: [(&str, Operator); 6] = [
            ("==", Operator::Equal),
            ("!=", Operator::NotEqual),
            ("<=", Operator::LessOrEqual),
            (">=", Operator::GreaterOrEqual),
            ("<", Operator::Less),
            (">", Operator::Greater),
        ];
        let left = self.operand()?;
        let operator = OPERATORS.into_iter().find(|(text, _)| self.take(text)).map(|(_, operator)| operator);
        let operator = operator.or_else(|| self.word("in").then_some(Operator::In));
        match operator {
            Some(operator) => {
                let right = self.operand()?;
                Some(Expression::Compare(operator, Box::new(left), Box::new(right)))
            }
            None => Some(left),
        }
    }

    fn operand(&mut self) -> Option<Expression> {
        if !self.rest.trim_start().starts_with("!=") && self.take("!") {
            self.depth += 1;
            let inner = (self.depth <= MAX_DEPTH).then(|| self.operand())??;
            self.depth -= 1;
            return Some(Expression::Not(Box::new(inner)));
        }
        let mut expression = self.primary()?;
        loop {
            if self.take(".") {
                let name = self.name()?;
                expression = match self.take("(") {
                    true => {
                        let arguments = self.list(")")?;
                        Expression::Call { base: Some(Box::new(expression)), name, arguments }
                    }
                    false => extended(expression, Segment::Name(name))?,
                };
            } else if self.take("[") {
                let index = match self.either()? {
                    Expression::Literal(Json::Number(number)) => {
                        Segment::Index(usize::try_from(number.as_u64()?).ok()?)
                    }
                    Expression::Literal(Json::String(name)) => Segment::Name(name),
                    _ => return None,
                };
                expression = self.take("]").then(|| extended(expression, index))??;
            } else {
                return Some(expression);
            }
        }
    }

    fn primary(&mut self) -> Option<Expression> {
        self.skip();
        if self.take("(") {
            let inner = self.either()?;
            return self.take(")").then_some(inner);
        }
        if self.take("[") {
            return Some(Expression::List(self.list("]")?));
        }
        match self.rest.chars().next()? {
            quote @ ('"' | '\'') => self.string(quote),
            letter if letter.is_ascii_digit() || letter == '-' => self.number(),
            _ => {
                let name = self.name()?;
                Some(match name.as_str() {
                    "true" => Expression::Literal(Json::Bool(true)),
                    "false" => Expression::Literal(Json::Bool(false)),
                    "null" => Expression::Literal(Json::Null),
                    _ if self.take("(") => {
                        let arguments = self.list(")")?;
                        Expression::Call { base: None, name, arguments }
                    }
                    _ => Expression::Place(vec![Segment::Name(name)]),
                })
            }
        }
    }

    fn list(&mut self, end: &str) -> Option<Vec<Expression>> {
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(self.either()?);
            if !self.take(",") {
                return self.take(end).then_some(items);
            }
        }
        Some(items)
    }

    /// A string without escapes.
    fn string(&mut self, quote: char) -> Option<Expression> {
        let (text, rest) = self.rest.get(1..)?.split_once(quote)?;
        if text.contains('\\') {
            return None;
        }
        self.rest = rest;
        Some(Expression::Literal(Json::from(text)))
    }

    fn number(&mut self) -> Option<Expression> {
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-')).unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        token.parse::<Number>().ok().map(|number| Expression::Literal(Json::Number(number)))
    }

    fn name(&mut self) -> Option<String> {
        self.skip();
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!name.is_empty()).then(|| name.to_owned())
    }

    fn word(&mut self, word: &str) -> bool {
        self.skip();
        let follows = self.rest.strip_prefix(word);
        match follows {
            Some(rest) if !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') => {
                self.rest = rest;
                true
            }
            Some(_) | None => false,
        }
    }

    fn take(&mut self, text: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }
}

fn single(mut items: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Option<Expression> {
    if items.len() == 1 { items.pop() } else { Some(many(items)) }
}

fn extended(expression: Expression, segment: Segment) -> Option<Expression> {
    match expression {
        Expression::Place(mut way) => {
            way.push(segment);
            Some(Expression::Place(way))
        }
        _ => None,
    }
}
