//! Conditions and expressions as users write them, compiled against the facts there are.

use std::sync::Arc;

use proofmark_predicate::{
    Budget, CompileError, Evaluation, Fault, Missing, Predicate, Schema, Truth, TypeName, Value,
};
use proofmark_receipt::document::{Cause, DocumentError, Field};

/// A condition in the predicate language, with what is wrong with it if it cannot be read.
///
/// A workflow with a wrong condition is still a workflow, so that lint can name all of them at once; such a condition is
/// unknown whatever the facts. [`Condition::read`] refuses one.
#[derive(Clone, Debug)]
pub struct Condition {
    source: Arc<str>,
    names: Vec<Arc<str>>,
    predicate: Result<Arc<Predicate>, Box<CompileError>>,
}

/// An expression over the facts that comes to a text.
#[derive(Clone, Debug)]
pub struct TextExpression(Condition);

/// Why an expression gave no text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoText {
    /// It depends on these facts.
    Unknown(Vec<Missing>),
    /// It came to a value of this type.
    Type(&'static str),
}

/// Why a condition or expression is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// The field holds no text, or the expression comes to something of another type.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// It cannot be compiled.
    #[error("`{at}`: {error}\n{}", .error.caret())]
    Predicate {
        /// The place of the condition in the document.
        at: String,
        /// What is wrong with it, and where in it.
        error: Box<CompileError>,
    },
}

impl ConditionError {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Document(_) => None,
            Self::Predicate { error, .. } => error.help(),
        }
    }
}

impl PartialEq for Condition {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Condition {
    /// The condition this text is, right or wrong.
    #[must_use]
    pub fn new(source: &str, schema: &Schema) -> Self {
        Self::of(source, Predicate::compile_with(source, schema))
    }

    /// Reads a condition: it has to come to true or false.
    ///
    /// # Errors
    /// [`ConditionError`] when it cannot be compiled, or can only come to something else.
    pub fn read(field: &Field<'_>, schema: &Schema) -> Result<Self, ConditionError> {
        let help = "the expression cannot come to true or false; compare it with something";
        Self::compiled(field, schema, TypeName::Bool, help)
    }

    fn compiled(field: &Field<'_>, schema: &Schema, wanted: TypeName, help: &str) -> Result<Self, ConditionError> {
        let source = field.text()?;
        match Predicate::compile_as(source, schema, wanted) {
            Ok(predicate) => Ok(Self::of(source, Ok(predicate))),
            Err(CompileError { fault: Fault::Result { .. }, .. }) => Err(field.error(Cause::InvalidValue, help).into()),
            Err(error) => Err(ConditionError::Predicate { at: field.at.clone(), error: Box::new(error) }),
        }
    }

    fn of(source: &str, predicate: Result<Predicate, CompileError>) -> Self {
        let predicate = predicate.map(Arc::new).map_err(Box::new);
        let names = predicate.as_ref().map(|predicate| predicate.names()).unwrap_or_default();
        Self { source: Arc::from(source), names, predicate }
    }

    /// The text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text as written, to be shared.
    #[must_use]
    pub fn shared_source(&self) -> Arc<str> {
        self.source.clone()
    }

    /// What is wrong with it, if it cannot be read.
    #[must_use]
    pub fn fault(&self) -> Option<&CompileError> {
        self.predicate.as_ref().err().map(|fault| &**fault)
    }

    /// The top-level facts it names, sorted.
    #[must_use]
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// What it was compiled to; `None` when it cannot be read.
    #[must_use]
    pub fn predicate(&self) -> Option<&Predicate> {
        self.predicate.as_deref().ok()
    }

    /// Whether it holds for these facts.
    #[must_use]
    pub fn truth(&self, facts: &Value, budget: &Budget<'_>) -> Truth {
        match &self.predicate {
            Ok(predicate) => predicate.truth_within(facts, budget),
            Err(_) => Truth::Unknown(Vec::new()),
        }
    }

    /// Whether it holds for these facts, and how many steps that took of the budget.
    #[must_use]
    pub fn evaluate(&self, facts: &Value, budget: &Budget<'_>) -> Evaluation {
        match &self.predicate {
            Ok(predicate) => predicate.evaluate_within(facts, budget),
            Err(_) => Evaluation { truth: Truth::Unknown(Vec::new()), steps: 0, decided_by: Vec::new() },
        }
    }
}

impl TextExpression {
    /// Reads an expression that has to come to a digest.
    ///
    /// # Errors
    /// [`ConditionError`] when it cannot be compiled, or can only come to something else than a text.
    pub fn read(field: &Field<'_>, schema: &Schema) -> Result<Self, ConditionError> {
        let help = "the expression cannot come to a digest; write it as in `sha256(action.args.patch)`";
        Condition::compiled(field, schema, TypeName::String, help).map(Self)
    }

    /// The text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        self.0.source()
    }

    /// The top-level facts it names, sorted.
    #[must_use]
    pub fn names(&self) -> &[Arc<str>] {
        self.0.names()
    }

    /// What it was compiled to.
    #[must_use]
    pub fn predicate(&self) -> Option<&Predicate> {
        self.0.predicate()
    }

    /// The text it comes to for these facts.
    ///
    /// # Errors
    /// [`NoText`] when facts are missing, or it comes to something else.
    pub fn text(&self, facts: &Value, budget: &Budget<'_>) -> Result<Arc<str>, NoText> {
        let Ok(predicate) = &self.0.predicate else { return Err(NoText::Unknown(Vec::new())) };
        match predicate.value_within(facts, budget) {
            Ok(Value::String(text)) => Ok(text),
            Ok(other) => Err(NoText::Type(other.type_name().name())),
            Err(unknown) => Err(NoText::Unknown(unknown.missing)),
        }
    }
}
