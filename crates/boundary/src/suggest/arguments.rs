//! What the arguments of calls have in common.

use proofmark_receipt::Json;

use super::Group;

/// How deep an argument may be that a policy is to name.
const MAX_DEPTH: usize = 4;
/// The most places at which a value is looked for.
const MAX_PLACES: usize = 64;

/// The place of an argument, as `tools` of a policy writes it.
pub(super) type Place = Vec<String>;

/// The places at which each of the calls has what `wanted` gives for it: calls for which it gives nothing count for none.
pub(super) fn places_of(
    group: &Group<'_>,
    args: &str,
    wanted: &dyn Fn(&proofmark_receipt::Object) -> Option<Json>,
) -> Vec<Place> {
    let mut common: Option<Vec<Place>> = None;
    for call in &group.calls {
        let Some(value) = wanted(&call.action) else { continue };
        let Some(args) = call.action.get(args) else { return Vec::new() };
        common = Some(match common {
            None => {
                let mut places = Vec::new();
                find(args, &value, &mut Vec::new(), &mut places);
                places
            }
            Some(places) => {
                places.into_iter().filter(|place| at(args, place).is_some_and(|found| is(found, &value))).collect()
            }
        });
    }
    common.unwrap_or_default()
}

/// The value at a place.
pub(super) fn at<'a>(args: &'a Json, place: &[String]) -> Option<&'a Json> {
    place.iter().try_fold(args, |value, name| value.as_object()?.get(name))
}

fn find(json: &Json, wanted: &Json, place: &mut Place, places: &mut Vec<Place>) {
    let Some(object) = json.as_object() else { return };
    for (name, value) in object.iter() {
        // A dot separates the names of a place, so no place can have such a name.
        if name.is_empty() || name.contains('.') || places.len() >= MAX_PLACES {
            continue;
        }
        place.push(name.to_owned());
        if is(value, wanted) {
            places.push(place.clone());
        } else if place.len() < MAX_DEPTH {
            find(value, wanted, place, places);
        }
        place.pop();
    }
}

/// Whether an argument is a value, or the text of it, as targets are texts.
fn is(found: &Json, wanted: &Json) -> bool {
    found == wanted || wanted.as_str().is_some_and(|text| found.as_str().is_none() && found.to_text() == text)
}

/// A number without sign and exponent, as its digits before and after the dot.
pub(super) fn plain_number(json: &Json) -> Option<(&str, &str)> {
    let text = match json {
        Json::Number(number) => number.as_str(),
        _ => return None,
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_plain = [whole, fraction].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    // More digits than this are not held exactly.
    (is_plain && text.len() <= 18).then_some((whole, fraction))
}

/// The largest of plain numbers; none if another is among them.
pub(super) fn largest<'a>(numbers: impl Iterator<Item = &'a Json>) -> Option<&'a Json> {
    let mut best: Option<(&Json, String, &str)> = None;
    for number in numbers {
        let (whole, fraction) = plain_number(number)?;
        // Of the same length, the order of the digits is that of the numbers.
        let whole = format!("{whole:0>20}");
        let fraction = fraction.trim_end_matches('0');
        if best.as_ref().is_none_or(|(_, least, rest)| (whole.as_str(), fraction) > (least.as_str(), rest)) {
            best = Some((number, whole, fraction));
        }
    }
    best.map(|(number, _, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_number_is_found_exactly() {
        let json = Json::parse(b"[1, 20, 3.50, 19.999, 20.0, 20.01, 20.009]").unwrap();
        let found = largest(json.as_array().unwrap().iter()).map(Json::to_text);
        assert_eq!(found.as_deref(), Some("20.01"));
        for other in ["[1, -2]", "[1, 1e3]", "[1, \"2\"]", "[12345678901234567890]"] {
            let json = Json::parse(other.as_bytes()).unwrap();
            assert!(largest(json.as_array().unwrap().iter()).is_none(), "{other}");
        }
    }
}
