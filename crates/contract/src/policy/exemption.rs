//! Exemptions: what need not be kept, where, why and until when.

use proofmark_evidence::span;
use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::{Json, Object};

use super::demands::Demand;
use super::scope::Scope;
use crate::tools;
use crate::vocabulary;

/// One demand that need not be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Exemption {
    /// The demand.
    pub requirement: Demand,
    /// The steps.
    pub scope: Scope,
    /// Why.
    pub reason: String,
    /// Who approved it.
    pub approver: String,
    /// When it ends, as written.
    pub expires: String,
    /// When it ends, in milliseconds since 1970.
    pub expires_ms: i64,
}

impl Exemption {
    /// Whether it has ended.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        now_ms >= self.expires_ms
    }

    /// The exemption as receipts and lists show it.
    pub fn to_json(&self) -> Json {
        let mut object = Object::new();
        object.insert("requirement", self.requirement.as_str());
        object.insert("scope", self.scope.to_json());
        object.insert("reason", self.reason.as_str());
        object.insert("approver", self.approver.as_str());
        object.insert("expires", self.expires.as_str());
        object.into()
    }

    pub(super) fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(vocabulary::EXEMPTION)?;
        let scope_field = fields.need("scope", "say for which workflow, step or agent")?;
        let scope = Scope::read(&scope_field)?;
        if scope.is_everything() {
            let message = "an exemption for everything is none; name a workflow, a step or an agent";
            return Err(scope_field.error(Cause::InvalidValue, message));
        }
        let expires = fields.need("expires", "write when it ends, as in `2030-12-31`")?;
        Ok(Self {
            requirement: Demand::read(&fields.need("requirement", "say what need not be kept")?)?,
            scope,
            reason: tools::word(&fields.need("reason", "say why")?)?,
            approver: tools::word(&fields.need("approver", "say who approved it")?)?,
            expires_ms: span::read_end(&expires)?.unix_millis(),
            expires: expires.text()?.to_owned(),
        })
    }
}
