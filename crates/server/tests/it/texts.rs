//! Texts that no store takes, in each place that the server's own description has for a text: refused before anything is stored, and
//! never a failure of the server.

use proofmark_receipt::{
    Draft, Hashes, Json, Object, ReceiptId, Results, Sha256Digest, SigningKey, Task, Timestamp, Verdict,
};
use proofmark_testing::Home;

use crate::client::{MAIL, answer, code, text, verified, write_request};
use crate::server::Server;

/// How deep places are looked for in a body.
const MAX_DEPTH: usize = 8;
/// Longer than every text that a store is searched by.
const LONG: usize = 5_000;

/// The texts of bodies that become columns. All others are parts of documents, in which JSON writes the character as an escape: code, the
/// values of tests and arguments may have it.
const COLUMNS: [(&str, &str); 19] = [
    ("preflight", "envelope.agent_id"),
    ("preflight", "envelope.policy_scope.action_class"),
    ("preflight", "decision_context.pending_action.raw_name"),
    ("decide", "action.tool"),
    ("decide", "action.class"),
    ("decide", "agent.id"),
    ("review", "note"),
    ("review", "role"),
    ("reviewStatement", "note"),
    ("reviewStatement", "role"),
    ("revokeApproval", "note"),
    ("redeem", "task_id"),
    ("verify", "task_id"),
    ("verify", "task_type"),
    ("referenceVerify", "task_id"),
    ("referenceVerify", "task_type"),
    ("referenceVerifySchema", "task_id"),
    ("referenceVerifySchema", "task_type"),
    ("evaluate", "job_id"),
];

/// A text of a body that a store cuts short, and therefore takes at any length.
const CUT_SHORT: (&str, &str) = ("report", "observed_execution.decision_id");

/// A body with a text at a place.
struct Place {
    at: String,
    body: Json,
}

fn member<'a>(json: &'a Json, names: &[&str]) -> Option<&'a Json> {
    names.iter().try_fold(json, |json, name| json.as_object()?.get(name))
}

/// What a `$ref` leads to.
fn resolved<'a>(document: &'a Json, json: &'a Json) -> &'a Json {
    match member(json, &["$ref"]).and_then(Json::as_str) {
        Some(reference) => {
            let path: Vec<&str> = reference.split('/').skip(1).collect();
            resolved(document, member(document, &path).unwrap())
        }
        None => json,
    }
}

/// A body for each place of a text in the schema: the example around `make` of the place.
fn places(document: &Json, schema: &Json, example: &Json, at: &str, make: &dyn Fn(&str) -> String) -> Vec<Place> {
    let schema = resolved(document, schema);
    let mut found = Vec::new();
    if at.matches(['.', '[']).count() == MAX_DEPTH {
        return found;
    }
    for name in ["anyOf", "oneOf", "allOf"] {
        let parts = member(schema, &[name]).and_then(Json::as_array).unwrap_or_default();
        found.extend(parts.iter().flat_map(|part| places(document, part, example, at, make)));
    }
    let is_text = match member(schema, &["type"]) {
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some("string")),
        Some(kind) => kind.as_str() == Some("string"),
        None => member(schema, &["enum"]).is_some(),
    };
    if is_text {
        found.push(Place { at: at.to_owned(), body: Json::from(make(at)) });
    }
    for (name, inner) in member(schema, &["properties"]).and_then(Json::as_object).into_iter().flat_map(Object::iter) {
        let there = member(example, &[name]).unwrap_or(&Json::Null);
        let place = if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
        for Place { at, body } in places(document, inner, there, &place, make) {
            let mut whole = example.as_object().cloned().unwrap_or_default();
            whole.insert(name, body);
            found.push(Place { at, body: Json::Object(whole) });
        }
    }
    if let Some(items) = member(schema, &["items"]) {
        let first = example.as_array().and_then(|items| items.first()).unwrap_or(&Json::Null);
        let below = places(document, items, first, &format!("{at}[]"), make);
        found.extend(below.into_iter().map(|Place { at, body }| Place { at, body: Json::Array(vec![body]) }));
    }
    found
}

/// A server with a receipt and a decision that waits for a review, for which the variables of paths stand.
struct Described {
    server: Server,
    document: Json,
    receipt: String,
    decision: String,
}

impl Described {
    fn of(home: &Home) -> Self {
        let server = Server::start(home);
        let document = server.get("/openapi.json", "").1;
        let receipt = text(&verified(&server, ""), "receipt_id");
        let decision = text(&server.post("/v1/decisions", "", MAIL).1, "decision_id");
        Self { server, document, receipt, decision }
    }

    /// Path, method and description of each operation.
    fn operations(&self) -> impl Iterator<Item = (&str, &str, &Json)> {
        let paths = member(&self.document, &["paths"]).unwrap().as_object().unwrap();
        paths.iter().flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
        })
    }

    /// The path, whose variables stand for something that is there.
    fn filled(&self, path: &str) -> String {
        let id = if path.starts_with("/v1/reviews") { &self.decision } else { &self.receipt };
        path.replace("{id}", id).replace("{run}", "r1").replace("{step}", "build")
    }
}

#[test]
fn a_text_of_a_body_is_stored_or_refused_and_never_a_failure() {
    let home = Home::new();
    let described = Described::of(&home);
    let (mut posted, mut refused, mut columns) = (0, Vec::new(), 0);
    for (path, _, operation) in described.operations() {
        let Some(content) = member(operation, &["requestBody", "content", "application/json"]) else { continue };
        let id = text(operation, "operationId");
        let (schema, example) = (member(content, &["schema"]).unwrap(), member(content, &["example"]).unwrap());
        let mark = |at: &str| format!("mark-{id}-{at}-");
        for (is_long, rest) in [(false, "\0".to_owned()), (true, "x".repeat(LONG))] {
            for place in places(&described.document, schema, example, "", &|at| mark(at) + &rest) {
                let name = (id.as_str(), place.at.as_str());
                let is_column = COLUMNS.contains(&name);
                // A text that is a part of a document may have any length that the body may have.
                if is_long && !is_column {
                    continue;
                }
                let (status, answer) = described.server.post(&described.filled(path), "", &place.body.to_text());
                assert!(status < 500, "{name:?}: {status} {}", answer.to_text());
                assert!(status >= 400 || !(is_column || name == CUT_SHORT), "{name:?} is stored: {}", answer.to_text());
                if status >= 400 {
                    // The place, because others of the same operation may be stored.
                    refused.push(mark(&place.at));
                }
                (posted, columns) = (posted + 1, columns + usize::from(is_column));
            }
        }
    }
    assert_eq!(columns, 2 * COLUMNS.len(), "a column is not described any more");
    assert!(posted > 150, "{posted}");
    let contents = String::from_utf8_lossy(&home.contents()).into_owned();
    let stored: Vec<_> = refused.iter().filter(|mark| contents.contains(mark.as_str())).collect();
    assert!(stored.is_empty(), "refused, and stored: {stored:?}");
}

#[test]
fn a_text_of_a_path_a_query_or_a_header_is_refused_and_never_a_failure() {
    let home = Home::new();
    let described = Described::of(&home);
    let (mut sent, long) = (0, "x".repeat(LONG));
    for (path, method, operation) in described.operations() {
        let example = member(operation, &["requestBody", "content", "application/json", "example"]);
        let body = example.map_or_else(String::new, Json::to_text);
        for parameter in member(operation, &["parameters"]).and_then(Json::as_array).unwrap_or_default() {
            let parameter = resolved(&described.document, parameter);
            let (place, name) = (text(parameter, "in"), text(parameter, "name"));
            for value in ["a%00b", long.as_str()] {
                let (target, headers) = match place.as_str() {
                    "path" => (described.filled(&path.replace(&format!("{{{name}}}"), value)), String::new()),
                    "query" => (format!("{}?{name}={value}", described.filled(path)), String::new()),
                    _ => (described.filled(path), format!("\r\n{name}: {}", value.replace("%00", "\0"))),
                };
                let head = format!("{} {target} HTTP/1.1{headers}", method.to_ascii_uppercase());
                let mut stream = described.server.connect();
                // The server may refuse the head, and close the connection, before the body was sent.
                let _sent = write_request(&mut stream, &head, body.as_bytes());
                let (status, answer) = answer(&mut stream).unwrap_or((400, String::new()));
                // No preference that cannot be read is an error (RFC 7240), and a list may be asked for by a name that nothing has.
                let may_pass = value == long && (name == "Prefer" || method == "get");
                assert!(status < 500 && (status >= 400 || may_pass), "{head:.120}: {status} {answer}");
                sent += 1;
            }
        }
    }
    assert!(sent > 100, "{sent}");
}

/// A receipt that a stranger signed for a task of this name.
fn of_task(task_id: &str) -> String {
    let digest = Sha256Digest::of(b"nothing");
    let draft = Draft {
        receipt_id: "0198c0de-0000-4000-8000-000000000001".parse::<ReceiptId>().unwrap(),
        verified_at: Timestamp::from_unix_millis(1_790_000_000_000),
        tier: 1,
        verdict: Verdict::Error,
        task: Some(Task { task_id: Some(task_id.to_owned()), task_type: None, description: None }),
        results: Results::default(),
        hashes: Hashes { specification: digest, output: digest, tests: None },
        metadata: Object::new(),
    };
    draft.sign(&SigningKey::from_seed([66; 32])).unwrap().to_text()
}

#[test]
fn a_receipt_whose_task_no_store_takes_is_not_stored() {
    let home = Home::new();
    let server = Server::start(&home);
    for task in ["a\0b".to_owned(), "x".repeat(LONG)] {
        let (status, problem) = server.post("/v1/receipts", "", &of_task(&task));
        assert_eq!(status, 422, "{}", problem.to_text());
        assert_eq!(code(&problem), "invalid_text");
    }
    assert_eq!(server.post("/v1/receipts", "", &of_task("a")).0, 200, "the id is free");
}
