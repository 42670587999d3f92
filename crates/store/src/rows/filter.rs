//! Lists of decisions that are narrowed by what their documents say.

use proofmark_receipt::json::{Json, Limits, MAX_DEPTH};

use crate::engine::db::Db;
use crate::value::Value;

/// What narrows lists of decisions by what their documents say. What is `None` does not narrow them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueFilter {
    /// Only those of which a rule asks for an approval in one of these roles.
    pub roles: Option<Vec<String>>,
    /// The environment that it was asked for (`binding.environment`).
    pub environment: Option<String>,
    /// The least amount of the action: its `amount`, else that of its arguments.
    pub amount: Option<f64>,
}

/// How many of those that wait are read at a time.
pub(crate) const PORTION: usize = 100;

impl QueueFilter {
    /// Whether anything narrows the list.
    pub(crate) fn is_any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether a decision is wanted. A document that was damaged says nothing, so it is not.
    pub(crate) fn matches(&self, document: &str, action: Option<&str>) -> bool {
        if self.amount.is_some_and(|least| amount(action).is_none_or(|found| found < least)) {
            return false;
        }
        if self.roles.is_none() && self.environment.is_none() {
            return true;
        }
        let any_role = |roles: &Vec<String>| roles.iter().any(|role| may_say(document, role));
        let may_match = self.roles.as_ref().is_none_or(any_role)
            && self.environment.as_ref().is_none_or(|environment| may_say(document, environment));
        if !may_match {
            return false;
        }
        let document = parsed(document);
        let is_of = |environment: &String| {
            let binding = member(document.as_ref(), "binding");
            binding.and_then(|binding| binding.as_object()?.get("environment")?.as_str()) == Some(environment)
        };
        self.roles.as_ref().is_none_or(|roles| roles.iter().any(|role| asks_role(document.as_ref(), role)))
            && self.environment.as_ref().is_none_or(is_of)
    }
}

/// Whether a document of JSON may have this string: to look for it takes a fraction of the time that reading the document takes. A text can
/// be written in another way than as it is only with the escapes that are looked for.
fn may_say(document: &str, text: &str) -> bool {
    let is_plain = !text.chars().any(|c| c.is_control() || matches!(c, '"' | '\\' | '/'));
    !is_plain || document.contains(&format!("\"{text}\"")) || document.contains("\\u")
}

/// The receipt of a decision, of any length: one that is too long for other readers is searched, too.
pub(crate) fn parsed(document: &str) -> Option<Json> {
    let limits = Limits { max_bytes: document.len(), max_depth: MAX_DEPTH, max_nodes: usize::MAX };
    Json::parse_with(document.as_bytes(), limits).ok()
}

pub(crate) fn member<'a>(document: Option<&'a Json>, name: &str) -> Option<&'a Json> {
    document?.as_object()?.get(name)
}

/// The roles in which a decision asks for approvals, as the table `waiting` has them.
pub(crate) fn roles_text(roles: &[String]) -> String {
    let mut roles: Vec<&str> = roles.iter().map(String::as_str).collect();
    roles.sort_unstable();
    roles.dedup();
    Json::from(roles.into_iter().map(Json::from).collect::<Vec<_>>()).to_text()
}

/// As [`roles_text`], of the receipt of a decision.
pub(crate) fn roles_text_of(document: Option<&Json>) -> String {
    let evidence = member(document, "evidence").and_then(Json::as_array).unwrap_or_default();
    let roles = evidence.iter().filter_map(|item| Some(item.as_object()?.get("role")?.as_str()?.to_owned()));
    roles_text(&roles.collect::<Vec<_>>())
}

/// A condition on whether a row of the table `waiting` has this role, and its value, for which it has `{}`.
pub(crate) fn has_role(db: &Db<'_>, role: &str) -> (&'static str, Value) {
    // Inside of a string of JSON a quote follows a backslash, so a role is not found within another one.
    (db.spelled("instr(waiting.roles, {}) > 0", "strpos(waiting.roles, {}) > 0"), Json::from(role).to_text().into())
}

/// Whether a rule asks for an approval in this role.
pub(crate) fn asks_role(document: Option<&Json>, role: &str) -> bool {
    let is_of = |item: &Json| item.as_object().and_then(|item| item.get("role")?.as_str()) == Some(role);
    member(document, "evidence").and_then(Json::as_array).is_some_and(|all| all.iter().any(is_of))
}

/// The amount of an action, for people who look for large ones.
fn amount(action: Option<&str>) -> Option<f64> {
    let action = Json::parse(action?.as_bytes()).ok()?;
    let amount = |object: &Json| object.as_object()?.get("amount")?.as_number()?.as_f64();
    amount(&action).or_else(|| amount(action.as_object()?.get("args")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decision_matches_whichever_way_its_strings_are_written() {
        let document = |role: &str| {
            format!(
                r#"{{"evidence":[{{"role":{role}}}],"binding":{{"environment":"prod"}},"note":"a \"quoted\" text"}}"#
            )
        };
        let matches = |document: &str, role: &str, environment: &str| {
            let (roles, environment) = (Some(vec![role.to_owned()]), Some(environment.to_owned()));
            QueueFilter { roles, environment, amount: None }.matches(document, None)
        };
        for (written, role) in [
            (r#""legal""#, "legal"),
            (r#""\u006cegal""#, "legal"),
            (r#""le\"gal""#, "le\"gal"),
            (r#""a\/b""#, "a/b"),
            (r#""a/b""#, "a/b"),
            (r#""a\nb""#, "a\nb"),
            (r#""jurídico""#, "jurídico"),
        ] {
            assert!(matches(&document(written), role, "prod"), "{written}");
            assert!(!matches(&document(written), "finance", "prod"), "{written}");
            assert!(!matches(&document(written), role, "test"), "{written}");
        }
        // A role elsewhere in the document does not count.
        assert!(!matches(&document(r#""prod""#), "evidence", "prod"));
    }
}
