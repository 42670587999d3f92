//! The tests of a suite.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use proofmark_receipt::json::Json;
use proofmark_receipt::{Object, object};

use super::rules::{self, Block, Rules};
use super::{Code, Field, Fields, RequestError, embedded, shown};
use crate::caps::{MAX_REQUEST_BYTES, MAX_TESTS};
use crate::fields::{self, filled};
use crate::language::Functions;
use crate::suite::{Expected, Mode, Raises, Test};

const TEST_FIELDS: [&str; 11] = [
    "name",
    "input",
    "expression",
    "kwargs",
    "construct",
    "expected_output",
    "expected",
    "raises",
    "timeout_ms",
    "tolerance",
    "approx",
];

/// Reads the field `tests`.
pub(super) fn read_all(block: &Block<'_>, rules: &Rules) -> Result<Vec<Test>, RequestError> {
    let field = block.need("tests", "write an array of tests with `name`, `input` and `expected`")?;
    let items = field.array()?;
    if items.is_empty() {
        return Err(field.error(Code::Empty, "the suite has no tests").with_help("write at least one"));
    }
    if items.len() > MAX_TESTS {
        let message = format!("{} tests are more than the {MAX_TESTS} a suite may have", items.len());
        return Err(field.error(Code::TooMany, message).with_help("split the suite"));
    }
    let construct = block.get("construct")?.map(|field| shared_construct(&field, rules, items.len())).transpose()?;
    let mut names = HashSet::new();
    items
        .iter()
        .enumerate()
        .map(|(index, item)| {
            let item = field.item(index, item);
            let fields = item.fields()?;
            fields.only(&TEST_FIELDS)?;
            let name = name(&item, &fields, index, &mut names)?;
            test(&fields, rules, name, construct.clone())
        })
        .collect()
}

/// What every test of the suite constructs its object with.
fn shared_construct(field: &Field<'_>, rules: &Rules, tests: usize) -> Result<Arc<str>, RequestError> {
    let text = construct(field, rules)?;
    // Each case holds a copy.
    if text.len().saturating_mul(tests) > MAX_REQUEST_BYTES {
        let message =
            format!("{} bytes for each of {tests} tests are more than {MAX_REQUEST_BYTES} together", text.len());
        return Err(field.error(Code::TooLarge, message).with_help("shorten the arguments, or split the suite"));
    }
    Ok(text)
}

/// The name of a test: its own, or one made of its place.
fn name(
    item: &Field<'_>,
    fields: &Fields<'_>,
    index: usize,
    names: &mut HashSet<String>,
) -> Result<String, RequestError> {
    match fields.get("name") {
        Some(field) => fields::test_name(&field, names),
        None => {
            let json = Json::from(format!("test {}", index + 1));
            fields::test_name(&Field { at: item.at.clone(), json: &json }, names)
        }
    }
}

fn test(fields: &Fields<'_>, rules: &Rules, name: String, shared: Option<Arc<str>>) -> Result<Test, RequestError> {
    let (input, expected) = match &rules.mode {
        Mode::Call { .. } => (arguments(fields)?, expected_json(fields)?),
        Mode::Expression => {
            let input = fields.either("input", "expression")?.ok_or_else(|| fields.missing("input", EXPRESSION))?;
            let functions = rules.language.functions();
            functions.map_or(Ok(()), |functions| refuse_comparison(&input, functions))?;
            (expression(&input)?, expected_value(fields, functions)?)
        }
        Mode::Stdio => (input(fields)?.text()?.to_owned(), expected_text(fields, rules)?),
    };
    let timeout = fields.get("timeout_ms").map(|field| field.positive()).transpose()?.map(Duration::from_millis);
    let own = rules::tolerance(fields.get("tolerance"), fields.get("approx"), &rules.mode)?;
    let kwargs = fields.get("kwargs").map(|field| kwargs(&field, rules)).transpose()?.unwrap_or_default();
    let construct = fields.get("construct").map(|field| construct(&field, rules)).transpose()?.or(shared);
    Ok(Test { name, input, kwargs, construct, expected, timeout, tolerance: own.unwrap_or(rules.tolerance) })
}

/// The right answer, as one of the fields that can say it does.
enum Right<'a> {
    /// `expected_output`.
    Output(Field<'a>),
    /// `expected`.
    Plain(Field<'a>),
    /// `raises`.
    Raises(Field<'a>),
}

fn right<'a>(fields: &Fields<'a>) -> Result<Right<'a>, RequestError> {
    let given = [
        fields.get("expected_output").map(Right::Output),
        fields.get("expected").map(Right::Plain),
        fields.get("raises").map(Right::Raises),
    ];
    let mut given = given.into_iter().flatten();
    match (given.next(), given.next()) {
        (Some(right), None) => Ok(right),
        (Some(one), Some(other)) => {
            let message = format!("`{}` says what is right, too", other.field().at);
            Err(one.field().error(Code::ConflictingFields, message).with_help("leave one of the two out"))
        }
        (None, _) => Err(fields.missing("expected", "write the right answer, or `raises` with the exception expected")),
    }
}

impl<'a> Right<'a> {
    fn field(&self) -> &Field<'a> {
        match self {
            Right::Output(field) | Right::Plain(field) | Right::Raises(field) => field,
        }
    }
}

fn expected_json(fields: &Fields<'_>) -> Result<Expected, RequestError> {
    match right(fields)? {
        Right::Plain(field) => Ok(Expected::Json(field.json.clone())),
        Right::Output(field) => {
            let help = match field.json.as_str() {
                Some(text) => format!(
                    "write it as `expected: {}`, which takes a string as it is",
                    shown(&Json::from(text).to_text())
                ),
                None => String::new(),
            };
            Ok(Expected::Json(embedded::json(&field, &help)?.into_owned()))
        }
        Right::Raises(field) => raises(&field),
    }
}

/// In `expected` a string is an expression, too: so requests of the reference implementation write it.
fn expected_value(fields: &Fields<'_>, functions: Option<&Functions>) -> Result<Expected, RequestError> {
    match right(fields)? {
        Right::Plain(field) if field.json.as_str().is_none() => Ok(Expected::Json(field.json.clone())),
        Right::Plain(field) | Right::Output(field) => {
            let right = expression(&field)?;
            let literal = functions.and_then(|functions| functions.literals.value(&right));
            Ok(literal.map_or(Expected::Expression(right), Expected::Value))
        }
        Right::Raises(field) => raises(&field),
    }
}

fn expected_text(fields: &Fields<'_>, rules: &Rules) -> Result<Expected, RequestError> {
    match right(fields)? {
        Right::Plain(field) | Right::Output(field) => match field.json.as_str() {
            Some(text) => Ok(Expected::Text(text.to_owned(), rules.text_rule)),
            None => Err(field.wrong_type("a string").with_help("the output is text: write it in quotes")),
        },
        Right::Raises(field) => Err(field
            .error(Code::ConflictingFields, "only the modes `call` and `expression` see exceptions")
            .with_help("write `expected`; in the mode `stdio` a program that fails is an `error`")),
    }
}

/// The exception expected: the name of its type, or an object with what its text contains.
fn raises(field: &Field<'_>) -> Result<Expected, RequestError> {
    if field.json.as_object().is_none() {
        return Ok(Expected::Raises(Raises { kind: exception(field)?, contains: None }));
    }
    let fields = field.fields()?;
    fields.only(&["type", "contains"])?;
    let kind = exception(&fields.need("type", EXCEPTION)?)?;
    let contains = fields.get("contains").map(|field| filled(&field)).transpose()?;
    Ok(Expected::Raises(Raises { kind, contains }))
}

const EXCEPTION: &str = "write the name of a type of exception, such as `ValueError`";

fn exception(field: &Field<'_>) -> Result<String, RequestError> {
    let kind = field.json.as_str().ok_or_else(|| field.wrong_type("a string or an object").with_help(EXCEPTION))?;
    let letter = |char: char| char.is_alphabetic() || matches!(char, '_' | '$');
    if kind.starts_with(letter) && kind.chars().all(|char| letter(char) || char.is_numeric()) {
        return Ok(kind.to_owned());
    }
    let message = format!("`{}` is not the name of a type", shown(kind));
    Err(field.error(Code::InvalidValue, message).with_help(format!("{EXCEPTION}, without its module")))
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

/// JSON text of the positional arguments. A test with keyword arguments may have no others.
fn arguments(fields: &Fields<'_>) -> Result<String, RequestError> {
    const HELP: &str = "write a JSON array of the arguments, such as `[[3, 1, 2]]`";
    if fields.get("input").is_none() && fields.get("expression").is_none() && fields.get("kwargs").is_some() {
        return Ok("[]".to_owned());
    }
    let field = input(fields)?;
    let json = embedded::json(&field, HELP)?;
    match json.as_array() {
        Some(_) => Ok(json.to_text()),
        None => Err(field.error(Code::WrongType, format!("found {}", json.type_name())).with_help(HELP)),
    }
}

/// The keyword arguments of a call.
fn kwargs(field: &Field<'_>, rules: &Rules) -> Result<Object, RequestError> {
    only_in_calls(field, rules, "keyword arguments")?;
    if rules.language.functions().is_none_or(|functions| functions.keyword.is_none()) {
        let message = format!("{} has no keyword arguments", rules.language);
        let help = "write an object as the last item of `input`";
        return Err(field.error(Code::Unsupported, message).with_help(help));
    }
    field.json.as_object().cloned().ok_or_else(|| {
        field.wrong_type("an object").with_help("write the arguments by their names, as in `{\"currency\": \"EUR\"}`")
    })
}

/// What an object is constructed with: an array of arguments, or an object with `args` and `kwargs`.
fn construct(field: &Field<'_>, rules: &Rules) -> Result<Arc<str>, RequestError> {
    const HELP: &str = "write an array of the constructor's arguments, or an object with `args` and `kwargs`";
    only_in_calls(field, rules, "objects")?;
    if !matches!(&rules.mode, Mode::Call { entrypoint } if entrypoint.contains('.')) {
        let error = field.error(Code::ConflictingFields, "the entrypoint is not a method");
        return Err(error.with_help("write the class and the method, as in `Account.deposit`"));
    }
    let arguments = match field.json {
        Json::Array(_) => object! { "args": field.json.clone(), "kwargs": Object::new() },
        Json::Object(_) => {
            let fields = field.fields()?;
            fields.only(&["args", "kwargs"])?;
            let args = fields.get("args").map(|args| args.array().map(|_| args.json.clone())).transpose()?;
            let kwargs = fields.get("kwargs").map(|field| kwargs(&field, rules)).transpose()?.unwrap_or_default();
            object! { "args": args.unwrap_or_else(|| Json::Array(Vec::new())), "kwargs": kwargs }
        }
        _ => return Err(field.wrong_type("an array or an object").with_help(HELP)),
    };
    Ok(Json::from(arguments).to_text().into())
}

fn only_in_calls(field: &Field<'_>, rules: &Rules, what: &str) -> Result<(), RequestError> {
    match rules.mode {
        Mode::Call { .. } => Ok(()),
        Mode::Expression => Err(field
            .error(Code::ConflictingFields, format!("only the mode `call` takes {what}"))
            .with_help("write them in the expression")),
        Mode::Stdio => {
            let error = field.error(Code::ConflictingFields, format!("only the mode `call` takes {what}"));
            Err(error.with_help("leave the field out"))
        }
    }
}

fn expression(field: &Field<'_>) -> Result<String, RequestError> {
    if field.json.as_str().is_some() {
        return filled(field);
    }
    Err(field.wrong_type(EXPRESSION.trim_start_matches("write ")))
}
