//! In which role a person has to have judged.

use std::fmt;

use proofmark_receipt::document::{Cause, DocumentError, Field, shown};
use proofmark_receipt::{SignerId, Timestamp, Trust};

use crate::receipt::ReceiptFact;
use crate::refusal::{Refusal, refuse};
use crate::reviewer::Person;
use crate::roles::Roles;

/// In which role a person has to have judged. The document that has the rule lists whose keys hold it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgmentDemand {
    pub role: String,
}

impl JudgmentDemand {
    /// Reads `{role}`.
    ///
    /// # Errors
    /// [`DocumentError`] names the field and what to write.
    pub fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(&["role"])?;
        let field = fields.need("role", "say in which role the person judges, as in `role: maintainer`")?;
        let role = field.text()?;
        if role.trim().is_empty() {
            let error = field.error(Cause::Empty, format!("`{}` is not a role", shown(role)));
            return Err(error.with_help("write a role of `reviewers`"));
        }
        Ok(Self { role: role.to_owned() })
    }

    /// The keys of those who have the role. A passkey signs approvals alone, and a server speaks for no judge.
    pub fn keys<'r>(&'r self, roles: &'r Roles) -> impl Iterator<Item = SignerId> + 'r {
        let people = roles.members(&self.role).flat_map(|member| &member.people);
        people.filter_map(|person| if let Person::Key(key) = person { Some(*key) } else { None })
    }

    /// Whether a judgment of this role is signed by somebody who has it, and counts at `now`.
    pub(crate) fn meets(&self, roles: Option<&Roles>, fact: &ReceiptFact, now: &Timestamp) -> Result<(), Refusal> {
        let judgment = fact.judgment.as_ref().ok_or(Refusal::OtherKind)?;
        refuse(judgment.role != self.role, Refusal::OtherRole)?;
        // A key that is known for other documents is that of a program, whatever lists it.
        refuse(fact.trust == Trust::Untrusted, Refusal::Signer)?;
        let mut keys = roles.into_iter().flat_map(|roles| self.keys(roles)).peekable();
        refuse(keys.peek().is_none(), Refusal::RoleOfNobody)?;
        refuse(!keys.any(|key| fact.signer == Some(key)), Refusal::Signer)?;
        let has_expired = judgment.expires_at.as_ref().is_some_and(|end| end.unix_millis() <= now.unix_millis());
        refuse(has_expired, Refusal::Expired)
    }
}

impl fmt::Display for JudgmentDemand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "by a person as `{}`", self.role)
    }
}
