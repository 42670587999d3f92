//! Which steps a requirement or an exemption is about.

use proofmark_receipt::document::{DocumentError, Field};
use proofmark_receipt::{Json, Object};

use crate::tools;
use crate::vocabulary;
use crate::workflow::{Class, Step, Workflow};
use proofmark_evidence::glob;

/// The steps that fit all it names; names may have `*` for any characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The workflow's name.
    pub workflow: Option<String>,
    /// The step's id.
    pub step: Option<String>,
    /// Who does the step.
    pub agent: Option<String>,
    /// The step's class.
    pub class: Option<Class>,
}

impl Scope {
    /// Whether a step is in it.
    pub fn covers(&self, workflow: &Workflow, step: &Step, class: Class) -> bool {
        let fits = |pattern: &Option<String>, name: Option<&str>| match (pattern, name) {
            (None, _) => true,
            (Some(pattern), Some(name)) => glob::matches(pattern, name),
            (Some(_), None) => false,
        };
        fits(&self.workflow, Some(&workflow.name))
            && fits(&self.step, Some(&step.id))
            && fits(&self.agent, step.agent.as_deref())
            && self.class.is_none_or(|wanted| wanted == class)
    }

    /// Whether it names neither workflow, step nor agent.
    pub(super) fn is_everything(&self) -> bool {
        self.workflow.is_none() && self.step.is_none() && self.agent.is_none()
    }

    pub(super) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::SCOPE)?;
        let word = |name: &str| fields.get(name).map(|field| tools::word(&field)).transpose();
        Ok(Self {
            workflow: word("workflow")?,
            step: word("step")?,
            agent: word("agent")?,
            class: fields.get("class").map(|field| Class::read(&field)).transpose()?,
        })
    }

    pub(super) fn to_json(&self) -> Json {
        let mut object = Object::new();
        let named = [("workflow", &self.workflow), ("step", &self.step), ("agent", &self.agent)];
        for (name, value) in named {
            if let Some(value) = value {
                object.insert(name, value.as_str());
            }
        }
        if let Some(class) = self.class {
            object.insert("class", class.as_str());
        }
        object.into()
    }
}
