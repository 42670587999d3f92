//! The policies that a decider has. Each is for one tenant or for all, and has a name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use proofmark_boundary::{ActionPolicy, DecisionReceipt};
use proofmark_receipt::document::shown;
use proofmark_store::{Tenant, TenantError};

use crate::decide::DecideError;

/// The name of the policy that is asked where none is named.
const DEFAULT: &str = "default";
/// The longest name of a policy, in bytes.
const MAX_NAME: usize = 64;

/// Whose a policy is, and its name: written `TENANT:NAME`, or `:NAME` for all tenants. Without a name it is `default`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyPlace {
    /// None: every tenant's that has no policy of this name itself.
    tenant: Option<Tenant>,
    name: String,
}

/// Why a text does not say whose a policy is, and its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PolicyPlaceError {
    #[error(transparent)]
    Tenant(#[from] TenantError),
    #[error("invalid name `{}` of a policy: write 1 to {MAX_NAME} letters, digits, `-`, `_` and `.`", shown(.0))]
    Name(String),
}

/// The policies of a decider.
#[derive(Clone, Debug, Default)]
pub(crate) struct Policies(BTreeMap<PolicyPlace, Arc<ActionPolicy>>);

/// What became of the policy that a decision was made by.
#[derive(Clone, Debug)]
pub enum PolicyAsked {
    /// It is in force.
    InForce(Arc<ActionPolicy>),
    /// Its name stands for this one now.
    Changed(Arc<ActionPolicy>),
    /// It is that of the contract of a workflow step, which the decision itself has.
    OfStep(Arc<ActionPolicy>),
    /// It is none of those here that the tenant can ask.
    NotHere,
}

impl PolicyPlace {
    /// The policy that every tenant asks who names none and has none.
    #[must_use]
    pub fn default_of_all() -> Self {
        Self { tenant: None, name: DEFAULT.to_owned() }
    }

    /// What it is, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let whose =
            self.tenant.as_ref().map_or_else(|| "all tenants".to_owned(), |tenant| format!("`{}`", tenant.as_str()));
        format!("{whose} with the name `{}` already", self.name)
    }

    /// Whether a tenant asks it by this name.
    #[must_use]
    pub fn is_asked(&self, tenant: &Tenant, name: &str) -> bool {
        self.is_of(tenant) && self.name == name
    }

    fn is_of(&self, tenant: &Tenant) -> bool {
        self.tenant.as_ref().is_none_or(|one| one == tenant)
    }

    fn new(tenant: Option<Tenant>, name: &str) -> Self {
        Self { tenant, name: name.to_owned() }
    }
}

/// The name of a policy, if it can be one.
///
/// # Errors
/// [`PolicyPlaceError::Name`].
pub fn policy_name(name: &str) -> Result<String, PolicyPlaceError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let fits = (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(is_plain);
    if fits { Ok(name.to_owned()) } else { Err(PolicyPlaceError::Name(name.to_owned())) }
}

impl FromStr for PolicyPlace {
    type Err = PolicyPlaceError;

    fn from_str(text: &str) -> Result<Self, PolicyPlaceError> {
        let (tenant, name) = text.split_once(':').unwrap_or((text, DEFAULT));
        let tenant = if tenant.is_empty() && text.starts_with(':') { None } else { Some(tenant.parse()?) };
        Ok(Self { tenant, name: policy_name(name)? })
    }
}

impl fmt::Display for PolicyPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tenant {
            Some(tenant) if self.name == DEFAULT => f.write_str(tenant.as_str()),
            Some(tenant) => write!(f, "{}:{}", tenant.as_str(), self.name),
            None => write!(f, ":{}", self.name),
        }
    }
}

impl Policies {
    /// One policy, for all tenants.
    pub(crate) fn only(policy: Option<ActionPolicy>) -> Self {
        Self(policy.map(|policy| (PolicyPlace::default_of_all(), Arc::new(policy))).into_iter().collect())
    }

    /// The same with this policy, in place of the one there.
    pub(crate) fn with(&self, place: PolicyPlace, policy: ActionPolicy) -> Self {
        let mut policies = self.0.clone();
        policies.insert(place, Arc::new(policy));
        Self(policies)
    }

    pub(crate) fn at(&self, place: &PolicyPlace) -> Option<&Arc<ActionPolicy>> {
        self.0.get(place)
    }

    pub(crate) fn are_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The policy that a tenant asks by this name, and its name. An own one comes before one for all.
    pub(crate) fn of(&self, tenant: &Tenant, name: Option<&str>) -> Result<(String, Arc<ActionPolicy>), DecideError> {
        let wanted = name.unwrap_or(DEFAULT);
        match self.named(tenant, wanted) {
            Some(policy) => Ok((wanted.to_owned(), Arc::clone(policy))),
            None if self.are_none() => Err(DecideError::NoPolicy),
            None => {
                let known = self.names(tenant).into_iter().map(str::to_owned).collect();
                Err(DecideError::OtherPolicy { name: name.map(str::to_owned), known })
            }
        }
    }

    /// All that a tenant can ask, by their names.
    pub(crate) fn all_of(&self, tenant: &Tenant) -> Vec<(String, Arc<ActionPolicy>)> {
        let named = |name: &str| Some((name.to_owned(), Arc::clone(self.named(tenant, name)?)));
        self.names(tenant).into_iter().filter_map(named).collect()
    }

    /// What became of the policy by which this decision of a tenant was made.
    pub(crate) fn asked(&self, tenant: &Tenant, receipt: &DecisionReceipt) -> PolicyAsked {
        let hash = receipt.bound("policy_hash");
        let mut all = self.all_of(tenant).into_iter().map(|(_, policy)| policy);
        if let Some(policy) = all.find(|policy| Some(policy.hash().to_string().as_str()) == hash) {
            return PolicyAsked::InForce(policy);
        }
        // A decision without a name was made by a process with a policy of its own.
        let name = receipt.asker().policy;
        let successor = name.and_then(|name| self.named(tenant, &name).cloned());
        successor.map_or(PolicyAsked::NotHere, PolicyAsked::Changed)
    }

    fn named(&self, tenant: &Tenant, name: &str) -> Option<&Arc<ActionPolicy>> {
        let own = self.0.get(&PolicyPlace::new(Some(tenant.clone()), name));
        own.or_else(|| self.0.get(&PolicyPlace::new(None, name)))
    }

    fn names(&self, tenant: &Tenant) -> BTreeSet<&str> {
        self.0.keys().filter(|place| place.is_of(tenant)).map(|place| place.name.as_str()).collect()
    }
}

#[cfg(test)]
mod tests {
    use proofmark_receipt::Json;

    use super::*;

    fn policy(id: &str) -> ActionPolicy {
        let text = format!(r#"{{"version": 1, "boundaries": [{{"id": "{id}", "match": {{}}}}]}}"#);
        ActionPolicy::read(&Json::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn policies(places: &[&str]) -> Policies {
        places.iter().fold(Policies::default(), |all, place| all.with(place.parse().unwrap(), policy("a")))
    }

    #[test]
    fn a_place_is_a_tenant_and_a_name() {
        for (text, shown) in
            [(":default", ":default"), ("acme.dev", "acme.dev"), ("acme:strict", "acme:strict"), (":strict", ":strict")]
        {
            assert_eq!(text.parse::<PolicyPlace>().unwrap().to_string(), shown);
        }
        assert_eq!(":default".parse(), Ok(PolicyPlace::default_of_all()));
        for text in ["", ":", "acme:", "a/b", "./a", "acme:a b", &format!(":{}", "x".repeat(65))] {
            assert!(text.parse::<PolicyPlace>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_tenant_asks_its_own_policy_before_that_of_all_and_never_that_of_another() {
        let all = policies(&[":default", "acme", "acme:strict", "other:secret"]);
        let (acme, third) = ("acme".parse().unwrap(), "third".parse().unwrap());
        assert_eq!(all.all_of(&acme).into_iter().map(|(name, _)| name).collect::<Vec<_>>(), ["default", "strict"]);
        let own = all.at(&"acme".parse().unwrap()).unwrap();
        assert!(Arc::ptr_eq(&all.of(&acme, None).unwrap().1, own));
        assert!(Arc::ptr_eq(&all.of(&third, None).unwrap().1, all.at(&PolicyPlace::default_of_all()).unwrap()));
        for (tenant, name) in [(&acme, "secret"), (&third, "strict"), (&third, "")] {
            let refused = all.of(tenant, Some(name)).unwrap_err();
            assert!(matches!(refused, DecideError::OtherPolicy { name: Some(_), .. }), "{refused}");
        }
        // Where nothing stands for "none named", nothing is guessed.
        let refused = policies(&["acme:strict"]).of(&acme, None).unwrap_err();
        assert_eq!(refused.help().as_deref(), Some("name one of: strict"));
        assert!(matches!(Policies::default().of(&acme, None), Err(DecideError::NoPolicy)));
    }
}
