//! Reads the rules of a boundary.

use std::sync::Arc;

use proofmark_predicate::Schema;
use proofmark_receipt::Verdict;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};

use super::{duration, keys, text};
use crate::facts::CALL_STATUSES;
use crate::glob::Globs;
use crate::policy::{
    ApprovalDemand, Condition, Demand, Deny, Otherwise, PolicyError, ReceiptDemand, Require, SignerDemand,
    TextExpression, ToolCallDemand, Warn, Wording,
};

/// The most approvals one rule may ask for.
const MAX_APPROVALS: u64 = 16;
const DEMANDS: [&str; 4] = ["fact", "receipt", "approval", "tool_call"];

/// What reading a rule needs to know.
pub(super) struct Reader<'a> {
    pub(super) schema: &'a Schema,
}

impl Reader<'_> {
    pub(super) fn condition(&self, field: &Field<'_>) -> Result<Condition, PolicyError> {
        Condition::read(field, self.schema)
    }

    pub(super) fn require(&self, field: &Field<'_>) -> Result<Require, PolicyError> {
        let fields = field.fields()?;
        fields.only(&["fact", "receipt", "approval", "tool_call", "reason", "next", "otherwise"])?;
        let (name, demanded) = one_demand(field, &fields)?;
        let demand = match name {
            "fact" => Demand::Fact(self.condition(&demanded)?),
            "receipt" => Demand::Receipt(self.receipt(&demanded)?),
            "approval" => Demand::Approval(approval(&demanded)?),
            _ => Demand::ToolCall(tool_call(&demanded)?),
        };
        // Nobody but a human can approve, so that is where it goes unless the policy says otherwise.
        let default = match demand {
            Demand::Approval(_) => Otherwise::HumanReview,
            Demand::Fact(_) | Demand::Receipt(_) | Demand::ToolCall(_) => Otherwise::ReplanRequired,
        };
        Ok(Require {
            at: Arc::from(field.at.as_str()),
            demand,
            reason: optional_wording(&fields, "reason")?,
            next: optional_wording(&fields, "next")?,
            otherwise: otherwise(&fields)?.unwrap_or(default),
        })
    }

    pub(super) fn deny(&self, field: &Field<'_>) -> Result<Deny, PolicyError> {
        let fields = field.fields()?;
        fields.only(&["when", "unless", "reason", "next", "otherwise"])?;
        Ok(Deny {
            at: Arc::from(field.at.as_str()),
            when: self.condition(&fields.need("when", "say what must not be")?)?,
            unless: fields.get("unless").map(|field| unless(&field)).transpose()?,
            reason: wording(&fields.need("reason", "say why, as in `{code: tainted_context, message: …}`")?)?,
            next: optional_wording(&fields, "next")?,
            otherwise: otherwise(&fields)?.unwrap_or(Otherwise::ReplanRequired),
        })
    }

    pub(super) fn warn(&self, field: &Field<'_>) -> Result<Warn, PolicyError> {
        let fields = field.fields()?;
        fields.only(&["when", "reason"])?;
        Ok(Warn {
            at: Arc::from(field.at.as_str()),
            when: self.condition(&fields.need("when", "say when to warn")?)?,
            reason: wording(&fields.need("reason", "say why, as in `{code: context_nearly_full, message: …}`")?)?,
        })
    }

    fn receipt(&self, field: &Field<'_>) -> Result<ReceiptDemand, PolicyError> {
        let fields = field.fields()?;
        fields.only(&["verdict", "tier", "output", "specification", "signer", "max_age", "single_use"])?;
        let mend = "say which bytes it has to be over, as in `sha256(action.args.patch)`";
        let output = TextExpression::read(&fields.need("output", mend)?, self.schema)?;
        let specification = fields.get("specification");
        Ok(ReceiptDemand {
            verdict: fields.get("verdict").map(|field| verdict(&field)).transpose()?.unwrap_or(Verdict::Pass),
            tiers: fields.get("tier").map(|field| tiers(&field)).transpose()?.unwrap_or_else(|| vec![0, 1, 2, 3]),
            output,
            specification: specification.map(|field| TextExpression::read(&field, self.schema)).transpose()?,
            signer: fields.get("signer").map(|field| signer(&field)).transpose()?.unwrap_or(SignerDemand::Trusted),
            max_age_millis: fields.get("max_age").map(|field| duration(&field)).transpose()?,
            single_use: fields.get("single_use").map(|field| field.boolean()).transpose()?.unwrap_or(false),
        })
    }
}

/// The one thing a requirement asks for.
fn one_demand<'a>(field: &Field<'a>, fields: &Fields<'a>) -> Result<(&'static str, Field<'a>), DocumentError> {
    let mut there = DEMANDS.into_iter().filter_map(|name| Some((name, fields.get(name)?)));
    let Some(first) = there.next() else {
        let message = "the rule asks for nothing; write one of `fact`, `receipt`, `approval`, `tool_call`";
        return Err(field.error(Cause::MissingField, message));
    };
    match there.next() {
        None => Ok(first),
        Some((second, _)) => {
            let message = format!("the rule asks for `{}` and `{second}`; make two rules of it", first.0);
            Err(field.error(Cause::ConflictingFields, message))
        }
    }
}

fn verdict(field: &Field<'_>) -> Result<Verdict, DocumentError> {
    field.text()?.parse().map_err(|error| field.error(Cause::InvalidValue, format!("{error}")))
}

fn tiers(field: &Field<'_>) -> Result<Vec<u8>, DocumentError> {
    let tier = |field: &Field<'_>| {
        let number = field.json.as_number().ok_or_else(|| field.wrong_type("a tier from 0 to 3"))?;
        match number.as_u64() {
            Some(tier @ 0..=3) => Ok(tier as u8),
            Some(_) | None => Err(field.error(Cause::InvalidValue, "a tier is 0, 1, 2 or 3")),
        }
    };
    let tiers: Vec<u8> = match field.json.as_array() {
        Some(_) => field.items()?.iter().map(tier).collect::<Result<_, _>>()?,
        None => vec![tier(field)?],
    };
    match tiers.is_empty() {
        true => Err(field.error(Cause::Empty, "the list has no tiers; write one from 0 to 3")),
        false => Ok(tiers),
    }
}

fn signer(field: &Field<'_>) -> Result<SignerDemand, DocumentError> {
    match field.json.as_str() {
        Some("trusted") => Ok(SignerDemand::Trusted),
        Some(_) => Err(field.error(Cause::InvalidValue, "write `trusted`, or a list of public keys")),
        None => keys(field).map(SignerDemand::Keys),
    }
}

fn approval(field: &Field<'_>) -> Result<ApprovalDemand, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["role", "count", "distinct"])?;
    let count = fields.get("count").map(|field| count(&field)).transpose()?.unwrap_or(1);
    Ok(ApprovalDemand {
        role: text(&fields.need("role", "say whose approval it takes")?)?.to_owned(),
        count,
        distinct: fields.get("distinct").map(|field| field.boolean()).transpose()?.unwrap_or(true),
    })
}

fn unless(field: &Field<'_>) -> Result<ApprovalDemand, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["approval"])?;
    approval(&fields.need("approval", "only an approval lifts a denial")?)
}

fn count(field: &Field<'_>) -> Result<usize, DocumentError> {
    match field.positive()? {
        count @ 1..=MAX_APPROVALS => Ok(count as usize),
        _ => Err(field.error(Cause::TooMany, format!("write a count from 1 to {MAX_APPROVALS}"))),
    }
}

fn tool_call(field: &Field<'_>) -> Result<ToolCallDemand, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["name", "status", "before", "after"])?;
    let globs = |name: &str| fields.get(name).map(|field| Globs::read(&field)).transpose();
    Ok(ToolCallDemand {
        name: Globs::read(&fields.need("name", "say which tool")?)?,
        status: fields.get("status").map(|field| field.choice(&CALL_STATUSES.map(|word| (word, word)))).transpose()?,
        before: globs("before")?,
        after: globs("after")?,
    })
}

fn otherwise(fields: &Fields<'_>) -> Result<Option<Otherwise>, DocumentError> {
    fields.get("otherwise").map(|field| field.choice(&Otherwise::WORDS)).transpose()
}

fn optional_wording(fields: &Fields<'_>, name: &str) -> Result<Option<Wording>, DocumentError> {
    fields.get(name).map(|field| wording(&field)).transpose()
}

fn wording(field: &Field<'_>) -> Result<Wording, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["code", "message"])?;
    let code = fields.need("code", "name it for programs, as in `missing_approval`")?;
    let message = fields.need("message", "say it for people")?;
    Ok(Wording { code: Arc::from(text(&code)?), message: Arc::from(text(&message)?) })
}
