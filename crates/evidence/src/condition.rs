//! Conditions and expressions as users write them, compiled against the facts there are.

use std::sync::{Arc, OnceLock};

use proofmark_predicate::{
    Budget, CompileError, Evaluation, Fault, Missing, Predicate, Schema, Truth, TypeName, Value,
};
use proofmark_receipt::document::{Cause, DocumentError, Field};

/// A condition in the predicate language, or the error in it.
///
/// A workflow with an invalid condition can be read, so that lint reports all errors at once; such a condition is unknown
/// whatever the facts. [`Condition::read`] refuses it.
#[derive(Clone, Debug)]
pub struct Condition {
    source: Arc<str>,
    names: Vec<Arc<str>>,
    predicate: Result<Arc<Predicate>, Box<CompileError>>,
    /// That it is false, and that it is true.
    stated: Arc<[OnceLock<Statement>; 2]>,
}

/// A condition or its negation, as the text of a predicate of its own.
#[derive(Debug)]
pub struct Statement {
    text: String,
    predicate: Option<Predicate>,
}

/// An expression over the facts whose value is a text.
#[derive(Clone, Debug)]
pub struct TextExpression(Condition);

/// Why an expression has no text as its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoText {
    /// It depends on these facts.
    Unknown(Vec<Missing>),
    /// Its value is of this type.
    Type(&'static str),
}

/// Why a condition or expression is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// The field is not a text, or the value of the expression is of another type.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// It cannot be compiled.
    #[error("`{at}`: {error}\n{}", .error.caret())]
    Predicate { at: String, error: Box<CompileError> },
}

impl ConditionError {
    /// What to write instead.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Document(error) => error.help(),
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
    /// The condition of a text, valid or not.
    #[must_use]
    pub fn new(source: &str, schema: &Schema) -> Self {
        Self::of(source, Predicate::compile_with(source, schema))
    }

    /// Reads a condition, whose value has to be true or false.
    ///
    /// # Errors
    /// [`ConditionError`] when it cannot be compiled, or its value is of another type.
    pub fn read(field: &Field<'_>, schema: &Schema) -> Result<Self, ConditionError> {
        Self::compiled(
            field,
            schema,
            TypeName::Bool,
            "the expression is never true or false",
            "compare it with something",
        )
    }

    fn compiled(
        field: &Field<'_>,
        schema: &Schema,
        expected: TypeName,
        otherwise: &str,
        help: &str,
    ) -> Result<Self, ConditionError> {
        let source = field.text()?;
        match Predicate::compile_as(source, schema, expected) {
            Ok(predicate) => Ok(Self::of(source, Ok(predicate))),
            Err(CompileError { fault: Fault::Result { .. }, .. }) => {
                Err(field.error(Cause::InvalidValue, otherwise).with_help(help).into())
            }
            Err(error) => Err(ConditionError::Predicate { at: field.at.clone(), error: Box::new(error) }),
        }
    }

    fn of(source: &str, predicate: Result<Predicate, CompileError>) -> Self {
        let predicate = predicate.map(Arc::new).map_err(Box::new);
        let names = predicate.as_ref().map(|predicate| predicate.names()).unwrap_or_default();
        Self { source: Arc::from(source), names, predicate, stated: Arc::default() }
    }

    /// The text as written.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The text as written, shared.
    #[must_use]
    pub fn shared_source(&self) -> Arc<str> {
        self.source.clone()
    }

    /// The error in it.
    #[must_use]
    pub fn fault(&self) -> Option<&CompileError> {
        self.predicate.as_ref().err().map(|fault| &**fault)
    }

    /// The statement that it has this truth. It is compiled once.
    #[must_use]
    pub fn statement(&self, truth: bool) -> &Statement {
        let [is_false, is_true] = &*self.stated;
        if truth { is_true } else { is_false }.get_or_init(|| Statement::new(&self.source, truth))
    }

    /// The top-level facts it names, sorted.
    #[must_use]
    pub fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    /// The compiled predicate; `None` when it is invalid.
    #[must_use]
    pub fn predicate(&self) -> Option<&Predicate> {
        self.predicate.as_deref().ok()
    }

    /// Whether it holds for these facts.
    #[must_use]
    pub fn truth(&self, facts: &Value, budget: &Budget<'_>) -> Truth {
        match &self.predicate {
            Ok(predicate) => predicate.truth_within(facts, budget),
            // Unknown accepts and allows nothing, so an invalid condition fails closed.
            Err(_) => Truth::Unknown(Vec::new()),
        }
    }

    /// As [`Condition::truth`], with the steps that took.
    #[must_use]
    pub fn counted_truth(&self, facts: &Value, budget: &Budget<'_>) -> (Truth, u64) {
        match &self.predicate {
            Ok(predicate) => predicate.counted_truth(facts, budget),
            Err(_) => (Truth::Unknown(Vec::new()), 0),
        }
    }

    /// Whether it holds for these facts, the steps that took, and the clauses that decided.
    #[must_use]
    pub fn evaluate(&self, facts: &Value, budget: &Budget<'_>) -> Evaluation {
        match &self.predicate {
            Ok(predicate) => predicate.evaluate_within(facts, budget),
            Err(_) => Evaluation { truth: Truth::Unknown(Vec::new()), steps: 0, decided_by: Vec::new() },
        }
    }
}

impl Statement {
    fn new(source: &str, truth: bool) -> Self {
        let text = if truth {
            source.to_owned()
        } else if source.contains("//") {
            // A comment at the end would swallow the bracket.
            format!("!({source}\n)")
        } else {
            format!("!({source})")
        };
        let predicate = Predicate::compile(&text).ok();
        Self { text, predicate }
    }

    /// The text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text as a predicate over undeclared facts; `None` when it cannot be compiled.
    #[must_use]
    pub fn predicate(&self) -> Option<&Predicate> {
        self.predicate.as_ref()
    }
}

impl TextExpression {
    /// Reads an expression whose value has to be a digest.
    ///
    /// # Errors
    /// [`ConditionError`] when it cannot be compiled, or its value is not a text.
    pub fn read(field: &Field<'_>, schema: &Schema) -> Result<Self, ConditionError> {
        let help = "write it as in `sha256(action.args.patch)`";
        Condition::compiled(field, schema, TypeName::String, "the value of the expression is never a digest", help)
            .map(Self)
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

    /// The compiled expression.
    #[must_use]
    pub fn predicate(&self) -> Option<&Predicate> {
        self.0.predicate()
    }

    /// Its value for these facts.
    ///
    /// # Errors
    /// [`NoText`] when facts are missing, or the value is not a text.
    pub fn text(&self, facts: &Value, budget: &Budget<'_>) -> Result<Arc<str>, NoText> {
        let Ok(predicate) = &self.0.predicate else { return Err(NoText::Unknown(Vec::new())) };
        match predicate.value_within(facts, budget) {
            Ok(Value::String(text)) => Ok(text),
            Ok(other) => Err(NoText::Type(other.type_name().name())),
            Err(unknown) => Err(NoText::Unknown(unknown.missing)),
        }
    }
}
