//! One step.

use proofmark_predicate::Schema;
use proofmark_receipt::document::{DocumentError, Field};

use super::Class;
use super::failure::OnFailure;
use super::next::Next;
use super::verification::Verification;
use crate::tools;
use crate::vocabulary;

/// A step of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its name, unique in the workflow.
    pub id: String,
    /// Who does it.
    pub agent: Option<String>,
    /// Whether it changes something; as the workflow where it does not say.
    pub class: Option<Class>,
    /// The names of what its payload holds, for `{{step.field}}`, besides those its evidence names.
    pub outputs: Vec<String>,
    /// What proves it.
    pub verification: Option<Verification>,
    /// What happens when it is not accepted.
    pub on_failure: Option<OnFailure>,
    /// Where it leads.
    pub next: Next,
}

impl Step {
    pub(super) fn read(field: &Field<'_>, facts: &Schema) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::STEP)?;
        for name in ["description", "prompt"] {
            if let Some(field) = fields.get(name) {
                field.text()?;
            }
        }
        Ok(Self {
            id: tools::word(&fields.need("id", "name the step")?)?,
            agent: fields.get("agent").map(|field| tools::word(&field)).transpose()?,
            class: fields.get("class").map(|field| Class::read(&field)).transpose()?,
            outputs: fields.get("outputs").map_or(Ok(Vec::new()), |field| tools::names(&field))?,
            verification: fields.get("verification").map(|field| Verification::read(&field, facts)).transpose()?,
            on_failure: fields.get("onFailure").map(|field| OnFailure::read(&field)).transpose()?,
            next: Next::read(&fields, facts)?,
        })
    }
}
