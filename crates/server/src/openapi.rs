//! `/openapi.json`: what there is, for tools. Each part describes some endpoints; they are put together at the start.

use std::sync::LazyLock;

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use proofmark_receipt::json::JsonError;
use proofmark_receipt::{Json, Object};

use crate::problem::Problem;

/// All parts; what they say is merged, member by member.
const PARTS: [&str; 7] = [
    include_str!("openapi/common.json"),
    include_str!("openapi/runtime.json"),
    include_str!("openapi/decisions.json"),
    include_str!("openapi/receipts.json"),
    include_str!("openapi/work.json"),
    include_str!("openapi/service.json"),
    include_str!("openapi/pages.json"),
];

/// What the door itself answers, whatever is behind it: no part has to say so. Operations that say `"security": []` do
/// not pass it.
const AT_THE_DOOR: [(&str, &str); 9] = [
    ("400", "BadRequest"),
    ("401", "Unauthorized"),
    ("403", "Forbidden"),
    ("408", "TooSlow"),
    ("413", "TooLarge"),
    ("415", "UnknownEncoding"),
    ("429", "Busy"),
    ("500", "Internal"),
    ("503", "Unavailable"),
];

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

static DOCUMENT: LazyLock<Result<String, PartError>> =
    LazyLock::new(|| merged(&PARTS).map(|document| Json::from(document).to_text()));

/// Why the parts are no document.
#[derive(Debug, thiserror::Error)]
enum PartError {
    #[error("read part {0} of the document: {1}")]
    Json(usize, JsonError),
    #[error("read part {0} of the document: it is no object")]
    NoObject(usize),
    #[error("put the document together: `{0}` is there twice")]
    Twice(String),
}

/// The document.
pub(crate) async fn document() -> Response {
    match &*DOCUMENT {
        Ok(text) => ([(header::CONTENT_TYPE, "application/json")], text.as_str()).into_response(),
        Err(error) => {
            Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "no_description", error.to_string()).into_response()
        }
    }
}

fn merged(parts: &[&str]) -> Result<Object, PartError> {
    let mut whole = Object::new();
    for (index, part) in parts.iter().enumerate() {
        match Json::parse(part.as_bytes()).map_err(|error| PartError::Json(index, error))? {
            Json::Object(part) => merge(&mut whole, &part)?,
            _ => return Err(PartError::NoObject(index)),
        }
    }
    if let Some(Json::Object(paths)) = whole.get_mut("paths") {
        describe_door(paths);
    }
    Ok(whole)
}

fn merge(whole: &mut Object, part: &Object) -> Result<(), PartError> {
    for (name, member) in part.iter() {
        match (whole.get_mut(name), member) {
            (Some(Json::Object(there)), Json::Object(member)) => merge(there, member)?,
            (Some(_), _) => return Err(PartError::Twice(name.to_owned())),
            (None, member) => drop(whole.insert(name, member.clone())),
        }
    }
    Ok(())
}

fn describe_door(paths: &mut Object) {
    let names: Vec<String> = paths.iter().map(|(path, _)| path.to_owned()).collect();
    for path in names {
        let Some(Json::Object(item)) = paths.get_mut(&path) else { continue };
        for method in METHODS {
            if let Some(Json::Object(operation)) = item.get_mut(method) {
                pass_door(operation);
            }
        }
    }
}

fn pass_door(operation: &mut Object) {
    let open = operation.get("security").and_then(Json::as_array).is_some_and(<[Json]>::is_empty);
    let (false, Some(Json::Object(responses))) = (open, operation.get_mut("responses")) else { return };
    for (status, name) in AT_THE_DOOR {
        if !responses.contains(status) {
            let mut reference = Object::new();
            reference.insert("$ref", format!("#/components/responses/{name}"));
            responses.insert(status, reference);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn whole() -> Json {
        Json::from(merged(&PARTS).unwrap())
    }

    fn at<'a>(json: &'a Json, path: &[&str]) -> Option<&'a Json> {
        path.iter().try_fold(json, |json, name| json.as_object()?.get(name))
    }

    fn names(json: &Json, path: &[&str]) -> BTreeSet<String> {
        at(json, path).unwrap().as_object().unwrap().iter().map(|(name, _)| name.to_owned()).collect()
    }

    fn references(json: &Json, found: &mut BTreeSet<String>) {
        match json {
            Json::Array(items) => items.iter().for_each(|item| references(item, found)),
            Json::Object(object) => object.iter().for_each(|(name, member)| match (name, member) {
                ("$ref", Json::String(to)) => drop(found.insert(to.clone())),
                (_, member) => references(member, found),
            }),
            _ => {}
        }
    }

    /// `method path` of every `.route(…)` as the source of the router spells it: axum does not tell its routes.
    fn routed() -> BTreeSet<String> {
        let source = include_str!("router.rs");
        let pages = source.split("SwaggerUi::new(\"").skip(1).filter_map(|page| page.split('"').next());
        let mut found: BTreeSet<String> = pages.map(|page| format!("get {page}")).collect();
        for route in source.split(".route(").skip(1) {
            let end = route.find("\n        .").unwrap_or(route.len());
            let (route, path) = (&route[..end], route.split('"').nth(1).unwrap());
            for (call, method) in [
                ("open(", "get"),
                ("got(", "get"),
                ("on_async(GET, ", "get"),
                ("posted(", "post"),
                ("on_async(POST, ", "post"),
                ("on_async(DELETE, ", "delete"),
            ] {
                if route.contains(&format!(" {call}")) || route.contains(&format!("({call}")) {
                    found.insert(format!("{method} {path}"));
                }
            }
        }
        found
    }

    #[test]
    fn what_is_described_is_what_is_routed() {
        let document = whole();
        let described: BTreeSet<String> = names(&document, &["paths"])
            .iter()
            .flat_map(|path| {
                names(&document, &["paths", path]).into_iter().map(move |method| format!("{method} {path}"))
            })
            .collect();
        let routed = routed();
        assert!(routed.len() > 14, "the router is spelt otherwise than this test reads it: {routed:?}");
        assert_eq!(described, routed);
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_component_is_used() {
        let document = whole();
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for to in &found {
            let path: Vec<&str> = to.trim_start_matches("#/").split('/').collect();
            assert!(at(&document, &path).is_some(), "{to} leads nowhere");
        }
        for kind in ["schemas", "parameters", "responses", "headers"] {
            for name in names(&document, &["components", kind]) {
                assert!(found.contains(&format!("#/components/{kind}/{name}")), "{kind} {name} is not used");
            }
        }
    }

    #[test]
    fn operations_have_ids_of_their_own_and_say_what_the_door_answers() {
        let document = whole();
        let mut ids = BTreeSet::new();
        for path in names(&document, &["paths"]) {
            for method in names(&document, &["paths", &path]) {
                let operation = at(&document, &["paths", &path, &method]).unwrap();
                let id = at(operation, &["operationId"]).and_then(Json::as_str).unwrap();
                assert!(ids.insert(id.to_owned()), "{id} is there twice");
                let open = at(operation, &["security"]).is_some();
                assert_eq!(at(operation, &["responses", "401"]).is_some(), !open, "{method} {path}");
            }
        }
    }

    #[test]
    fn a_part_does_not_change_what_another_says() {
        let twice =
            [r#"{"paths": {"/a": {"get": {"summary": "a"}}}}"#, r#"{"paths": {"/a": {"get": {"summary": "b"}}}}"#];
        assert!(matches!(merged(&twice), Err(PartError::Twice(name)) if name == "summary"));
    }
}
