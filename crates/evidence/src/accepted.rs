//! Warnings of lint that the author of a document means: `lint: {allow: [NAME]}`.

use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, nearest, shown};

/// The most names in one list.
const MAX_NAMES: usize = 100;

/// Which warnings are meant, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedWarnings(Vec<Accepted>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Accepted {
    /// Where the list is, as in `boundaries[0].lint.allow[1]`.
    at: String,
    /// What it is for: the object that has the list; empty for the document.
    within: String,
    code: &'static str,
}

impl AcceptedWarnings {
    /// Reads the field `lint` of an object at `within`, if it has one. `known` are the names that there are.
    ///
    /// # Errors
    /// [`DocumentError`] for anything else than a list of known names.
    pub fn read(&mut self, fields: &Fields<'_>, within: &str, known: &[&'static str]) -> Result<(), DocumentError> {
        let Some(field) = fields.get("lint") else { return Ok(()) };
        let fields = field.fields()?;
        fields.only(&["allow"])?;
        let names = fields.need("allow", "list the names of the warnings that are meant")?;
        let items = names.items()?;
        if items.len() > MAX_NAMES {
            let message = format!("more than {MAX_NAMES} names");
            return Err(names.error(Cause::TooMany, message).with_help("name each warning once"));
        }
        for item in items {
            self.0.push(Accepted { within: within.to_owned(), code: code(&item, known)?, at: item.at });
        }
        Ok(())
    }

    /// Whether a warning with this name at this place is meant.
    #[must_use]
    pub fn has(&self, code: &str, at: &str) -> bool {
        self.0.iter().any(|accepted| accepted.covers(code, at))
    }

    /// The places and names that no warning has, of which `found` has the names and places.
    #[must_use]
    pub fn needless(&self, found: &[(&str, &str)]) -> Vec<(String, &'static str)> {
        let is_met = |accepted: &&Accepted| !found.iter().any(|(code, at)| accepted.covers(code, at));
        self.0.iter().filter(is_met).map(|accepted| (accepted.at.clone(), accepted.code)).collect()
    }
}

impl Accepted {
    fn covers(&self, code: &str, at: &str) -> bool {
        self.code == code && at.starts_with(&self.within)
    }
}

fn code(field: &Field<'_>, known: &[&'static str]) -> Result<&'static str, DocumentError> {
    let name = field.text()?;
    known.iter().find(|code| **code == name).copied().ok_or_else(|| {
        let help = match nearest(name, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "write the name of a warning, as `proofmark lint` prints it in brackets".to_owned(),
        };
        field.error(Cause::InvalidValue, format!("no warning is called `{}`", shown(name))).with_help(help)
    })
}
