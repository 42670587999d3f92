//! What workflows and policies have in common: words, lists, paths, and the ids and messages of rules.

use proofmark_evidence::Path;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};

/// The most names of a list.
pub(crate) const MAX_NAMES: usize = 1_000;

/// A list of texts that are not empty.
pub(crate) fn names(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    let items = field.items()?;
    if items.len() > MAX_NAMES {
        let message = format!("{} names are more than the {MAX_NAMES} a list may have", items.len());
        return Err(field.error(Cause::TooMany, message).with_help("use `*`"));
    }
    items.iter().map(word).collect()
}

/// A text that is not empty.
pub(crate) fn word(field: &Field<'_>) -> Result<String, DocumentError> {
    match field.text()? {
        "" => Err(field.error(Cause::Empty, "the text is empty").with_help("write one, or leave the field out")),
        text => Ok(text.to_owned()),
    }
}

/// The ids of the rules of a step that are taken.
#[derive(Debug, Default)]
pub(crate) struct RuleIds(Vec<String>);

impl RuleIds {
    /// The rule's own `id`, or `default`, made unique.
    pub(crate) fn take(&mut self, fields: &Fields<'_>, default: &str) -> Result<String, DocumentError> {
        let name = match fields.get("id") {
            Some(field) => {
                let id = word(&field)?;
                if self.0.contains(&id) {
                    let message = format!("another rule has the id `{}`", shown(&id));
                    return Err(field.error(Cause::DuplicateName, message).with_help("give each its own id"));
                }
                id
            }
            None => self.unique(default),
        };
        self.0.push(name.clone());
        Ok(name)
    }

    fn unique(&self, default: &str) -> String {
        let numbered = (2..).map(|number: u32| format!("{default}#{number}"));
        // Never the default of `unwrap_or_default`: a step has far fewer rules than there are numbers.
        std::iter::once(default.to_owned()).chain(numbered).find(|name| !self.0.contains(name)).unwrap_or_default()
    }
}

pub(crate) fn read_path(field: &Field<'_>, text: &str) -> Result<Path, DocumentError> {
    Path::read(text).ok_or_else(|| {
        let message = format!("`{}` is not a path", shown(text));
        field
            .error(Cause::InvalidValue, message)
            .with_help("write it as in `order.items[0].sku`, or as JSONPath from `$`")
    })
}

pub(crate) fn read_message(fields: &Fields<'_>) -> Result<Option<String>, DocumentError> {
    fields.get("rejectMessage").map(|field| word(&field)).transpose()
}

/// How long a list may be.
#[derive(Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) max: usize,
    /// What to do about a longer one.
    pub(crate) help: &'static str,
}

/// The items of a list that may be left out, each read by `read`.
pub(crate) fn list<'a, T>(
    fields: &Fields<'a>,
    name: &str,
    limit: Limit,
    mut read: impl FnMut(&Field<'a>) -> Result<T, DocumentError>,
) -> Result<Vec<T>, DocumentError> {
    let Some(field) = fields.get(name) else {
        return Ok(Vec::new());
    };
    let items = field.items()?;
    if items.len() > limit.max {
        let message = format!("{} items are more than the {} a list may have", items.len(), limit.max);
        return Err(field.error(Cause::TooMany, message).with_help(limit.help));
    }
    items.iter().map(&mut read).collect()
}
