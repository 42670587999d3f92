//! One step of a workflow.

use proofmark_receipt::document::{DocumentError, Field};

use super::Known;
use super::failure::OnFailure;
use super::next::Next;
use super::verification::Verification;
use crate::class::Class;
use crate::{read, vocabulary};

/// A step of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Unique in the workflow.
    pub id: String,
    pub agent: Option<String>,
    /// `None` is the class of the workflow.
    pub class: Option<Class>,
    /// The text that the agent receives at the first attempt, with its references as they are written.
    pub prompt: Option<String>,
    /// The fields of its payload that `{{step.field}}` may name, beside those its evidence names.
    pub outputs: Vec<String>,
    pub verification: Option<Verification>,
    pub on_failure: Option<OnFailure>,
    pub next: Next,
}

impl Step {
    pub(super) fn read(field: &Field<'_>, known: Known<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::STEP)?;
        if let Some(field) = fields.get("description") {
            field.text()?;
        }
        Ok(Self {
            id: read::word(&fields.need("id", "name the step")?)?,
            agent: fields.get("agent").map(|field| read::word(&field)).transpose()?,
            class: fields.get("class").map(|field| Class::read(&field)).transpose()?,
            prompt: fields.get("prompt").map(|field| field.text().map(str::to_owned)).transpose()?,
            outputs: fields.get("outputs").map_or(Ok(Vec::new()), |field| read::names(&field))?,
            verification: fields.get("verification").map(|field| Verification::read(&field, known)).transpose()?,
            on_failure: fields.get("onFailure").map(|field| OnFailure::read(&field)).transpose()?,
            next: Next::read(&fields, known.facts)?,
        })
    }
}
