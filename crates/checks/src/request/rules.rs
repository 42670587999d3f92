//! What a suite says for all its tests: how they are run and compared.

use super::{Code, Field, Fields, RequestError, one_of, shown};
use crate::compare::Tolerance;
use crate::language::{Functions, Language};
use crate::suite::{Mode, TextRule};

/// The fields of a suite, which may also stand in a nested `test_suite`.
const SUITE_FIELDS: [&str; 15] = [
    "language",
    "runtime",
    "mode",
    "entrypoint",
    "construct",
    "tests",
    "limits",
    "compare",
    "tolerance",
    "approx",
    "decided",
    "packages",
    "strip_fences",
    "reveal",
    "salt",
];

/// The block and the `test_suite` nested in it, read as one.
pub(super) struct Block<'a> {
    outer: Fields<'a>,
    inner: Option<Fields<'a>>,
}

impl<'a> Block<'a> {
    pub(super) fn read(verification: &Field<'a>) -> Result<Block<'a>, RequestError> {
        let outer = verification.fields()?;
        outer.only(&[&["kind", "test_suite"], &SUITE_FIELDS[..]].concat())?;
        let inner = outer.get("test_suite").map(|suite| suite.fields()).transpose()?;
        if let Some(inner) = &inner {
            inner.only(&SUITE_FIELDS)?;
        }
        Ok(Block { outer, inner })
    }

    pub(super) fn get(&self, name: &str) -> Result<Option<Field<'a>>, RequestError> {
        one_of(self.outer.get(name), self.inner.as_ref().and_then(|inner| inner.get(name)))
    }

    pub(super) fn need(&self, name: &str, help: &str) -> Result<Field<'a>, RequestError> {
        let place = self.inner.as_ref().unwrap_or(&self.outer);
        self.get(name)?.ok_or_else(|| place.missing(name, help))
    }
}

/// What holds for every test of the suite.
pub(super) struct Rules {
    pub(super) language: Language,
    pub(super) mode: Mode,
    pub(super) text_rule: TextRule,
    pub(super) tolerance: Option<Tolerance>,
}

impl Rules {
    pub(super) fn read(block: &Block<'_>, language: Language) -> Result<Rules, RequestError> {
        let mode = mode(block, language)?;
        let compare = block.get("compare")?;
        let tolerance = tolerance(block.get("tolerance")?, block.get("approx")?, &mode)?;
        if let (Some(compare), Mode::Call { .. } | Mode::Expression) = (&compare, &mode) {
            return Err(compare
                .error(Code::ConflictingFields, "only the mode `stdio` compares text")
                .with_help("leave the field out"));
        }
        let words = [("exact", TextRule::Exact), ("trimmed", TextRule::Trimmed), ("tokens", TextRule::Tokens)];
        Ok(Rules {
            language,
            text_rule: compare.map(|field| field.choice(&words)).transpose()?.unwrap_or(TextRule::Trimmed),
            tolerance: tolerance.unwrap_or_default(),
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

/// The name of a function or a class, or of a method behind that of its class.
fn entrypoint(field: &Field<'_>, language: Language, functions: &Functions) -> Result<String, RequestError> {
    let name = field.text()?;
    let (owner, method) = name.split_once('.').map_or((None, name), |(owner, method)| (Some(owner), method));
    // The names go into source text, so they are names and nothing else.
    if functions.names.allow(method) && owner.is_none_or(|owner| functions.names.allow(owner)) {
        return Ok(name.to_owned());
    }
    let message = format!("`{}` is not a plain {language} identifier", shown(name));
    Err(field
        .error(Code::InvalidValue, message)
        .with_help("write the name of one top-level function, or of a method as in `Account.deposit`"))
}

/// How far numbers may be off, by the two fields that say it; the outer `None` where both are missing.
pub(super) fn tolerance(
    absolute: Option<Field<'_>>,
    relative: Option<Field<'_>>,
    mode: &Mode,
) -> Result<Option<Option<Tolerance>>, RequestError> {
    if let (Some(field), Mode::Stdio) = (absolute.as_ref().or(relative.as_ref()), mode) {
        let message = "the mode `stdio` compares text, not numbers";
        return Err(field.error(Code::ConflictingFields, message).with_help("leave the field out"));
    }
    match (absolute, relative) {
        (Some(absolute), Some(_)) => Err(absolute
            .error(Code::ConflictingFields, "`approx` says how far numbers may be off, too")
            .with_help("leave one of the two out")),
        (Some(absolute), None) => Ok(Some(Some(Tolerance::Absolute(absolute.distance()?)))),
        (None, Some(relative)) => Ok(Some(approx(&relative)?)),
        (None, None) => Ok(None),
    }
}

/// The relative tolerance of `approx: true`, which is that of `pytest.approx`.
const APPROX: f64 = 1e-6;

fn approx(field: &Field<'_>) -> Result<Option<Tolerance>, RequestError> {
    if let Some(is_on) = field.json.as_bool() {
        return Ok(is_on.then_some(Tolerance::Relative(APPROX)));
    }
    let number = field.json.as_number().ok_or_else(|| field.wrong_type("`true`, `false` or a number"))?;
    match number.as_f64() {
        // With 1 or more, 0 would be near every number.
        Some(part) if part > 0.0 && part < 1.0 => Ok(Some(Tolerance::Relative(part))),
        Some(_) | None => {
            let message = format!("`{}` is not a part of a number, above 0 and below 1", shown(number.as_str()));
            Err(field
                .error(Code::InvalidValue, message)
                .with_help("write `true` for one millionth, or a number such as 1e-3"))
        }
    }
}
