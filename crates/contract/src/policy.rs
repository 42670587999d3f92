//! Policies: what a house demands of every workflow, and the exemptions it grants.

mod check;
mod demands;
mod exemption;
mod scope;

pub use check::Violation;
pub use demands::{Demand, Demands};
pub use exemption::Exemption;
pub use scope::Scope;

pub(crate) use check::{lifts, violations};

use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};

use crate::tools::{self, ToolClasses};
use crate::vocabulary;
use crate::workflow::{Class, Step, Workflow};

/// The most requirements or exemptions a policy may have.
pub const MAX_ENTRIES: usize = 1_000;

/// A policy as its author wrote it. It only ever tightens what holds without it; what loosens is an [`Exemption`].
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowPolicy {
    /// Its name.
    pub name: String,
    /// Which tools change something, besides what workflows say.
    pub tools: ToolClasses,
    /// What mutating steps have to keep, besides what always holds for them.
    pub mutating: Demands,
    /// What readonly steps have to keep.
    pub readonly: Demands,
    /// What some steps have to keep.
    pub requirements: Vec<Requirement>,
    /// What need not be kept, where, why and until when.
    pub exemptions: Vec<Exemption>,
    /// The document.
    pub document: Json,
}

/// What a policy demands of the steps in a scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// The steps.
    pub scope: Scope,
    /// The class they have, should it be stricter than what they say.
    pub class: Option<Class>,
    /// What they have to keep.
    pub demands: Demands,
}

impl WorkflowPolicy {
    /// Reads a policy from its document.
    ///
    /// # Errors
    /// [`DocumentError`] names the place, what is wrong and the mend.
    pub fn read(document: &Json) -> Result<Self, DocumentError> {
        let fields = Field::root(document).fields()?;
        fields.only(vocabulary::POLICY)?;
        if let Some(field) = fields.get("description") {
            field.text()?;
        }
        let (mutating, readonly) = read_classes(&fields)?;
        Ok(Self {
            name: tools::word(&fields.need("name", "write the policy's name")?)?,
            tools: fields.get("tools").map_or(Ok(ToolClasses::default()), |field| ToolClasses::read(&field))?,
            mutating,
            readonly,
            requirements: list(&fields, "requirements", Requirement::read)?,
            exemptions: list(&fields, "exemptions", Exemption::read)?,
            document: document.clone(),
        })
    }

    /// The class of a step: the strictest of what the workflow and this policy say.
    pub fn class_of(&self, workflow: &Workflow, step: &Step) -> Class {
        let own = workflow.class_of(step);
        let said = self.requirements.iter().filter(|requirement| requirement.scope.covers(workflow, step, own));
        said.filter_map(|requirement| requirement.class).fold(own, Class::max)
    }

    /// What a step has to keep, exemptions left aside.
    pub fn demands_on(&self, workflow: &Workflow, step: &Step) -> Demands {
        let class = self.class_of(workflow, step);
        let of_class = match class {
            Class::Mutating => &self.mutating,
            Class::Readonly => &self.readonly,
        };
        let matching = self.requirements.iter().filter(|requirement| requirement.scope.covers(workflow, step, class));
        matching.fold(Demands::of_class(class).and(of_class), |all, requirement| all.and(&requirement.demands))
    }

    /// The exemptions whose scope a step is in, with their place in the list; also expired ones.
    pub fn exemptions_for<'p>(
        &'p self,
        workflow: &'p Workflow,
        step: &'p Step,
    ) -> impl Iterator<Item = (usize, &'p Exemption)> {
        let class = self.class_of(workflow, step);
        let all = self.exemptions.iter().enumerate();
        all.filter(move |(_, exemption)| exemption.scope.covers(workflow, step, class))
    }
}

impl Requirement {
    fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::REQUIREMENT)?;
        Ok(Self {
            scope: Scope::read(&fields.need("scope", "say of which workflows, steps or agents")?)?,
            class: fields.get("class").map(|field| Class::read(&field)).transpose()?,
            demands: Demands::read(&fields)?,
        })
    }
}

fn read_classes(fields: &Fields<'_>) -> Result<(Demands, Demands), DocumentError> {
    let Some(field) = fields.get("classes") else {
        return Ok((Demands::default(), Demands::default()));
    };
    let classes = field.fields()?;
    classes.only(vocabulary::CLASSES)?;
    let read = |name: &str| -> Result<Demands, DocumentError> {
        let Some(field) = classes.get(name) else {
            return Ok(Demands::default());
        };
        let fields = field.fields()?;
        fields.only(vocabulary::DEMANDS)?;
        Demands::read(&fields)
    };
    Ok((read("mutating")?, read("readonly")?))
}

fn list<'a, T>(
    fields: &Fields<'a>,
    name: &str,
    read: impl Fn(&Field<'a>) -> Result<T, DocumentError>,
) -> Result<Vec<T>, DocumentError> {
    let Some(field) = fields.get(name) else {
        return Ok(Vec::new());
    };
    let items = field.items()?;
    if items.len() > MAX_ENTRIES {
        let message = format!("{} entries are more than the {MAX_ENTRIES} there may be; use `*`", items.len());
        return Err(field.error(Cause::TooMany, message));
    }
    items.iter().map(read).collect()
}
