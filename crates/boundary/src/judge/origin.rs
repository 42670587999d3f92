//! Says which values of an action have no origin that a rule accepts.

use proofmark_receipt::document::shown;
use proofmark_receipt::{Json, Object};
use proofmark_session::masked;

use crate::policy::{Asked, OriginDemand};
use crate::request::Request;

/// The cause of a block by the origin of values.
pub(super) const CAUSE: &str = "origin";
/// The most values that are named for one rule.
const MAX_NAMED: usize = 3;

/// Which values are not as asked, and where they stand instead.
pub(super) fn detail(request: &Request, demand: &OriginDemand) -> Option<String> {
    let origins = request.facts().get("origins")?.as_object()?;
    let rows =
        |name: &str| origins.get(name).and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_object);
    let unknown = || {
        let tools: Vec<_> = texts(origins, "unknown").map(shown).collect();
        format!("Nobody vouches for what came from {}.", tools.join(", "))
    };
    let (asked, rows): (&[Asked], Vec<&Object>) = match demand {
        OriginDemand::From(asked) | OriginDemand::Cover(asked) => (asked, rows("values").collect()),
        OriginDemand::Links(asked) => (asked, rows("links").collect()),
        OriginDemand::Asked(words) => {
            return Some(format!("The request has none of the words {}. {}", words.join(", "), unknown()));
        }
    };
    let mut named = Vec::new();
    let all = asked;
    for asked in all {
        let has_own = |at: &str| all.iter().any(|other| other.argument != "*" && other.is_below(at));
        let is_about = |row: &Object| match asked.argument.as_str() {
            "*" => !row.contains("plain") && !has_own(text(row, "at")),
            _ => asked.is_below(text(row, "at")),
        };
        let wrong = rows.iter().filter(|row| is_about(row) && !asked.accepts(row));
        named.extend(wrong.map(|row| sentence(row, asked)));
    }
    let more = named.len().saturating_sub(MAX_NAMED);
    named.truncate(MAX_NAMED);
    if more > 0 {
        named.push(format!("{more} more values are like that."));
    }
    named.push(unknown());
    Some(named.join(" "))
}

/// One value, and where it stands.
fn sentence(row: &Object, asked: &Asked) -> String {
    let value = row
        .get("value")
        .and_then(Json::as_str)
        .map(|value| format!(" (\"{}\")", shown(&masked(value))))
        .unwrap_or_default();
    let accepted = asked.labels.join(" or ");
    let accepted = if accepted.is_empty() { "any accepted origin".to_owned() } else { accepted };
    let places = row.get("places").and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_object);
    let places = places.map(|place| {
        let label = match place.get("label").and_then(Json::as_str) {
            Some(label) => format!("labelled {}", shown(label)),
            None => "for which nobody vouches".to_owned(),
        };
        format!("at `{}` of {}, {label}", shown(text(place, "path")), shown(text(place, "source")))
    });
    let places: Vec<_> = places.collect();
    let stands =
        if places.is_empty() { "it was read nowhere".to_owned() } else { format!("it stands {}", places.join("; ")) };
    format!("`{}`{value} does not come from {accepted}: {stands}.", shown(text(row, "at")))
}

impl Asked {
    /// Whether a path is that of this argument, below it, or that of a text in place of an object that has it. `[*]` is any item.
    fn is_below(&self, at: &str) -> bool {
        let (argument, at) = (self.argument.to_lowercase(), at.to_lowercase());
        let mut above = argument.match_indices(['.', '[']).filter_map(|(end, _)| argument.get(..end));
        above.any(|path| after(path, &at) == Some(""))
            || after(&argument, &at).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }

    fn accepts(&self, row: &Object) -> bool {
        let value = row.get("value").and_then(Json::as_str);
        let has_label = |row: &Object| texts(row, "labels").any(|label| self.labels.iter().any(|one| one == label));
        let is_constant = value.is_some_and(|value| self.constants.iter().any(|constant| constant == value));
        let pieces = row.get("pieces").and_then(Json::as_array);
        let is_covered =
            pieces.is_some_and(|pieces| pieces.iter().all(|piece| piece.as_object().is_some_and(has_label)));
        let number = || row.get("number").and_then(Json::as_number)?.as_f64();
        let limit = || self.at_most.as_ref()?.parse::<f64>().ok();
        let is_small = number().zip(limit()).is_some_and(|(number, limit)| (0.0..=limit).contains(&number));
        has_label(row) || is_constant || is_covered || is_small
    }
}

fn text<'a>(object: &'a Object, name: &str) -> &'a str {
    object.get(name).and_then(Json::as_str).unwrap_or_default()
}

fn texts<'a>(object: &'a Object, name: &str) -> impl Iterator<Item = &'a str> {
    object.get(name).and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str)
}

/// What follows in a path after the one of an argument.
fn after<'a>(argument: &str, at: &'a str) -> Option<&'a str> {
    let mut rest = at;
    for (index, part) in argument.split("[*]").enumerate() {
        if index > 0 {
            let (number, behind) = rest.strip_prefix('[')?.split_once(']')?;
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            rest = behind;
        }
        rest = rest.strip_prefix(part)?;
    }
    Some(rest)
}
