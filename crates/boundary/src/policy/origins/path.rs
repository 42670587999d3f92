//! Patterns of places in a result, as in `$[*].recipient`.

use proofmark_flow::Step;
use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::glob;

/// The longest path, in bytes.
const MAX_PATH_BYTES: usize = 256;
const HELP: &str = "write it as in `$.items[*].name`; `*` in a name is any run of characters, and `~` at the end are the names of members";

/// One or several places: a value has to be at one of them, or below it.
#[derive(Debug)]
pub(super) struct PathPattern(Vec<Place>);

#[derive(Debug)]
struct Place {
    /// As it is written.
    text: String,
    parts: Vec<Part>,
    /// Whether only the names of the members there are meant.
    names: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// A glob of the member's name.
    Member(String),
    /// An item; `None` for each of them.
    Item(Option<usize>),
}

impl PathPattern {
    pub(super) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = match field.json.as_array() {
            Some(_) => field.items()?,
            None => vec![field.clone()],
        };
        if fields.is_empty() {
            return Err(field.error(Cause::Empty, "the list has no paths").with_help(HELP));
        }
        Ok(Self(fields.iter().map(one).collect::<Result<_, _>>()?))
    }

    /// Whether a value with this place is at a place of the pattern or below it. The name of a member counts as what its object
    /// is: a pattern of members does not cover their names.
    pub(super) fn covers(&self, steps: &[Step<'_>]) -> bool {
        let (steps, is_name) = match steps {
            [object @ .., Step::Member(_), Step::Name] => (object, true),
            steps => (steps, false),
        };
        self.0.iter().any(|Place { parts, names, .. }| {
            let reaches = if *names { is_name && parts.len() == steps.len() } else { parts.len() <= steps.len() };
            reaches && parts.iter().zip(steps).all(|(part, step)| part.is(*step))
        })
    }
}

impl Part {
    fn is(&self, step: Step<'_>) -> bool {
        match (self, step) {
            (Self::Member(glob), Step::Member(name)) => glob::matches(glob, name),
            (Self::Item(index), Step::Item(item)) => index.is_none_or(|index| index == item),
            (Self::Member(_) | Self::Item(_), _) => false,
        }
    }
}

impl std::fmt::Display for PathPattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, place) in self.0.iter().enumerate() {
            write!(f, "{}`{}`", if index == 0 { "" } else { " or " }, place.text)?;
        }
        Ok(())
    }
}

fn one(field: &Field<'_>) -> Result<Place, DocumentError> {
    let text = field.text()?;
    let invalid = |message: &str| field.error(Cause::InvalidValue, message.to_owned()).with_help(HELP);
    if text.len() > MAX_PATH_BYTES {
        return Err(invalid(&format!("the path is longer than {MAX_PATH_BYTES} bytes")));
    }
    let (path, names) = text.strip_suffix('~').map_or((text, false), |path| (path, true));
    let mut rest = path.strip_prefix('$').ok_or_else(|| invalid("a path begins with `$`"))?;
    let mut parts = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, next) = after.split_at(end);
            if name.is_empty() {
                return Err(invalid("the path has an empty name"));
            }
            parts.push(Part::Member(name.to_owned()));
            rest = next;
        } else if let Some((index, next)) = rest.strip_prefix('[').and_then(|after| after.split_once(']')) {
            let item = if index == "*" {
                None
            } else {
                Some(index.parse().map_err(|_| invalid("an item is a number or `*`"))?)
            };
            parts.push(Part::Item(item));
            rest = next;
        } else {
            return Err(invalid("the path is not understood"));
        }
    }
    Ok(Place { text: text.to_owned(), parts, names })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proofmark_receipt::Json;

    fn pattern(text: &str) -> Result<PathPattern, String> {
        let json = Json::from(text);
        PathPattern::read(&Field::root(&json)).map_err(|error| error.to_string())
    }

    #[test]
    fn a_pattern_covers_what_is_below_it() {
        use Step::{Item, Member, Name};
        let covers = |text: &str, steps: &[Step<'_>]| pattern(text).unwrap().covers(steps);
        assert!(covers("$", &[Item(0), Member("a")]));
        assert!(covers("$[*].to", &[Item(3), Member("to")]));
        assert!(covers("$[*].to", &[Item(3), Member("to"), Item(1)]));
        assert!(covers("$.t*[1]", &[Member("to"), Item(1)]));
        assert!(!covers("$[*].to", &[Item(3), Member("from")]));
        assert!(!covers("$[*].to", &[Item(3)]));
        assert!(!covers("$[2]", &[Item(3)]));
        // The name of a member is a text, too.
        assert!(!covers("$.*", &[Member("a"), Name]));
        assert!(covers("$.map", &[Member("map"), Member("a"), Name]));
        assert!(covers("$", &[Member("a"), Name]));
        assert!(covers("$.map~", &[Member("map"), Member("a"), Name]));
        assert!(!covers("$.map~", &[Member("map"), Member("a")]));
        assert!(!covers("$.map~", &[Member("map"), Member("a"), Member("b"), Name]));
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for text in ["", "a", "$a", "$..a", "$.", "$[x]", "$[1", &format!("${}", ".a".repeat(200))] {
            assert!(pattern(text).is_err(), "{text}");
        }
    }
}
