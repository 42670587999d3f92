//! The verification block.

use std::collections::HashSet;
use std::time::Duration;

use proofmark_receipt::json::Json;

use super::{Code, Field, Fields, RequestError, embedded, one_of, shown};
use crate::caps::MAX_TESTS;
use crate::fields::{self, filled};
use crate::language::{Functions, Language};
use crate::suite::{Expected, Mode, Suite, Test, TextRule};

/// The fields of a suite, which may also stand in a nested `test_suite`.
const SUITE_FIELDS: [&str; 10] =
    ["language", "runtime", "mode", "entrypoint", "tests", "limits", "compare", "tolerance", "reveal", "salt"];

/// Reads a verification block of the kind `test_suite`.
pub(super) fn read(verification: &Field<'_>) -> Result<Suite, RequestError> {
    let block = Block::read(verification)?;
    let language = language(&block)?;
    let rules = Rules::read(&block, language)?;
    let runtime = block.get("runtime")?.map(|field| filled(&field)).transpose()?;
    let reveal = fields::reveal(block.get("reveal")?)?;
    Ok(Suite {
        language,
        runtime,
        tests: tests(&block, &rules)?,
        mode: rules.mode,
        limits: fields::limits(block.get("limits")?)?,
        reveal,
    })
}

/// The block and the `test_suite` nested in it, read as one.
struct Block<'a> {
    outer: Fields<'a>,
    inner: Option<Fields<'a>>,
}

impl<'a> Block<'a> {
    fn read(verification: &Field<'a>) -> Result<Block<'a>, RequestError> {
        let outer = verification.fields()?;
        outer.only(&[&["kind", "test_suite"], &SUITE_FIELDS[..]].concat())?;
        let inner = outer.get("test_suite").map(|suite| suite.fields()).transpose()?;
        if let Some(inner) = &inner {
            inner.only(&SUITE_FIELDS)?;
        }
        Ok(Block { outer, inner })
    }

    fn get(&self, name: &str) -> Result<Option<Field<'a>>, RequestError> {
        one_of(self.outer.get(name), self.inner.as_ref().and_then(|inner| inner.get(name)))
    }

    fn need(&self, name: &str, help: &str) -> Result<Field<'a>, RequestError> {
        let place = self.inner.as_ref().unwrap_or(&self.outer);
        self.get(name)?.ok_or_else(|| place.missing(name, help))
    }
}

fn language(block: &Block<'_>) -> Result<Language, RequestError> {
    let field = block.need("language", &format!("write {}", Language::choices()))?;
    let word = field.text()?;
    word.parse().map_err(|_| {
        let message = format!("unknown language `{}`", shown(word));
        field.error(Code::Unsupported, message).with_help(format!("write {}", Language::choices()))
    })
}

/// What holds for every test of the suite.
struct Rules {
    language: Language,
    mode: Mode,
    text_rule: TextRule,
    tolerance: Option<f64>,
}

impl Rules {
    fn read(block: &Block<'_>, language: Language) -> Result<Rules, RequestError> {
        let mode = mode(block, language)?;
        let compare = block.get("compare")?;
        let tolerance = block.get("tolerance")?;
        if let (Some(compare), Mode::Call { .. } | Mode::Expression) = (&compare, &mode) {
            return Err(compare
                .error(Code::ConflictingFields, "only the mode `stdio` compares text")
                .with_help("leave the field out"));
        }
        let words = [("exact", TextRule::Exact), ("trimmed", TextRule::Trimmed), ("tokens", TextRule::Tokens)];
        Ok(Rules {
            language,
            text_rule: compare.map(|field| field.choice(&words)).transpose()?.unwrap_or(TextRule::Trimmed),
            tolerance: tolerance.map(|field| self::tolerance(&field, &mode)).transpose()?,
            mode,
        })
    }
}

fn mode(block: &Block<'_>, language: Language) -> Result<Mode, RequestError> {
    #[derive(Clone, Copy)]
    enum Word {
        Call,
        Expression,
        Stdio,
    }
    let words = [("call", Word::Call), ("expression", Word::Expression), ("stdio", Word::Stdio)];
    let asked = block.get("mode")?;
    let entrypoint = block.get("entrypoint")?;
    let functions = language.functions();
    let word = match (&asked, &entrypoint, functions) {
        (Some(field), _, _) => field.choice(&words)?,
        (None, Some(_), _) => Word::Call,
        (None, None, Some(_)) => Word::Expression,
        (None, None, None) => Word::Stdio,
    };
    match (word, functions, entrypoint) {
        (Word::Call | Word::Expression, None, field) => {
            let message = format!("{language} has no functions that return values");
            let help = "write the mode `stdio`, without an entrypoint";
            Err(match asked.or(field) {
                Some(field) => field.error(Code::Unsupported, message).with_help(help),
                None => block.outer.missing("mode", help),
            })
        }
        (Word::Call, Some(functions), Some(field)) => {
            Ok(Mode::Call { entrypoint: self::entrypoint(&field, language, functions)? })
        }
        // `need` always fails here, for the field is missing; the rest only spares an `expect`.
        (Word::Call, Some(_), None) => Err(block
            .need("entrypoint", "the mode `call` needs the name of the function to call")
            .err()
            .unwrap_or_else(|| block.outer.missing("entrypoint", "write the name of the function to call"))),
        (Word::Expression | Word::Stdio, _, Some(field)) => {
            let help = "write `\"mode\": \"call\"`, or leave the field out";
            Err(field.error(Code::ConflictingFields, "only the mode `call` calls an entrypoint").with_help(help))
        }
        (Word::Expression, Some(_), None) => Ok(Mode::Expression),
        (Word::Stdio, _, None) => Ok(Mode::Stdio),
    }
}

fn entrypoint(field: &Field<'_>, language: Language, functions: &Functions) -> Result<String, RequestError> {
    let name = field.text()?;
    if functions.names.allow(name) {
        return Ok(name.to_owned());
    }
    let message = format!("`{}` is not a plain {language} identifier", shown(name));
    Err(field.error(Code::InvalidValue, message).with_help("write the name of one top-level function"))
}

fn tests(block: &Block<'_>, rules: &Rules) -> Result<Vec<Test>, RequestError> {
    let field = block.need("tests", "write an array of tests with `name`, `input` and `expected_output`")?;
    let items = field.array()?;
    if items.is_empty() {
        return Err(field.error(Code::Empty, "the suite has no tests").with_help("write at least one"));
    }
    if items.len() > MAX_TESTS {
        let message = format!("{} tests are more than the {MAX_TESTS} a suite may have", items.len());
        return Err(field.error(Code::TooMany, message).with_help("split the suite"));
    }
    let mut names = HashSet::new();
    items.iter().enumerate().map(|(index, item)| test(&field.item(index, item), rules, &mut names)).collect()
}

fn test(item: &Field<'_>, rules: &Rules, names: &mut HashSet<String>) -> Result<Test, RequestError> {
    let fields = item.fields()?;
    fields.only(&["name", "input", "expression", "expected_output", "expected", "timeout_ms", "tolerance"])?;
    let name = fields::test_name(&fields.need("name", "write a name no other test of the suite has")?, names)?;
    let expected = fields.either("expected_output", "expected")?;
    let expected = expected.ok_or_else(|| fields.missing("expected_output", "write the answer that is right"))?;
    let (input, expected) = match &rules.mode {
        Mode::Call { .. } => (arguments(&input(&fields)?)?, Expected::Json(expected_json(&expected)?)),
        Mode::Expression => {
            let input = fields.either("input", "expression")?.ok_or_else(|| fields.missing("input", EXPRESSION))?;
            let functions = rules.language.functions();
            functions.map_or(Ok(()), |functions| refuse_comparison(&input, functions))?;
            let right = expression(&expected)?;
            let literal = functions.and_then(|functions| functions.literals.value(&right));
            (expression(&input)?, literal.map_or(Expected::Expression(right), Expected::Value))
        }
        Mode::Stdio => {
            let output = expected.text()?.to_owned();
            (input(&fields)?.text()?.to_owned(), Expected::Text(output, rules.text_rule))
        }
    };
    let timeout = fields.get("timeout_ms").map(|field| field.positive()).transpose()?.map(Duration::from_millis);
    let own = fields.get("tolerance").map(|field| tolerance(&field, &rules.mode)).transpose()?;
    Ok(Test { name, input, expected, timeout, tolerance: own.or(rules.tolerance) })
}

/// Refuses an expression whose value is that of a comparison.
fn refuse_comparison(field: &Field<'_>, functions: &Functions) -> Result<(), RequestError> {
    // `expression` refuses what is not a string.
    let Some(text) = field.json.as_str() else { return Ok(()) };
    let Some(operator) = functions.operators.deciding(text) else { return Ok(()) };
    let message =
        format!("the submission decides `{}`, for its own values say what `{operator}` means", shown(text.trim()));
    Err(field
        .error(Code::InvalidValue, message)
        .with_help("write what is computed in `input` and the right value in `expected_output`, as in `f(7)` and `49`"))
}

const EXPRESSION: &str = "write the expression to evaluate, as a string";

fn input<'a>(fields: &Fields<'a>) -> Result<Field<'a>, RequestError> {
    if let Some(field) = fields.get("expression") {
        let message = "only the mode `expression` evaluates expressions";
        return Err(field.error(Code::ConflictingFields, message).with_help("write `input`"));
    }
    fields.need("input", "write what the submission is given")
}

fn arguments(field: &Field<'_>) -> Result<String, RequestError> {
    const HELP: &str = "write a JSON array of the arguments, such as `[[3, 1, 2]]`";
    let json = embedded::json(field, HELP)?;
    match json.as_array() {
        Some(_) => Ok(json.to_text()),
        None => Err(field.error(Code::WrongType, format!("found {}", json.type_name())).with_help(HELP)),
    }
}

fn expected_json(field: &Field<'_>) -> Result<Json, RequestError> {
    let json =
        embedded::json(field, "write a JSON value; a string keeps its own quotes inside, as in `\"\\\"text\\\"\"`")?;
    Ok(json.into_owned())
}

fn expression(field: &Field<'_>) -> Result<String, RequestError> {
    if field.json.as_str().is_some() {
        return filled(field);
    }
    Err(field.wrong_type(EXPRESSION.trim_start_matches("write ")))
}

fn tolerance(field: &Field<'_>, mode: &Mode) -> Result<f64, RequestError> {
    match mode {
        Mode::Call { .. } | Mode::Expression => field.distance(),
        Mode::Stdio => {
            let message = "the mode `stdio` compares text, not numbers";
            Err(field.error(Code::ConflictingFields, message).with_help("leave the field out"))
        }
    }
}
