//! Which tenant and which role the holder of a token gets, by the claims of the token. A holder that no rule names gets nothing.

use proofmark_decider::policy_name;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields};
use proofmark_receipt::{Json, Object, Sha256Digest};
use proofmark_store::Tenant;

use super::unmapped::Unmapped;
use crate::keys::{Role, roles};

/// The most rules of one file.
const MAX_RULES: usize = 256;
/// The most conditions of one rule.
const MAX_CONDITIONS: usize = 16;
/// The most tenants that one rule lists.
const MAX_TENANTS: usize = 256;
/// How deep a claim may be within others.
const MAX_PATH: usize = 4;
/// The longest name and the longest value of a claim in a rule, in bytes.
const MAX_TEXT: usize = 256;
/// The version of the format.
const VERSION: u64 = 1;
/// Claims that some issuers let people choose themselves.
const CHOSEN_BY_PEOPLE: [&str; 8] =
    ["email", "family_name", "given_name", "name", "nickname", "preferred_username", "unique_name", "upn"];

/// Claims that every token has, or that say nothing about its holder.
const OF_EVERY_TOKEN: [&str; 2] = ["aud", "iss"];

/// The rules of a server.
#[derive(Clone, Debug)]
pub struct ClaimMap {
    rules: Vec<Rule>,
    fingerprint: Sha256Digest,
}

/// What the holder of a token gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) role: Role,
    pub(crate) tenant: Tenant,
    /// The roles of the policy that they hold as a reviewer; any one where none are named.
    pub(crate) holds: Vec<String>,
    /// The one policy that they ask.
    pub(crate) policy: Option<String>,
}

#[derive(Clone, Debug)]
struct Rule {
    conditions: Vec<Condition>,
    role: Role,
    tenant: TenantOf,
    holds: Vec<String>,
    policy: Option<String>,
}

/// Where a rule gets the tenant from.
#[derive(Clone, Debug)]
enum TenantOf {
    Named(Tenant),
    /// From this claim, as far as it is one of these.
    Claim {
        path: Path,
        allowed: Vec<Allowed>,
    },
}

#[derive(Clone, Debug)]
enum Allowed {
    Exactly(Tenant),
    BeginningWith(String),
}

#[derive(Clone, Debug)]
struct Condition {
    path: Path,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    /// The claim is this text, or this truth value.
    Is(Json),
    /// The claim is a list that has this text, or is this text.
    Has(String),
    /// The claim is a text of words with spaces between them, one of which is this.
    Word(String),
}

/// The name of a claim, or the names that lead to a claim within others.
#[derive(Clone, Debug)]
struct Path(Vec<String>);

impl ClaimMap {
    /// Reads `{version: 1, rules: [{claim, is|has|word, and, role, tenant|tenant_claim+tenants, holds, policy}, …]}`.
    ///
    /// # Errors
    /// [`DocumentError`] names the field.
    pub fn read(document: &Json) -> Result<Self, DocumentError> {
        let fields = Field::root(document).fields()?;
        fields.only(&["version", "rules"])?;
        let version = fields.need("version", "write `version: 1`")?;
        if version.positive()? != VERSION {
            return Err(version.error(Cause::Unsupported, "unknown version").with_help("write `version: 1`"));
        }
        let rules = fields.need("rules", "list the rules")?;
        let rules = some_of(&rules, MAX_RULES, "rules")?.iter().map(Rule::read).collect::<Result<_, _>>()?;
        Ok(Self { rules, fingerprint: Sha256Digest::of(document.to_text().as_bytes()) })
    }

    /// How many rules there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no rules. A file has at least one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Warnings about the rules.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let weak = self.rules.iter().enumerate().filter(|(_, rule)| rule.is_weak());
        let warning = |(index, _): (usize, &Rule)| {
            format!("`rules[{index}]` rests on claims that some issuers let people choose; use `sub` or a group")
        };
        weak.map(warning).collect()
    }

    /// What the holder of a token with these claims gets. All rules that apply have to agree.
    pub(crate) fn grant(&self, claims: &Object) -> Result<Grant, Unmapped> {
        let applying = self.rules.iter().enumerate().filter(|(_, rule)| rule.applies(claims));
        let grants = applying.map(|(index, rule)| Ok((index, rule.grant(index, claims)?)));
        let grants = grants.collect::<Result<Vec<_>, Unmapped>>()?;
        let Some(((first, grant), others)) = grants.split_first() else { return Err(Unmapped::NoRule) };
        let mut grant = grant.clone();
        for (index, other) in others {
            let rules = [*first, *index];
            if other.tenant != grant.tenant {
                return Err(Unmapped::Tenants(rules));
            }
            if other.role != grant.role {
                return Err(Unmapped::Roles(rules));
            }
            if other.policy != grant.policy {
                return Err(Unmapped::Policies(rules));
            }
            // Where one rule names roles and another does not, those that are named are all.
            grant
                .holds
                .extend(other.holds.iter().filter(|role| !grant.holds.contains(role)).cloned().collect::<Vec<_>>());
        }
        Ok(grant)
    }

    /// One of the rules, without the others.
    #[cfg(test)]
    pub(super) fn only(&self, index: usize) -> Self {
        Self { rules: self.rules.get(index).cloned().into_iter().collect(), ..self.clone() }
    }

    /// Tells two files of rules apart.
    pub(crate) fn fingerprint(&self) -> Sha256Digest {
        self.fingerprint
    }
}

impl Rule {
    /// Whether it rests on what people may choose: all of its conditions that say something, or the tenant that it gives.
    fn is_weak(&self) -> bool {
        let mut telling = self.conditions.iter().filter(|condition| !condition.says_nothing());
        let of_tenant = match &self.tenant {
            TenantOf::Claim { path, .. } => path.is_one_of(&CHOSEN_BY_PEOPLE),
            TenantOf::Named(_) => false,
        };
        of_tenant || telling.all(|condition| condition.path.is_one_of(&CHOSEN_BY_PEOPLE))
    }

    fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        let fields = field.fields()?;
        fields.only(&[
            "claim",
            "is",
            "has",
            "word",
            "and",
            "role",
            "tenant",
            "tenant_claim",
            "tenants",
            "holds",
            "policy",
        ])?;
        let mut conditions = vec![Condition::read(&fields)?];
        if let Some(and) = fields.get("and") {
            for field in some_of(&and, MAX_CONDITIONS, "conditions")? {
                let fields = field.fields()?;
                fields.only(&["claim", "is", "has", "word"])?;
                conditions.push(Condition::read(&fields)?);
            }
        }
        Ok(Self {
            conditions,
            role: fields.need("role", "say what the holder may do")?.choice(&Role::WORDS)?,
            tenant: TenantOf::read(&fields)?,
            holds: fields.get("holds").map_or_else(|| Ok(Vec::new()), |field| roles(&field))?,
            policy: fields.get("policy").map(|field| policy(&field)).transpose()?,
        })
    }

    fn applies(&self, claims: &Object) -> bool {
        self.conditions.iter().all(|condition| condition.holds(claims))
    }

    fn grant(&self, index: usize, claims: &Object) -> Result<Grant, Unmapped> {
        let tenant = match &self.tenant {
            TenantOf::Named(tenant) => tenant.clone(),
            TenantOf::Claim { path, allowed } => {
                let named = path.find(claims).and_then(Json::as_str).ok_or(Unmapped::NoTenant(index))?;
                let tenant = Tenant::of_key(named).map_err(|_| Unmapped::OtherTenant(index))?;
                let is_allowed = allowed.iter().any(|allowed| allowed.has(&tenant));
                Some(tenant).filter(|_| is_allowed).ok_or(Unmapped::OtherTenant(index))?
            }
        };
        Ok(Grant { role: self.role, tenant, holds: self.holds.clone(), policy: self.policy.clone() })
    }
}

impl TenantOf {
    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        const HELP: &str = "name the tenant, or write `tenant_claim` and `tenants`";
        match (fields.either("tenant", "tenant_claim")?, fields.get("tenant_claim"), fields.get("tenants")) {
            (None, _, _) => Err(fields.missing("tenant", HELP)),
            (Some(named), None, None) => tenant(&named, named.text()?).map(Self::Named),
            (Some(_), None, Some(tenants)) => {
                Err(tenants.error(Cause::ConflictingFields, "`tenants` belongs to `tenant_claim`").with_help(HELP))
            }
            (Some(claim), Some(_), tenants) => {
                let tenants = tenants.ok_or_else(|| {
                    fields.missing("tenants", "list the tenants that the claim may name, as `acme` or `team-*`")
                })?;
                let allowed =
                    some_of(&tenants, MAX_TENANTS, "tenants")?.iter().map(Allowed::read).collect::<Result<_, _>>()?;
                Ok(Self::Claim { path: Path::read(&claim)?, allowed })
            }
        }
    }
}

impl Allowed {
    fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        match field.text()?.strip_suffix('*') {
            None => tenant(field, field.text()?).map(Self::Exactly),
            // The issuer would choose the tenant freely.
            Some("") => Err(field
                .error(Cause::InvalidValue, "`*` allows every tenant")
                .with_help("write how the tenants begin, as in `team-*`")),
            // How a tenant begins is a name of a tenant itself.
            Some(begin) => tenant(field, begin).map(|_| Self::BeginningWith(begin.to_owned())),
        }
    }

    fn has(&self, tenant: &Tenant) -> bool {
        match self {
            Self::Exactly(allowed) => allowed == tenant,
            Self::BeginningWith(begin) => tenant.as_str().starts_with(begin.as_str()),
        }
    }
}

impl Condition {
    fn read(fields: &Fields<'_>) -> Result<Self, DocumentError> {
        const HELP: &str = "write `is`, `has` (a list has it) or `word` (one of several words)";
        let path = Path::read(&fields.need("claim", "name the claim that is looked at")?)?;
        let test = match (fields.get("is"), fields.get("has"), fields.get("word")) {
            (Some(is), None, None) => Test::Is(match is.json {
                Json::Bool(_) => is.json.clone(),
                _ => Json::from(text(&is)?),
            }),
            (None, Some(has), None) => Test::Has(text(&has)?),
            (None, None, Some(word)) => Test::Word(one_word(&word)?),
            (None, None, None) => return Err(fields.missing("has", HELP)),
            (Some(other), _, _) | (_, Some(other), _) => {
                return Err(other.error(Cause::ConflictingFields, "one condition has one test").with_help(HELP));
            }
        };
        Ok(Self { path, test })
    }

    fn holds(&self, claims: &Object) -> bool {
        let Some(claim) = self.path.find(claims) else { return false };
        match &self.test {
            Test::Is(wanted) => claim == wanted,
            Test::Has(wanted) => match claim {
                Json::Array(items) => items.iter().any(|item| item.as_str() == Some(wanted)),
                // An issuer may write a list of one as its item.
                one => one.as_str() == Some(wanted),
            },
            Test::Word(wanted) => claim.as_str().is_some_and(|words| words.split(' ').any(|word| word == wanted)),
        }
    }

    /// Whether every token that is taken meets it, or may meet it.
    fn says_nothing(&self) -> bool {
        self.path.is_one_of(&OF_EVERY_TOKEN)
    }
}

impl Path {
    fn is_one_of(&self, names: &[&str]) -> bool {
        matches!(self.0.as_slice(), [name] if names.contains(&name.as_str()))
    }

    fn read(field: &Field<'_>) -> Result<Self, DocumentError> {
        match field.json {
            Json::Array(_) => some_of(field, MAX_PATH, "names")?.iter().map(text).collect::<Result<_, _>>().map(Self),
            _ => Ok(Self(vec![text(field)?])),
        }
    }

    fn find<'c>(&self, claims: &'c Object) -> Option<&'c Json> {
        let (last, outer) = self.0.split_last()?;
        outer.iter().try_fold(claims, |claims, name| claims.get(name)?.as_object())?.get(last)
    }
}

fn some_of<'a>(field: &Field<'a>, most: usize, what: &str) -> Result<Vec<Field<'a>>, DocumentError> {
    let items = field.items()?;
    match items.len() {
        0 => Err(field.error(Cause::Empty, format!("there are no {what}")).with_help(format!("write 1 to {most}"))),
        number if number > most => Err(field
            .error(Cause::TooMany, format!("{number} {what} are too many"))
            .with_help(format!("write 1 to {most}"))),
        _ => Ok(items),
    }
}

fn text(field: &Field<'_>) -> Result<String, DocumentError> {
    let text = field.text()?;
    if (1..=MAX_TEXT).contains(&text.len()) {
        return Ok(text.to_owned());
    }
    Err(field
        .error(Cause::InvalidValue, "the text is empty or too long")
        .with_help(format!("write 1 to {MAX_TEXT} bytes")))
}

fn one_word(field: &Field<'_>) -> Result<String, DocumentError> {
    let word = text(field)?;
    match word.contains(' ') {
        false => Ok(word),
        true => Err(field.error(Cause::InvalidValue, "the word has a space").with_help("write one word")),
    }
}

fn tenant(field: &Field<'_>, name: &str) -> Result<Tenant, DocumentError> {
    Tenant::of_key(name).map_err(|error| {
        let (message, help) = (error.to_string(), error.help());
        let invalid = field.error(Cause::InvalidValue, message);
        help.into_iter().fold(invalid, DocumentError::with_help)
    })
}

fn policy(field: &Field<'_>) -> Result<String, DocumentError> {
    policy_name(field.text()?).map_err(|error| field.error(Cause::InvalidValue, error.to_string()))
}
