//! What `/openapi.json` says of one endpoint.

use std::borrow::Cow;

use proofmark_receipt::{Json, Object, object};
use utoipa::ToSchema;
use utoipa::openapi::{RefOr, Schema};

use crate::reply::JSON;

pub(crate) struct Operation {
    pub(crate) id: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) description: Option<&'static str>,
    /// Names of parameters in `openapi/common.json`, beside the variables of the path.
    pub(crate) parameters: &'static [&'static str],
    /// The body, and whether a request needs one.
    pub(crate) body: Option<(SchemaOf, bool)>,
    pub(crate) responses: Vec<(u16, Answer)>,
}

/// One of the answers an operation has.
pub(crate) enum Answer {
    /// The name of a response in `openapi/common.json`.
    Named(&'static str),
    Json {
        description: &'static str,
        schema: SchemaOf,
    },
    Text {
        description: &'static str,
        media_type: &'static str,
    },
}

/// A type's schema, and those it refers to.
#[derive(Clone, Copy)]
pub(crate) struct SchemaOf {
    name: fn() -> Cow<'static, str>,
    collect: fn(&mut Vec<(String, RefOr<Schema>)>),
}

impl SchemaOf {
    pub(crate) fn of<T: ToSchema>() -> Self {
        Self {
            name: T::name,
            collect: |schemas| {
                schemas.push((T::name().into_owned(), T::schema()));
                T::schemas(schemas);
            },
        }
    }

    fn reference(self) -> Object {
        object! { "$ref": format!("#/components/schemas/{}", (self.name)()) }
    }
}

impl Operation {
    /// The operation as OpenAPI has it, at this path, with this example of a body.
    pub(crate) fn to_json(&self, path: &str, open: bool, example: Option<&Json>) -> Object {
        let responses = self.responses.iter().fold(Object::new(), |mut responses, (status, answer)| {
            responses.insert(status.to_string(), answer.to_json());
            responses
        });
        let body = self.body.map(|(schema, required)| {
            let mut content = Object::new();
            content.insert(JSON, object! { "schema": schema.reference(), "example"?: example.cloned() });
            object! { "required": required, "content": content }
        });
        object! {
            "summary": self.summary,
            "operationId": self.id,
            "tags": vec![Json::from(self.tag)],
            "description"?: self.description,
            // An empty list overrides the `security` of the whole document.
            "security"?: open.then(|| Json::Array(Vec::new())),
            "parameters": variables(path).chain(self.parameters.iter().copied().map(str::to_owned)).map(parameter).collect::<Vec<_>>(),
            "requestBody"?: body,
            "responses": responses,
        }
    }

    /// The schemas it needs beside those it has by name.
    pub(crate) fn collect_schemas(&self, schemas: &mut Vec<(String, RefOr<Schema>)>) {
        if let Some((schema, _)) = &self.body {
            (schema.collect)(schemas);
        }
        for (_, answer) in &self.responses {
            if let Answer::Json { schema, .. } = answer {
                (schema.collect)(schemas);
            }
        }
    }
}

impl Answer {
    fn to_json(&self) -> Object {
        match self {
            Self::Named(name) => object! { "$ref": format!("#/components/responses/{name}") },
            Self::Json { description, schema } => object! { "description": *description, "content": json(*schema) },
            Self::Text { description, media_type } => {
                let mut content = Object::new();
                content.insert(*media_type, Object::new());
                object! { "description": *description, "content": content }
            }
        }
    }
}

fn json(schema: SchemaOf) -> Object {
    let mut content = Object::new();
    content.insert(JSON, object! { "schema": schema.reference() });
    content
}

/// The parameters of a path: `{run}` is the parameter `Run`.
fn variables(path: &str) -> impl Iterator<Item = String> {
    path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).map(|name| {
        let (first, rest) = name.split_at(name.len().min(1));
        format!("{}{rest}", first.to_ascii_uppercase())
    })
}

fn parameter(name: String) -> Json {
    object! { "$ref": format!("#/components/parameters/{name}") }.into()
}
