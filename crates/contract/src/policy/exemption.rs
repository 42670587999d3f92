//! Exemptions from a workflow policy: from what, where, why and until when.

use proofmark_evidence::span;
use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{Json, object};

use super::demands::DemandKind;
use super::scope::Scope;
use crate::{read, vocabulary};

/// An exemption from one demand.
#[derive(Clone, Debug, PartialEq)]
pub struct Exemption {
    pub requirement: DemandKind,
    pub scope: Scope,
    pub reason: String,
    pub approver: String,
    /// When it ends, as written.
    pub expires: String,
    /// When it ends, in milliseconds since 1970.
    pub expires_ms: i64,
}

impl Exemption {
    /// Whether it has expired.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        now_ms >= self.expires_ms
    }

    /// As receipts and lists show it.
    pub fn to_json(&self) -> Json {
        object! {
            "requirement": self.requirement.as_str(),
            "scope": self.scope.to_json(),
            "reason": self.reason.as_str(),
            "approver": self.approver.as_str(),
            "expires": self.expires.as_str(),
        }
        .into()
    }

    pub(super) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::EXEMPTION)?;
        let scope_field = fields.need("scope", "name a workflow, a step or an agent")?;
        let scope = Scope::read(&scope_field)?;
        // A class alone is too wide as well: it would lift the demand from the steps of all workflows.
        if scope.is_everything() {
            let message = "the exemption covers everything";
            return Err(scope_field
                .error(Cause::InvalidValue, message)
                .with_help("name a workflow, a step or an agent"));
        }
        let expires = fields.need("expires", "write when it ends, as in `2030-12-31`")?;
        Ok(Self {
            requirement: DemandKind::read(&fields.need("requirement", "write the demand it lifts")?)?,
            scope,
            reason: read::word(&fields.need("reason", "say why")?)?,
            approver: read::word(&fields.need("approver", "say who approved it")?)?,
            expires_ms: span::read_end(&expires)?.unix_millis(),
            expires: expires.text()?.to_owned(),
        })
    }
}
