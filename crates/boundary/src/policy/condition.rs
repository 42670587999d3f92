//! Predicates of a policy, compiled against the facts there are.

use std::sync::Arc;

use proofmark_predicate::{Budget, Evaluation, Fault, Missing, Predicate, Schema, TypeName, Value};
use proofmark_receipt::document::{Cause, Field};

use super::PolicyError;

/// A condition over the facts.
#[derive(Debug)]
pub(crate) struct Condition {
    pub(crate) predicate: Predicate,
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) source: Arc<str>,
}

/// An expression over the facts that comes to a text.
#[derive(Debug)]
pub(crate) struct TextExpression(Predicate);

/// Why an expression gave no text.
pub(crate) enum NoText {
    Unknown(Vec<Missing>),
    /// It came to something else.
    Type(&'static str),
}

impl Condition {
    /// Reads a condition: it has to come to true or false.
    pub(crate) fn read(field: &Field<'_>, schema: &Schema) -> Result<Self, PolicyError> {
        let source = field.text()?;
        let help = "the expression cannot come to true or false; compare it with something";
        let predicate = compile(field, source, schema, TypeName::Bool, help)?;
        let names = predicate.names();
        Ok(Self { predicate, names, source: Arc::from(source) })
    }

    pub(crate) fn evaluate(&self, facts: &Value, budget: &Budget<'_>) -> Evaluation {
        self.predicate.evaluate_within(facts, budget)
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }
}

impl TextExpression {
    /// Reads an expression that has to come to a text.
    pub(crate) fn read(field: &Field<'_>, schema: &Schema) -> Result<Self, PolicyError> {
        let help = "the expression cannot come to a digest; write it as in `sha256(action.args.patch)`";
        compile(field, field.text()?, schema, TypeName::String, help).map(Self)
    }

    pub(crate) fn source(&self) -> &str {
        self.0.source()
    }

    pub(crate) fn predicate(&self) -> &Predicate {
        &self.0
    }

    pub(crate) fn text(&self, facts: &Value, budget: &Budget<'_>) -> Result<Arc<str>, NoText> {
        match self.0.value_within(facts, budget) {
            Ok(Value::String(text)) => Ok(text),
            Ok(other) => Err(NoText::Type(other.type_name().name())),
            Err(unknown) => Err(NoText::Unknown(unknown.missing)),
        }
    }
}

fn compile(
    field: &Field<'_>,
    source: &str,
    schema: &Schema,
    wanted: TypeName,
    help: &str,
) -> Result<Predicate, PolicyError> {
    Predicate::compile_as(source, schema, wanted).map_err(|error| match error.fault {
        Fault::Result { .. } => field.error(Cause::InvalidValue, help).into(),
        _ => PolicyError::Predicate { at: field.at.clone(), error: Box::new(error) },
    })
}
