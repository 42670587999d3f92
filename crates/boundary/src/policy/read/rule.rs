//! Reads the rules of a boundary.

use std::sync::Arc;

use proofmark_evidence::{
    ApprovalDemand, Condition, LogPolicy, ProvenanceDemand, ReceiptDemand, SignerDemand, TextExpression,
};
use proofmark_predicate::Schema;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};
use proofmark_receipt::glob::Globs;
use proofmark_session::CallStatus;

use super::text;
use crate::policy::{
    ActionPolicyError, Demand, Deny, OnBlock, ReceiptRule, Require, SameArgument, ToolCallDemand, Warn, Wording,
};

const DEMANDS: [&str; 9] = ["fact", "receipt", "approval", "tool_call", "from", "links", "cover", "asked", "limit"];

/// The most arguments of a call that a rule binds.
const MAX_BOUND: usize = 32;

/// What the readers of rules share.
pub(super) struct Reader<'a> {
    pub(super) schema: &'a Schema,
    /// The logs and witnesses that the policy pins.
    pub(super) log_policy: Option<&'a LogPolicy>,
}

/// A requirement as it is judged.
pub(super) enum Required {
    Rule(Require),
    /// A requirement that stands for a denial.
    Denial(Deny),
}

impl Reader<'_> {
    pub(super) fn condition(&self, field: &Field<'_>) -> Result<Condition, ActionPolicyError> {
        Ok(Condition::read(field, self.schema)?)
    }

    pub(super) fn require(&self, field: &Field<'_>) -> Result<Required, ActionPolicyError> {
        let fields = field.fields()?;
        fields.only(&[&DEMANDS[..], &["unless", "reason", "next", "otherwise"]].concat())?;
        let (name, demanded) = one_demand(field, &fields)?;
        if let Some(demand) = super::origin::demand(name, &demanded)? {
            return Ok(Required::Denial(super::origin::rule(field, demand, self.schema)?));
        }
        if name == "limit" {
            return Ok(Required::Denial(super::limit::rule(field, &demanded, self.schema)?));
        }
        if let Some(unless) = fields.get("unless") {
            let error = unless.error(Cause::ConflictingFields, format!("no approval takes the place of `{name}`"));
            return Err(error.with_help("leave `unless` out, or write a rule with `approval`").into());
        }
        let demand = match name {
            "fact" => Demand::Fact(self.condition(&demanded)?),
            "receipt" => Demand::Receipt(Box::new(self.receipt(&demanded)?)),
            "approval" => Demand::Approval(ApprovalDemand::read(&demanded)?),
            // `one_demand` returns no name outside `DEMANDS`.
            _ => Demand::ToolCall(tool_call(&demanded)?),
        };
        // Only a human can approve, so by default a missing approval goes to a human.
        let default = match demand {
            Demand::Approval(_) => OnBlock::HumanReview,
            Demand::Fact(_) | Demand::Receipt(_) | Demand::ToolCall(_) => OnBlock::ReplanRequired,
        };
        Ok(Required::Rule(Require {
            at: Arc::from(field.at.as_str()),
            demand,
            reason: optional_wording(&fields, "reason")?,
            next: optional_wording(&fields, "next")?,
            otherwise: otherwise(&fields)?.unwrap_or(default),
        }))
    }

    pub(super) fn deny(&self, field: &Field<'_>) -> Result<Deny, ActionPolicyError> {
        let fields = field.fields()?;
        fields.only(&["when", "unless", "reason", "next", "otherwise"])?;
        Ok(Deny {
            at: Arc::from(field.at.as_str()),
            when: self.condition(&fields.need("when", "write the condition that denies")?)?,
            unless: fields.get("unless").map(|field| unless(&field)).transpose()?,
            reason: wording(&fields.need("reason", "say why, as in `{code: tainted_context, message: …}`")?)?,
            next: optional_wording(&fields, "next")?,
            otherwise: otherwise(&fields)?.unwrap_or(OnBlock::ReplanRequired),
            origin: None,
            limit: None,
        })
    }

    pub(super) fn warn(&self, field: &Field<'_>) -> Result<Warn, ActionPolicyError> {
        let fields = field.fields()?;
        fields.only(&["when", "reason"])?;
        Ok(Warn {
            at: Arc::from(field.at.as_str()),
            when: self.condition(&fields.need("when", "say when to warn")?)?,
            reason: wording(&fields.need("reason", "say why, as in `{code: context_nearly_full, message: …}`")?)?,
        })
    }

    fn receipt(&self, field: &Field<'_>) -> Result<ReceiptRule, ActionPolicyError> {
        let fields = field.fields()?;
        fields.only(&[&["output", "specification"], &ReceiptDemand::FIELDS[..]].concat())?;
        let help = "say which bytes it has to be over, as in `sha256(action.args.patch)`";
        let output = TextExpression::read(&fields.need("output", help)?, self.schema)?;
        let demand = ReceiptDemand::read(&fields, self.log_policy)?;
        // The shared reader knows `any`, but here the agent itself could be the signer.
        if let (SignerDemand::Any, Some(field)) = (&demand.signer, fields.get("signer")) {
            let message = "anyone can sign a receipt";
            return Err(field
                .error(Cause::InvalidValue, message)
                .with_help("write `trusted`, a public key, or a list of them")
                .into());
        }
        let specification = fields.get("specification");
        let specification = specification.map(|field| TextExpression::read(&field, self.schema)).transpose()?;
        Ok(ReceiptRule { demand, output, specification })
    }
}

/// The one thing that a requirement asks for.
fn one_demand<'a>(field: &Field<'a>, fields: &Fields<'a>) -> Result<(&'static str, Field<'a>), DocumentError> {
    let mut there = DEMANDS.into_iter().filter_map(|name| Some((name, fields.get(name)?)));
    let Some(first) = there.next() else {
        let message = "the rule asks for nothing";
        return Err(field.error(Cause::MissingField, message).with_help(
            "write one of `fact`, `receipt`, `approval`, `tool_call`, `from`, `links`, `cover`, `asked`, `limit`",
        ));
    };
    match there.next() {
        None => Ok(first),
        Some((second, _)) => {
            let message = format!("the rule asks for `{}` and `{second}`", first.0);
            Err(field.error(Cause::ConflictingFields, message).with_help("write two rules"))
        }
    }
}

pub(super) fn unless(field: &Field<'_>) -> Result<ApprovalDemand, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["approval"])?;
    let demand = ApprovalDemand::read(&fields.need("approval", "only an approval lifts a denial")?)?;
    if demand.scopes.are_any() {
        // What is denied is lifted for an action that somebody has looked at.
        let error = field.error(Cause::InvalidValue, "an approval lifts a denial for one action");
        return Err(error.with_help("leave `scopes` out"));
    }
    Ok(demand)
}

fn tool_call(field: &Field<'_>) -> Result<ToolCallDemand, DocumentError> {
    let fields = field.fields()?;
    fields
        .only(&[&["name", "args", "earlier", "status", "before", "after"], &ProvenanceDemand::FIELDS[..]].concat())?;
    let statuses = CallStatus::ALL.map(|status| (status.as_str(), status));
    let globs = |name: &str| fields.get(name).map(|field| Globs::read(&field)).transpose();
    Ok(ToolCallDemand {
        name: Globs::read(&fields.need("name", "say which tool")?)?,
        from: ProvenanceDemand::read(&fields)?,
        earlier: fields.get("earlier").map_or(Ok(false), |field| field.boolean())?,
        args: fields.get("args").map(|field| same_arguments(&field)).transpose()?,
        status: fields.get("status").map(|field| field.choice(&statuses)).transpose()?,
        before: globs("before")?,
        after: globs("after")?,
    })
}

/// The arguments of a call that are bound to the action, as in `{name: action.args.name}`.
fn same_arguments(field: &Field<'_>) -> Result<Vec<SameArgument>, DocumentError> {
    let fields = field.fields()?;
    let mut same = Vec::new();
    for (argument, path) in fields.iter() {
        let fact: Vec<String> = path.text()?.split('.').map(str::to_owned).collect();
        let begin = fact.first().map(String::as_str);
        if fact.len() < 2 || fact.iter().any(String::is_empty) || !matches!(begin, Some("action" | "agent")) {
            let error = path.error(Cause::InvalidValue, "it names no part of the action");
            return Err(error
                .with_help("write the fact that it has to be equal to, as in `action.args.name` or `action.target`"));
        }
        if same.len() >= MAX_BOUND {
            return Err(field
                .error(Cause::TooMany, format!("more than {MAX_BOUND} arguments"))
                .with_help("bind fewer"));
        }
        same.push(SameArgument { argument: argument.to_owned(), fact });
    }
    Ok(same)
}

pub(super) fn otherwise(fields: &Fields<'_>) -> Result<Option<OnBlock>, DocumentError> {
    fields.get("otherwise").map(|field| field.choice(&OnBlock::WORDS)).transpose()
}

pub(super) fn optional_wording(fields: &Fields<'_>, name: &str) -> Result<Option<Wording>, DocumentError> {
    fields.get(name).map(|field| wording(&field)).transpose()
}

fn wording(field: &Field<'_>) -> Result<Wording, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["code", "message"])?;
    let code = fields.need("code", "name it for programs, as in `missing_approval`")?;
    let message = fields.need("message", "say it for people")?;
    Ok(Wording { code: Arc::from(text(&code)?), message: Arc::from(text(&message)?) })
}
