//! Why the holder of a valid token gets nothing.

use axum::http::StatusCode;

use crate::problem::Problem;

/// Why rules give the holder of a token nothing. Rules have the places of the file, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmapped {
    /// No rule applies.
    NoRule,
    /// Two rules that apply have different tenants.
    Tenants([usize; 2]),
    /// Two rules that apply have different roles.
    Roles([usize; 2]),
    /// Two rules that apply have different policies.
    Policies([usize; 2]),
    /// The claim with the tenant is missing, or is not a text.
    NoTenant(usize),
    /// The claim names a tenant that the rule does not list.
    OtherTenant(usize),
}

impl Unmapped {
    /// The label of the metric.
    pub(super) fn cause(self) -> &'static str {
        match self {
            Self::NoRule => "no_rule",
            Self::Tenants(_) => "two_tenants",
            Self::Roles(_) => "two_roles",
            Self::Policies(_) => "two_policies",
            Self::NoTenant(_) => "no_tenant",
            Self::OtherTenant(_) => "other_tenant",
        }
    }

    /// The message for the client. The log names the holder of the token.
    pub(super) fn problem(self, holder: &str) -> Problem {
        let differ = |what: &str, [one, other]: [usize; 2]| {
            format!("the rules {one} and {other} of this server give the holder of this token different {what}")
        };
        let message = match self {
            Self::NoRule => "no rule of this server gives the holder of this token a role".to_owned(),
            Self::Tenants(rules) => differ("tenants", rules),
            Self::Roles(rules) => differ("roles", rules),
            Self::Policies(rules) => differ("policies", rules),
            Self::NoTenant(rule) => {
                format!("the token lacks the claim that names its tenant by rule {rule} of this server")
            }
            Self::OtherTenant(rule) => {
                format!("the token names a tenant that rule {rule} of this server does not list")
            }
        };
        Problem::new(StatusCode::FORBIDDEN, "no_role", message)
            .help("the operator of the server changes the file of `--oidc-map`, or the issuer the claims")
            .cause(format!("{}: {holder}", self.cause()))
    }
}
