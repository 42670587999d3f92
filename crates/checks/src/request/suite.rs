//! The verification block.

use super::rules::{Block, Rules};
use super::{Code, Field, RequestError, shown, test};
use crate::caps::{MAX_PACKAGE_CHARS, MAX_PACKAGES};
use crate::fields::{self, filled};
use crate::language::Language;
use crate::suite::Suite;

/// Reads a verification block of the kind `test_suite`.
pub(super) fn read(verification: &Field<'_>) -> Result<Suite, RequestError> {
    let block = Block::read(verification)?;
    let language = language(&block)?;
    let rules = Rules::read(&block, language)?;
    let runtime = block.get("runtime")?.map(|field| filled(&field)).transpose()?;
    let reveal = fields::reveal(block.get("reveal")?)?;
    let packages = block.get("packages")?.map(|field| packages(&field, language)).transpose()?.unwrap_or_default();
    let strip_fences = block.get("strip_fences")?.map(|field| field.boolean()).transpose()?.unwrap_or_default();
    // Only what is more than the default can be demanded.
    let decided = block.get("decided")?.map(|field| field.choice(&[("verifier", true)])).transpose()?;
    Ok(Suite {
        language,
        runtime,
        tests: test::read_all(&block, &rules)?,
        mode: rules.mode,
        limits: fields::limits(block.get("limits")?)?,
        reveal,
        packages,
        strip_fences,
        verifier_decides: decided.unwrap_or_default(),
    })
}

fn language(block: &Block<'_>) -> Result<Language, RequestError> {
    let field = block.need("language", &format!("write {}", Language::choices()))?;
    let word = field.text()?;
    word.parse().map_err(|_| {
        let message = format!("unknown language `{}`", shown(word));
        field.error(Code::Unsupported, message).with_help(format!("write {}", Language::choices()))
    })
}

fn packages(field: &Field<'_>, language: Language) -> Result<Vec<String>, RequestError> {
    if let Some(why) = language.no_packages() {
        let message = format!("installed packages cannot be used in {language}");
        return Err(field.error(Code::Unsupported, message).with_help(format!("leave the field out: {why}")));
    }
    let items = field.items()?;
    if items.len() > MAX_PACKAGES {
        let message = format!("{} packages are more than the {MAX_PACKAGES} a suite may name", items.len());
        return Err(field.error(Code::TooMany, message).with_help("name only those that programs import themselves"));
    }
    let mut names = Vec::new();
    for item in &items {
        let name = package(item)?;
        if names.contains(&name) {
            let message = format!("`{name}` is named twice");
            return Err(item.error(Code::DuplicateName, message).with_help("leave one of the two out"));
        }
        names.push(name);
    }
    Ok(names)
}

/// A name as package indexes allow it. It becomes an argument of a program, so it does not begin with a dash.
fn package(field: &Field<'_>) -> Result<String, RequestError> {
    let name = field.text()?;
    if name.len() <= MAX_PACKAGE_CHARS
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '_' | '-'))
    {
        return Ok(name.to_owned());
    }
    let message = format!("`{}` is not the name of a package", shown(name));
    Err(field.error(Code::InvalidValue, message).with_help("write a name as `pip install` takes it, without a version"))
}
