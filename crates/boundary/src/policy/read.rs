//! Reads an action policy from its document.

mod limit;
mod origin;
mod rule;

use std::sync::Arc;

use proofmark_evidence::{AcceptedWarnings, LogPolicy, Roles, span};
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};
use proofmark_receipt::{Json, Sha256Digest};

use super::text::text;
use super::tools::ToolClass;
use super::{ActionPolicy, ActionPolicyError, Boundary, Exemption, Matcher, Mode, OnBlock, Repeat, Unmatched};
use crate::facts;
use rule::{Reader, Required};

/// The most boundaries of a policy.
pub(crate) const MAX_BOUNDARIES: usize = 512;
/// The most rules of a policy, over all its boundaries.
const MAX_RULES: usize = 2_048;
/// The most limits of a policy: each is looked up for every action that it may be about.
const MAX_LIMITS: usize = 32;
/// How long a decision is valid without `valid_for`, in milliseconds.
const VALID_FOR_MILLIS: i64 = 5 * 60 * 1000;
/// The limit on denials without `repeat`.
const REPEAT: Repeat = Repeat { limit: 3, then: OnBlock::HumanReview };

const FIELDS: [&str; 17] = [
    "version",
    "boundaries",
    "repeat",
    "unmatched",
    "exemptions",
    "mode",
    "valid_for",
    "presentation",
    "roles",
    "reviewers",
    "classes",
    "tools",
    "results",
    "origins",
    "clean",
    "log_policy",
    "lint",
];

pub(super) fn policy(document: &Json) -> Result<ActionPolicy, ActionPolicyError> {
    let root = Field::root(document);
    let fields = root.fields()?;
    fields.only(&FIELDS)?;
    version(&fields.need("version", "write `version: 1`")?)?;
    let classes = optional(&fields, "classes", classes)?.unwrap_or_default();
    let listed = fields.need("boundaries", "write at least one")?;
    let schema = facts::fact_schema(&classes, &limit::ids(listed.json));
    let log_policy = optional(&fields, "log_policy", LogPolicy::read)?;
    let boundaries = boundaries(&listed, &Reader { schema: &schema, log_policy: log_policy.as_ref() })?;
    let tools = optional(&fields, "tools", super::tools::read)?.unwrap_or_default();
    known_classes(&fields, &boundaries, &tools, &classes)?;
    let exemptions = optional(&fields, "exemptions", exemptions)?.unwrap_or_default();
    Ok(ActionPolicy {
        repeat: optional(&fields, "repeat", repeat)?.unwrap_or(REPEAT),
        unmatched: unmatched(&fields, &exemptions)?,
        mode: optional(&fields, "mode", mode)?.unwrap_or(Mode::Enforce),
        valid_for_millis: optional(&fields, "valid_for", span::read)?.unwrap_or(VALID_FOR_MILLIS),
        presentation: optional(&fields, "presentation", presentation)?.unwrap_or_default(),
        roles: Roles { reviewers: super::reviewers::read(&fields)? },
        hash: Sha256Digest::of(&document.canonical_vrf()),
        accepted: accepted(&fields, &listed)?,
        boundaries,
        exemptions,
        classes,
        tools,
        results: optional(&fields, "results", super::results::read)?.unwrap_or_default(),
        origins: optional(&fields, "origins", super::origins::read)?.unwrap_or_default(),
        clean: optional(&fields, "clean", super::origins::labels)?.unwrap_or_default(),
        log_policy,
    })
}

/// The warnings that are meant, in the whole policy and in single boundaries.
fn accepted(fields: &Fields<'_>, boundaries: &Field<'_>) -> Result<AcceptedWarnings, DocumentError> {
    let (mut accepted, known) = (AcceptedWarnings::default(), super::warning_codes());
    accepted.read(fields, "", &known)?;
    for boundary in boundaries.items()? {
        accepted.read(&boundary.fields()?, &boundary.at, &known)?;
    }
    Ok(accepted)
}

fn optional<'a, T>(
    fields: &Fields<'a>,
    name: &str,
    read: impl Fn(&Field<'a>) -> Result<T, DocumentError>,
) -> Result<Option<T>, DocumentError> {
    fields.get(name).map(|field| read(&field)).transpose()
}

fn version(field: &Field<'_>) -> Result<(), DocumentError> {
    // Compared as written: `1.0` is refused too.
    match field.json.as_number().map(|number| number.as_str()) {
        Some("1") => Ok(()),
        Some(other) => {
            Err(field.error(Cause::Unsupported, format!("unknown version `{}`", shown(other))).with_help("write 1"))
        }
        None => Err(field.wrong_type("the number 1")),
    }
}

fn boundaries(field: &Field<'_>, reader: &Reader<'_>) -> Result<Vec<Boundary>, ActionPolicyError> {
    let items = field.items()?;
    if items.len() > MAX_BOUNDARIES {
        return Err(field
            .error(Cause::TooMany, format!("more than {MAX_BOUNDARIES} boundaries"))
            .with_help("join some")
            .into());
    }
    let mut boundaries: Vec<Boundary> = Vec::new();
    let mut rules = 0;
    for item in &items {
        let boundary = boundary(item, reader)?;
        if boundaries.iter().any(|other| other.id == boundary.id) {
            let message = format!("another boundary has the id `{}`", shown(&boundary.id));
            return Err(item.error(Cause::DuplicateName, message).with_help("give each its own id").into());
        }
        distinct_limits(item, &boundaries, &boundary)?;
        rules += boundary.deny.len() + boundary.require.len() + boundary.warn.len();
        if rules > MAX_RULES {
            return Err(field
                .error(Cause::TooMany, format!("more than {MAX_RULES} rules"))
                .with_help("join some")
                .into());
        }
        boundaries.push(boundary);
    }
    Ok(boundaries)
}

/// Limits have names of their own, by which they are counted, and there are not too many.
fn distinct_limits(field: &Field<'_>, others: &[Boundary], boundary: &Boundary) -> Result<(), DocumentError> {
    let all =
        || others.iter().chain([boundary]).flat_map(|boundary| &boundary.deny).filter_map(|rule| rule.limit.as_ref());
    if all().count() > MAX_LIMITS {
        return Err(field.error(Cause::TooMany, format!("more than {MAX_LIMITS} limits")).with_help("join some"));
    }
    let ids: Vec<&str> = all().map(|limit| &*limit.id).collect();
    let twice = ids.iter().enumerate().find(|(index, id)| ids.iter().take(*index).any(|other| other == *id));
    match twice {
        None => Ok(()),
        Some((_, id)) => {
            let error = field.error(Cause::DuplicateName, format!("another limit has the id `{id}`"));
            Err(error.with_help("give each its own id; a boundary may match several tools"))
        }
    }
}

fn boundary(field: &Field<'_>, reader: &Reader<'_>) -> Result<Boundary, ActionPolicyError> {
    let fields = field.fields()?;
    fields.only(&["id", "match", "when", "require", "deny", "warn", "lint"])?;
    let id = text(&fields.need("id", "name the boundary, as in `id: resolve-ticket`")?)?;
    let matcher = fields.need("match", "say which actions it is about; `match: {}` is every one")?;
    let when = fields.get("when").map(|field| reader.condition(&field)).transpose()?;
    let mut deny = list(&fields, "deny", |field| reader.deny(field))?;
    let required = list(&fields, "require", |field| reader.require(field))?;
    let mut require = Vec::new();
    for requirement in required {
        match requirement {
            Required::Rule(rule) => require.push(rule),
            Required::Denial(rule) => deny.push(rule),
        }
    }
    Ok(Boundary {
        at: Arc::from(field.at.as_str()),
        id: Arc::from(id),
        matcher: Matcher::read(&matcher)?,
        when,
        deny,
        require,
        warn: list(&fields, "warn", |field| reader.warn(field))?,
    })
}

fn list<'a, T>(
    fields: &Fields<'a>,
    name: &str,
    read: impl Fn(&Field<'a>) -> Result<T, ActionPolicyError>,
) -> Result<Vec<T>, ActionPolicyError> {
    match fields.get(name) {
        Some(field) => field.items()?.iter().map(read).collect(),
        None => Ok(Vec::new()),
    }
}

/// A class that nobody declared is a spelling mistake.
fn known_classes(
    fields: &Fields<'_>,
    boundaries: &[Boundary],
    tools: &[ToolClass],
    classes: &[String],
) -> Result<(), DocumentError> {
    let known: Vec<_> = facts::ACTION_CLASSES.iter().copied().chain(classes.iter().map(String::as_str)).collect();
    let of_boundaries = boundaries.iter().flat_map(|boundary| {
        boundary.matcher.literal_classes().map(|class| (class, format!("{}.match.action_class", boundary.at)))
    });
    let of_tools = tools.iter().enumerate().map(|(index, tool)| (tool.class(), format!("tools[{index}].class")));
    for (class, at) in of_boundaries.chain(of_tools) {
        if !known.contains(&class) {
            let near = nearest(class, &known);
            let message = format!("unknown action class `{}`; {near}, or declare it in `classes`", shown(class));
            let place = proofmark_receipt::document::Place::Field(at);
            return Err(DocumentError::new(place, Cause::InvalidValue, message));
        }
    }
    let taken = classes.iter().find(|class| facts::ACTION_CLASSES.contains(&class.as_str()));
    match (taken, fields.get("classes")) {
        (Some(class), Some(field)) => {
            Err(field.error(Cause::DuplicateName, format!("`{class}` is predefined")).with_help("leave it out"))
        }
        (Some(_) | None, _) => Ok(()),
    }
}

fn nearest(word: &str, known: &[&str]) -> String {
    // The edit distance is quadratic in the length, and 64 characters are enough to recognize a misspelled name.
    let word: String = word.chars().take(64).collect();
    let alike = |other: &&str| strsim::normalized_damerau_levenshtein(&word, other);
    let best = known.iter().copied().max_by(|left, right| alike(left).total_cmp(&alike(right)));
    match best {
        Some(best) if alike(&best) >= 0.5 => format!("did you mean `{best}`?"),
        Some(_) | None => format!("the known ones are `{}`", known.join("`, `")),
    }
}

fn repeat(field: &Field<'_>) -> Result<Repeat, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["same_action_denied", "then"])?;
    let limit = fields.need("same_action_denied", "write the number of denials")?.positive()?;
    let then = fields.need("then", "write `human_review` or `goal_fail_terminal`")?;
    // No replan: it would go on with the loop that this is to end.
    let choices = [("human_review", OnBlock::HumanReview), ("goal_fail_terminal", OnBlock::GoalFailTerminal)];
    Ok(Repeat { limit, then: then.choice(&choices)? })
}

/// No default allows: without `unmatched`, an unmatched action is replanned.
fn unmatched(fields: &Fields<'_>, exemptions: &[Exemption]) -> Result<Unmatched, DocumentError> {
    let Some(field) = fields.get("unmatched") else {
        return match fields.get("exemptions") {
            Some(field) => Err(field
                .error(Cause::ConflictingFields, "`exemptions` have no effect")
                .with_help("write `unmatched: allow`")),
            None => Ok(Unmatched::Block(OnBlock::ReplanRequired)),
        };
    };
    let chosen = field.choice(&[
        ("replan_required", Unmatched::Block(OnBlock::ReplanRequired)),
        ("human_review", Unmatched::Block(OnBlock::HumanReview)),
        ("goal_fail_terminal", Unmatched::Block(OnBlock::GoalFailTerminal)),
        ("allow", Unmatched::AllowExempted),
    ])?;
    match (chosen, exemptions.is_empty()) {
        (Unmatched::AllowExempted, true) => Err(fields.missing(
            "exemptions",
            "`unmatched: allow` needs one: `- {reason: …, approver: …, expires: 2026-06-01T00:00:00Z}`",
        )),
        (Unmatched::Block(_), false) => {
            Err(field.error(Cause::ConflictingFields, "`exemptions` are only for `unmatched: allow`"))
        }
        (Unmatched::AllowExempted, false) | (Unmatched::Block(_), true) => Ok(chosen),
    }
}

fn exemptions(field: &Field<'_>) -> Result<Vec<Exemption>, DocumentError> {
    field.items()?.iter().map(exemption).collect()
}

fn exemption(field: &Field<'_>) -> Result<Exemption, DocumentError> {
    let fields = field.fields()?;
    fields.only(&["reason", "approver", "expires", "match"])?;
    let expires = fields.need("expires", "write the end, as in `2030-12-31`")?;
    Ok(Exemption {
        at: Arc::from(field.at.as_str()),
        reason: text(&fields.need("reason", "say why")?)?.to_owned(),
        approver: text(&fields.need("approver", "say who approved it")?)?.to_owned(),
        expires: span::read_end(&expires)?,
        matcher: optional(&fields, "match", Matcher::read)?.unwrap_or_default(),
    })
}

fn mode(field: &Field<'_>) -> Result<Mode, DocumentError> {
    field.choice(&[("enforce", Mode::Enforce), ("shadow", Mode::Shadow)])
}

/// Arguments of the action that only change how it is shown.
fn presentation(field: &Field<'_>) -> Result<Vec<Vec<String>>, DocumentError> {
    let path = |field: Field<'_>| {
        let path: Vec<String> = field.text()?.split('.').map(str::to_owned).collect();
        // Without the tool or the target, denials of different actions would be counted as one.
        if path.first().map(String::as_str) == Some("args") && path.len() > 1 && !path.iter().any(String::is_empty) {
            Ok(path)
        } else {
            Err(field
                .error(Cause::InvalidValue, "only arguments can be left out")
                .with_help("write it as in `args.note`"))
        }
    };
    field.items()?.into_iter().map(path).collect()
}

fn classes(field: &Field<'_>) -> Result<Vec<String>, DocumentError> {
    field.items()?.iter().map(|field| Ok(text(field)?.to_owned())).collect()
}
