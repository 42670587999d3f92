//! Rules that ask for a person.

use proofmark_evidence::ApprovalDemand;
use proofmark_receipt::document::{DocumentError, Field};

use crate::read::{RuleIds, read_message};
use crate::vocabulary;

/// A rule that asks for signed approvals of the attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalRule {
    /// Unique in the step.
    pub id: String,
    pub demand: ApprovalDemand,
    pub reject_message: Option<String>,
}

impl ApprovalRule {
    pub(super) fn read(field: &Field<'_>, names: &mut RuleIds) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::APPROVAL)?;
        let demand = ApprovalDemand::of_fields(&fields)?;
        Ok(Self {
            id: names.take(&fields, &format!("approval:{}", demand.role))?,
            demand,
            reject_message: read_message(&fields)?,
        })
    }
}
