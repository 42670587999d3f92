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
    /// Reads a list of `{name, key, passkey, roles}`. `key` and `passkey` have one value or several; one of them can be left out.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write.
    pub fn read_all(field: &Field<'_>) -> Result<Vec<Self>, DocumentError> {
        let mut listed: Vec<Self> = Vec::new();
        for field in filled(field)? {
            let reviewer = reviewer(&field)?;
            if listed.iter().any(|other| other.name == reviewer.name) {
                let message = format!("another reviewer has the name `{}`", shown(&reviewer.name));
                return Err(field
                    .error(Cause::DuplicateName, message)
                    .with_help("give each their own name, and list the keys of one person in one entry"));
            }
            listed.push(reviewer);
        }
        Ok(listed)
    }

    /// An entry of the list that [`ListedReviewer::read_all`] reads.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let roles: Vec<_> = self.roles.iter().map(|role| Json::from(role.as_str())).collect();
        let (mut keys, mut passkeys) = (Vec::new(), Vec::new());
        for person in &self.people {
            match person {
                Person::Passkey(passkey) => passkeys.push(Json::from(passkey.to_string())),
                person => keys.push(Json::from(person.to_string())),
            }
        }
        let mut entry = Object::new();
        entry.insert("name", self.name.as_str());
        for (kind, mut ways) in [("key", keys), ("passkey", passkeys)] {
            match (ways.pop(), ways.is_empty()) {
                (Some(only), true) => drop(entry.insert(kind, only)),
                (Some(last), false) => {
                    ways.push(last);
                    entry.insert(kind, ways);
                }
                (None, _) => {}
            }
        }
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
    let mut people = Vec::new();
    match (fields.get("key"), fields.get("passkey")) {
        (None, None) => drop(fields.need("key", "write their public key, `reviewer:ID@KEY`, or a `passkey`")?),
        (keys, passkeys) => {
            for key in keys.as_ref().map(one_or_more).transpose()?.unwrap_or_default() {
                people.push(read_person(&key)?);
            }
            for passkey in passkeys.as_ref().map(one_or_more).transpose()?.unwrap_or_default() {
                people.push(Person::Passkey(passkey.text()?.parse().map_err(|error: PasskeyError| {
                    passkey.error(Cause::InvalidValue, error.to_string()).with_help(error.help())
                })?));
            }
        }
    }
    Ok(ListedReviewer {
        name: text(&fields.need("name", "say who it is")?)?.to_owned(),
        people,
        roles: filled(&roles)?.iter().map(|role| Ok(text(role)?.to_owned())).collect::<Result<_, DocumentError>>()?,
    })
}

/// The value of a field, or the values of the list that it has.
fn one_or_more<'a>(field: &Field<'a>) -> Result<Vec<Field<'a>>, DocumentError> {
    if field.json.as_array().is_some() { filled(field) } else { Ok(vec![field.clone()]) }
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
