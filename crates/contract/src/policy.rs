//! Workflow policies: what an organization demands of every workflow, and the exemptions it grants.
//!
//! A policy only tightens: of two demands the stricter one binds, and the strictest class. So rules may stand in any
//! order, and an added one never weakens a step. The only thing that loosens is an exemption, which names its reason, its
//! approver and its end.

mod check;
mod demands;
mod exemption;
mod scope;

pub use check::Violation;
pub use demands::{DemandKind, Demands};
pub use exemption::Exemption;
pub use scope::Scope;

pub(crate) use check::{lifts, violations};

use proofmark_evidence::{AcceptedWarnings, ListedReviewer};
use proofmark_receipt::Json;
use proofmark_receipt::document::{DocumentError, Field, Fields};

use crate::class::Class;
use crate::read::{self, Limit, list};
use crate::tools::ToolClasses;
use crate::vocabulary;
use crate::warnings::warning_codes;
use crate::workflow::{Step, Workflow};

/// The most requirements or exemptions a policy may have.
pub const MAX_ENTRIES: usize = 1_000;
/// The same, with what to do about more.
const LIMIT: Limit = Limit { max: MAX_ENTRIES, help: "use `*`" };

/// A workflow policy as its author wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowPolicy {
    pub name: String,
    /// Added to what workflows declare.
    pub tools: ToolClasses,
    /// Added to what mutating steps always must do.
    pub mutating: Demands,
    pub readonly: Demands,
    /// Who may approve attempts, and reopen a step that was aborted, in place of those whom workflows list.
    pub reviewers: Vec<ListedReviewer>,
    pub requirements: Vec<Requirement>,
    pub exemptions: Vec<Exemption>,
    /// The warnings of lint that the author means.
    pub accepted: AcceptedWarnings,
    pub document: Json,
}

/// What a policy demands of the steps in a scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub scope: Scope,
    /// Their class, where it is stricter than their own.
    pub class: Option<Class>,
    pub demands: Demands,
}

impl WorkflowPolicy {
    /// Reads a policy from its document.
    ///
    /// # Errors
    /// [`DocumentError`] names the place.
    pub fn read(document: &Json) -> Result<Self, DocumentError> {
        let fields = Field::root(document).fields()?;
        fields.only(vocabulary::POLICY)?;
        if let Some(field) = fields.get("description") {
            // Only checked: a description has no effect.
            field.text()?;
        }
        let (mutating, readonly) = read_classes(&fields)?;
        let mut accepted = AcceptedWarnings::default();
        accepted.read(&fields, "", &warning_codes())?;
        Ok(Self {
            name: read::word(&fields.need("name", "write the policy's name")?)?,
            tools: fields.get("tools").map_or(Ok(ToolClasses::default()), |field| ToolClasses::read(&field))?,
            mutating,
            readonly,
            reviewers: fields.get("reviewers").map_or(Ok(Vec::new()), |field| ListedReviewer::read_all(&field))?,
            requirements: list(&fields, "requirements", LIMIT, Requirement::read)?,
            exemptions: list(&fields, "exemptions", LIMIT, Exemption::read)?,
            accepted,
            document: document.clone(),
        })
    }

    /// The class of a step: the strictest that the workflow or this policy gives it.
    pub fn class_of(&self, workflow: &Workflow, step: &Step) -> Class {
        let own = workflow.class_of(step);
        // By the class in the workflow: the class that is being computed cannot decide which scopes count.
        let matching = self.requirements.iter().filter(|requirement| requirement.scope.covers(workflow, step, own));
        matching.filter_map(|requirement| requirement.class).fold(own, Class::max)
    }

    /// What is demanded of a step, without regard to exemptions.
    pub fn demands_on(&self, workflow: &Workflow, step: &Step) -> Demands {
        // By both classes: a step that the policy makes mutating must meet the demands on mutating steps, and still those
        // on the class that the workflow gives it.
        let classes = [workflow.class_of(step), self.class_of(workflow, step)];
        let of_class = classes.map(|class| match class {
            Class::Mutating => Demands::of_class(class).and(&self.mutating),
            Class::Readonly => Demands::of_class(class).and(&self.readonly),
        });
        let all = of_class.iter().fold(Demands::default(), |all, demands| all.and(demands));
        let matching = self
            .requirements
            .iter()
            .filter(|requirement| classes.iter().any(|class| requirement.scope.covers(workflow, step, *class)));
        matching.fold(all, |all, requirement| all.and(&requirement.demands))
    }

    /// The exemptions whose scope covers a step, with their positions in the list; also expired ones.
    pub fn exemptions_for<'p>(
        &'p self,
        workflow: &'p Workflow,
        step: &'p Step,
    ) -> impl Iterator<Item = (usize, &'p Exemption)> {
        let class = self.class_of(workflow, step);
        let all = self.exemptions.iter().enumerate();
        // An exemption for agents is none for a step whose agent nobody knows.
        all.filter(move |(_, Exemption { scope, .. })| {
            let is_known = scope.agent.is_none() || step.agent.is_some();
            is_known && scope.covers(workflow, step, class)
        })
    }
}

/// Who may approve attempts and reopen steps: an organization decides who, where its policy lists anybody.
pub fn reviewers<'a>(workflow: &'a Workflow, policy: Option<&'a WorkflowPolicy>) -> &'a [ListedReviewer] {
    let listed = policy.map(|policy| policy.reviewers.as_slice()).filter(|listed| !listed.is_empty());
    listed.unwrap_or(&workflow.reviewers)
}

impl Requirement {
    fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::REQUIREMENT)?;
        Ok(Self {
            scope: Scope::read(&fields.need("scope", "name the workflows, steps or agents")?)?,
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
