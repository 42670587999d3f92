//! Reads who may approve: `reviewers`, and `roles`.

use proofmark_evidence::{ListedReviewer, Person, PersonError};
use proofmark_passkey::PasskeyError;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};

use super::text::text;

/// The most reviewers of a policy.
const MAX_REVIEWERS: usize = 1_024;
/// What to write for a list without an entry.
const NAME_ONE: &str = "write one";

/// The people whom a policy lists, under `reviewers` by their names and under `roles` role by role.
pub(super) fn read(fields: &Fields<'_>) -> Result<Vec<ListedReviewer>, DocumentError> {
    let mut listed: Vec<ListedReviewer> = Vec::new();
    if let Some(field) = fields.get("reviewers") {
        for field in filled(&field)? {
            let reviewer = reviewer(&field)?;
            if listed.iter().any(|other| other.name == reviewer.name) {
                let message = format!("another reviewer has the name `{}`", shown(&reviewer.name));
                return Err(field.error(Cause::DuplicateName, message).with_help("give each their own name"));
            }
            listed.push(reviewer);
        }
    }
    if let Some(field) = fields.get("roles") {
        for (role, field) in field.fields()?.iter() {
            let members = if field.json.as_str().is_some() { vec![field] } else { filled(&field)? };
            for member in members {
                let person = person(&member)?;
                listed.push(ListedReviewer { name: person.to_string(), person, roles: vec![role.to_owned()] });
            }
        }
    }
    Ok(listed)
}

/// `{name, key, roles}`, or with `passkey` in place of `key`.
fn reviewer(field: &Field<'_>) -> Result<ListedReviewer, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["name", "key", "passkey", "roles"])?;
    let roles = fields.need("roles", "name the roles that they may approve in")?;
    let person = match (fields.get("key"), fields.get("passkey")) {
        (Some(_), Some(passkey)) => {
            let error = passkey.error(Cause::ConflictingFields, "the reviewer has a `key` and a `passkey`");
            return Err(error.with_help("list them twice, under two names"));
        }
        (None, Some(field)) => Person::Passkey(field.text()?.parse().map_err(|error: PasskeyError| {
            field.error(Cause::InvalidValue, error.to_string()).with_help(error.help())
        })?),
        (_, None) => person(&fields.need("key", "write their public key, `reviewer:ID@KEY`, or a `passkey`")?)?,
    };
    Ok(ListedReviewer {
        name: text(&fields.need("name", "say who it is")?)?.to_owned(),
        person,
        roles: filled(&roles)?.iter().map(|role| Ok(text(role)?.to_owned())).collect::<Result<_, DocumentError>>()?,
    })
}

/// The items of a list that has at least one.
fn filled<'a>(field: &Field<'a>) -> Result<Vec<Field<'a>>, DocumentError> {
    let items = field.items()?;
    match items.len() {
        0 => Err(field.error(Cause::Empty, "the list is empty").with_help(NAME_ONE)),
        1..=MAX_REVIEWERS => Ok(items),
        _ => Err(field.error(Cause::TooMany, format!("more than {MAX_REVIEWERS} entries")).with_help("shorten it")),
    }
}

fn person(field: &Field<'_>) -> Result<Person, DocumentError> {
    field
        .text()?
        .parse()
        .map_err(|error: PersonError| field.error(Cause::InvalidValue, error.to_string()).with_help(error.help()))
}
