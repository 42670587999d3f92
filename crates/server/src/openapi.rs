//! `/openapi.json`: put together at the start, of the rows in `endpoints`, of the schemas that types derive, and of
//! `openapi/*.json`, which has what is not a type here.

use std::sync::Arc;

use axum::extract::State;
use proofmark_checks::Language;
use proofmark_receipt::json::JsonError;
use proofmark_receipt::{Json, Object, object};
use utoipa::ToSchema;

use crate::endpoint::{Access, Endpoint};
use crate::problem::ProblemDocument;
use crate::reply::{JSON, Reply};
use crate::state::AppState;

/// What is written by hand, merged member by member: everything named, documents that are signed or made elsewhere, and
/// the bodies of requests.
const PARTS: [&str; 3] = [
    include_str!("openapi/common.json"),
    include_str!("openapi/documents.json"),
    include_str!("openapi/requests.json"),
];

/// A body that works for each operation that has one, by the operation's id.
const EXAMPLES: &str = include_str!("openapi/examples.json");

/// What every endpoint that looks at keys may answer, before or after its handler.
const ADMISSION: [(&str, &str); 9] = [
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

/// Why there is no description, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    #[error("read part {0} of the description: {1}")]
    Json(usize, JsonError),
    #[error("read the examples of the description: {0}")]
    Examples(JsonError),
    /// A part, or a member that is described in several places, is not an object.
    #[error("put the description together: `{0}` is not an object")]
    NotAnObject(String),
    #[error("put the description together: `{0}` is described twice")]
    Twice(String),
    /// A type has a schema that JSON cannot hold.
    #[error("describe `{0}` ({1})")]
    Schema(String, String),
}

/// `GET /openapi.json`.
pub(crate) async fn document(State(state): State<Arc<AppState>>) -> Reply {
    Reply::text(JSON, state.description.clone())
}

/// The description of these endpoints.
pub(crate) fn describe(endpoints: &[Endpoint]) -> Result<Object, DescriptionError> {
    let languages = Language::ALL.map(|language| format!("\"{language}\"")).join(", ");
    let mut whole = Object::new();
    for (index, part) in PARTS.iter().enumerate() {
        let part = part.replace("\"{languages}\"", &languages);
        match Json::parse(part.as_bytes()).map_err(|error| DescriptionError::Json(index, error))? {
            Json::Object(part) => merge(&mut whole, &part)?,
            _ => return Err(DescriptionError::NotAnObject(format!("part {index}"))),
        }
    }
    whole.insert("paths", paths(endpoints)?);
    add_schemas(&mut whole, endpoints)?;
    Ok(whole)
}

fn paths(endpoints: &[Endpoint]) -> Result<Object, DescriptionError> {
    let examples = Json::parse(EXAMPLES.as_bytes()).map_err(DescriptionError::Examples)?;
    let mut paths = Object::new();
    for endpoint in endpoints {
        let Some(operation) = &endpoint.operation else { continue };
        let open = endpoint.access == Access::Open;
        let example = examples.as_object().and_then(|examples| examples.get(operation.id));
        let mut described = operation.to_json(endpoint.path, open, example);
        if !open && let Some(Json::Object(responses)) = described.get_mut("responses") {
            add_admission(responses);
        }
        // Rows are merged below and not inserted: a path can have several methods, and a second row of one is an error.
        let mut item = Object::new();
        item.insert(endpoint.method.as_str(), described);
        let mut path = Object::new();
        path.insert(endpoint.path, item);
        merge(&mut paths, &path)?;
    }
    Ok(paths)
}

fn add_admission(responses: &mut Object) {
    for (status, name) in ADMISSION {
        if !responses.contains(status) {
            responses.insert(status, object! { "$ref": format!("#/components/responses/{name}") });
        }
    }
}

/// What is written by hand stands: types that are opaque here name such schemas.
fn add_schemas(whole: &mut Object, endpoints: &[Endpoint]) -> Result<(), DescriptionError> {
    let mut derived =
        vec![(ProblemDocument::name().into_owned(), <ProblemDocument<'_> as utoipa::PartialSchema>::schema())];
    ProblemDocument::schemas(&mut derived);
    endpoints.iter().filter_map(|endpoint| endpoint.operation.as_ref()).for_each(|operation| {
        operation.collect_schemas(&mut derived);
    });
    let components = member(whole, "components")?;
    let schemas = member(components, "schemas")?;
    for (name, schema) in derived {
        // Also a type that several endpoints use, and which is therefore collected several times.
        if schemas.contains(&name) {
            continue;
        }
        let failed = |error: String| DescriptionError::Schema(name.clone(), error);
        let text = serde_json::to_vec(&schema).map_err(|error| failed(error.to_string()))?;
        schemas.insert(name.clone(), Json::parse(&text).map_err(|error| failed(error.to_string()))?);
    }
    Ok(())
}

fn member<'a>(object: &'a mut Object, name: &str) -> Result<&'a mut Object, DescriptionError> {
    match object.get_mut(name) {
        Some(Json::Object(member)) => Ok(member),
        Some(_) | None => Err(DescriptionError::NotAnObject(name.to_owned())),
    }
}

fn merge(whole: &mut Object, part: &Object) -> Result<(), DescriptionError> {
    for (name, member) in part.iter() {
        match (whole.get_mut(name), member) {
            (Some(Json::Object(there)), Json::Object(member)) => merge(there, member)?,
            (Some(_), _) => return Err(DescriptionError::Twice(name.to_owned())),
            (None, member) => drop(whole.insert(name, member.clone())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::endpoints::endpoints;

    fn whole() -> Json {
        Json::from(describe(&endpoints(Vec::new())).unwrap())
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

    #[test]
    fn every_endpoint_is_described_but_the_protocol_of_agents() {
        let described: BTreeSet<String> = names(&whole(), &["paths"]);
        for endpoint in endpoints(Vec::new()) {
            // Files, which their own texts describe.
            let is_file = ["/docs/", "/log/tile/"].iter().any(|folder| endpoint.path.starts_with(folder));
            let is_described = endpoint.path != "/mcp" && !is_file;
            assert_eq!(described.contains(endpoint.path), is_described, "{}", endpoint.path);
        }
    }

    #[test]
    fn only_these_endpoints_are_open() {
        let open: Vec<&str> = endpoints(Vec::new())
            .iter()
            .filter(|endpoint| endpoint.access == Access::Open)
            .map(|endpoint| endpoint.path)
            .collect();
        let expected = [
            "/",
            "/health/live",
            "/healthz",
            "/readyz",
            "/.well-known/jwks.json",
            "/log/checkpoint",
            "/log/tile/{*path}",
            "/openapi.json",
            "/docs",
            "/docs/",
            "/docs/{*file}",
            "/health",
        ];
        assert_eq!(open, expected);
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
    fn operations_have_unique_ids_and_say_what_admission_answers() {
        let document = whole();
        let mut ids = BTreeSet::new();
        for path in names(&document, &["paths"]) {
            for method in names(&document, &["paths", &path]) {
                let operation = at(&document, &["paths", &path, &method]).unwrap();
                let id = at(operation, &["operationId"]).and_then(Json::as_str).unwrap();
                assert!(ids.insert(id.to_owned()), "{id} is used twice");
                let open = at(operation, &["security"]).is_some();
                assert_eq!(at(operation, &["responses", "401"]).is_some(), !open, "{method} {path}");
                assert!(at(operation, &["responses", "200"]).is_some(), "{method} {path}");
            }
        }
    }

    #[test]
    fn every_operation_with_a_body_is_explained_and_has_an_example() {
        let (document, mut bodies) = (whole(), BTreeSet::new());
        for path in names(&document, &["paths"]) {
            for method in names(&document, &["paths", &path]) {
                let operation = at(&document, &["paths", &path, &method]).unwrap();
                let Some(body) = at(operation, &["requestBody"]) else { continue };
                assert!(at(body, &["content", JSON, "example"]).is_some(), "{path} has no example");
                for member in ["summary", "description"] {
                    let text = at(operation, &[member]).and_then(Json::as_str).unwrap_or_default();
                    assert!(!text.is_empty(), "{path} has no {member}");
                }
                bodies.insert(at(operation, &["operationId"]).and_then(Json::as_str).unwrap().to_owned());
            }
        }
        let examples = Json::parse(EXAMPLES.as_bytes()).unwrap();
        assert_eq!(names(&examples, &[]), bodies, "an example of no operation");
    }

    #[test]
    fn two_rows_of_one_method_and_path_are_refused() {
        let mut rows = endpoints(Vec::new());
        rows.extend(endpoints(Vec::new()));
        assert!(matches!(describe(&rows), Err(DescriptionError::Twice(_))));
    }
}
