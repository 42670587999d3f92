//! Which steps a requirement or an exemption covers.

use proofmark_receipt::document::{DocumentError, Field};
use proofmark_receipt::glob;
use proofmark_receipt::{Json, object};

use crate::class::Class;
use crate::workflow::{Step, Workflow};
use crate::{read, vocabulary};

/// The steps that match all of its globs, and the class. A step without an agent has the empty name as its agent, which
/// `*` matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub workflow: Option<String>,
    pub step: Option<String>,
    pub agent: Option<String>,
    pub class: Option<Class>,
}

impl Scope {
    /// Whether it covers a step of this class.
    pub fn covers(&self, workflow: &Workflow, step: &Step, class: Class) -> bool {
        let matches =
            |pattern: &Option<String>, name: &str| pattern.as_ref().is_none_or(|pattern| glob::matches(pattern, name));
        matches(&self.workflow, &workflow.name)
            && matches(&self.step, &step.id)
            && matches(&self.agent, step.agent.as_deref().unwrap_or_default())
            && self.class.is_none_or(|expected| expected == class)
    }

    /// Whether it names neither workflow, step nor agent.
    pub(super) fn is_everything(&self) -> bool {
        self.workflow.is_none() && self.step.is_none() && self.agent.is_none()
    }

    pub(super) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::SCOPE)?;
        let word = |name: &str| fields.get(name).map(|field| read::word(&field)).transpose();
        Ok(Self {
            workflow: word("workflow")?,
            step: word("step")?,
            agent: word("agent")?,
            class: fields.get("class").map(|field| Class::read(&field)).transpose()?,
        })
    }

    pub(super) fn to_json(&self) -> Json {
        object! {
            "workflow"?: self.workflow.as_deref(),
            "step"?: self.step.as_deref(),
            "agent"?: self.agent.as_deref(),
            "class"?: self.class.map(Class::as_str),
        }
        .into()
    }
}
