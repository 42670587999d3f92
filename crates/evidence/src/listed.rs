//! Reads the people whom a policy or a workflow lists as reviewers.

use proofmark_passkey::PasskeyError;
use proofmark_receipt::document::{Cause, DocumentError, Field, shown};
use proofmark_receipt::{Json, Object};

use crate::reviewer::{Person, PersonError};
use crate::roles::ListedReviewer;

/// The most reviewers of a document.
const MAX_REVIEWERS: usize = 1_024;
/// The longest name or role, in bytes.
const MAX_TEXT_BYTES: usize = 1_024;
/// What to write for a list without an entry.
const NAME_ONE: &str = "write one";

impl ListedReviewer {
    /// Reads a list of `{name, key, roles}`, or with `passkey` in place of `key`.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write.
    pub fn read_all(field: &Field<'_>) -> Result<Vec<Self>, DocumentError> {
        let mut listed: Vec<Self> = Vec::new();
        for field in filled(field)? {
            let reviewer = reviewer(&field)?;
            if listed.iter().any(|other| other.name == reviewer.name) {
                let message = format!("another reviewer has the name `{}`", shown(&reviewer.name));
                return Err(field.error(Cause::DuplicateName, message).with_help("give each their own name"));
            }
            listed.push(reviewer);
        }
        Ok(listed)
    }

    /// An entry of the list that [`ListedReviewer::read_all`] reads.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let roles: Vec<_> = self.roles.iter().map(|role| Json::from(role.as_str())).collect();
        let (kind, person) = match &self.person {
            Person::Passkey(passkey) => ("passkey", passkey.to_string()),
            person => ("key", person.to_string()),
        };
        let mut entry = Object::new();
        entry.insert("name", self.name.as_str());
        entry.insert(kind, person);
        entry.insert("roles", roles);
        entry.into()
    }
}

/// Reads a person: a public key, `reviewer:ID@KEY`, or a passkey.
///
/// # Errors
/// [`DocumentError`] names the field and what to write.
pub fn read_person(field: &Field<'_>) -> Result<Person, DocumentError> {
    field
        .text()?
        .parse()
        .map_err(|error: PersonError| field.error(Cause::InvalidValue, error.to_string()).with_help(error.help()))
}

/// The items of a list of people or roles that has at least one.
///
/// # Errors
/// [`DocumentError`] where the list is empty or too long.
pub fn filled<'a>(field: &Field<'a>) -> Result<Vec<Field<'a>>, DocumentError> {
    let items = field.items()?;
    match items.len() {
        0 => Err(field.error(Cause::Empty, "the list is empty").with_help(NAME_ONE)),
        1..=MAX_REVIEWERS => Ok(items),
        _ => Err(field.error(Cause::TooMany, format!("more than {MAX_REVIEWERS} entries")).with_help("shorten it")),
    }
}

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
        (_, None) => read_person(&fields.need("key", "write their public key, `reviewer:ID@KEY`, or a `passkey`")?)?,
    };
    Ok(ListedReviewer {
        name: text(&fields.need("name", "say who it is")?)?.to_owned(),
        person,
        roles: filled(&roles)?.iter().map(|role| Ok(text(role)?.to_owned())).collect::<Result<_, DocumentError>>()?,
    })
}

fn text<'a>(field: &Field<'a>) -> Result<&'a str, DocumentError> {
    let text = field.text()?;
    if text.trim().is_empty() {
        return Err(field.error(Cause::Empty, "the text is empty").with_help("write something"));
    }
    if text.len() > MAX_TEXT_BYTES {
        let message = format!("the text is longer than {MAX_TEXT_BYTES} bytes");
        return Err(field.error(Cause::TooLarge, message).with_help("shorten it"));
    }
    Ok(text)
}
