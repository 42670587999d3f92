//! Cases for workflows: recorded responses, and the state that each must lead to.

use proofmark_receipt::Json;
use proofmark_receipt::document::{Cause, DocumentError, Field, Fields, shown};

/// The most cases of one table.
const MAX_CASES: usize = 10_000;

/// The states that a case can expect; the others are states of a step that is not judged yet.
const STATES: [(&str, &str); 5] = [
    ("accepted", "accepted"),
    ("accepted_with_warnings", "accepted_with_warnings"),
    ("awaiting_approval", "awaiting_approval"),
    ("retry", "retry"),
    ("aborted", "aborted"),
];

/// One case. The files are relative to the table.
#[derive(Clone, Debug)]
pub struct Case {
    /// Unique in its table.
    pub name: String,
    /// The file of the workflow.
    pub workflow: String,
    pub step: String,
    /// The file of the workflow policy.
    pub policy: Option<String>,
    pub response: CaseResponse,
    /// The file of the recorded trace.
    pub trace: Option<String>,
    pub context: Option<Json>,
    state: &'static str,
    unmet: Option<Vec<String>>,
}

/// The response of a case.
#[derive(Clone, Debug)]
pub enum CaseResponse {
    /// The response in this file.
    File(String),
    Text(String),
}

/// Reads a table of cases.
///
/// # Errors
/// [`DocumentError`] names the field. A table without cases is refused, since it would pass without testing anything.
pub fn read(document: &Json) -> Result<Vec<Case>, DocumentError> {
    let fields = Field::root(document).fields()?;
    fields.only(&["cases"])?;
    let field = fields.need("cases", "write at least one case")?;
    let items = field.items()?;
    if items.is_empty() || items.len() > MAX_CASES {
        return Err(field
            .error(Cause::Empty, format!("the table has {} cases", items.len()))
            .with_help(format!("write 1 to {MAX_CASES} cases")));
    }
    let mut cases: Vec<Case> = Vec::new();
    for item in &items {
        let case = read_case(&item.fields()?)?;
        if cases.iter().any(|other| other.name == case.name) {
            let message = format!("another case is named `{}`", shown(&case.name));
            return Err(item.error(Cause::DuplicateName, message).with_help("give each its own name"));
        }
        cases.push(case);
    }
    Ok(cases)
}

fn read_case(fields: &Fields<'_>) -> Result<Case, DocumentError> {
    fields.only(&[
        "name",
        "workflow",
        "step",
        "policy",
        "response",
        "responseText",
        "trace",
        "context",
        "state",
        "unmet",
    ])?;
    let text = |name: &str| fields.get(name).map(|field| field.text().map(str::to_owned)).transpose();
    let need = |name: &str, help: &str| fields.need(name, help)?.text().map(str::to_owned);
    let response = match (text("response")?, text("responseText")?) {
        (Some(path), None) => CaseResponse::File(path),
        (None, Some(text)) => CaseResponse::Text(text),
        (_, _) => return Err(fields.missing("response", "name its file, or write it as `responseText`, not both")),
    };
    Ok(Case {
        name: need("name", "name the case")?,
        workflow: need("workflow", "name the workflow's file")?,
        step: need("step", "name the step")?,
        policy: text("policy")?,
        response,
        trace: text("trace")?,
        context: fields.get("context").map(|field| field.json.clone()),
        state: fields.need("state", "write the expected state")?.choice(&STATES)?,
        unmet: fields
            .get("unmet")
            .map(|field| field.items()?.iter().map(|item| item.text().map(str::to_owned)).collect())
            .transpose()?,
    })
}

impl Case {
    /// How the state and the unmet rules differ from what the case expects; `None` when the case passes.
    pub fn difference(&self, state: &str, unmet: &[&str]) -> Option<String> {
        if state != self.state {
            let (expected, unmet) = (self.state, unmet.join(", "));
            return Some(format!("the state is {state}, expected {expected}; unmet rules: [{unmet}]"));
        }
        let expected = self.unmet.as_ref().filter(|expected| **expected != unmet)?;
        Some(format!("the unmet rules are [{}], expected [{}]", unmet.join(", "), expected.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(cases: &[&str]) -> Result<Vec<Case>, DocumentError> {
        let text = format!(r#"{{"cases": [{}]}}"#, cases.join(","));
        read(&Json::parse(text.as_bytes()).unwrap())
    }

    const CASE: &str =
        r#"{"name": "a", "workflow": "w.yaml", "step": "s", "responseText": "x", "state": "retry", "unmet": ["r"]}"#;

    #[test]
    fn a_table_has_cases_with_names_of_their_own() {
        assert_eq!(table(&[]).unwrap_err().code(), "empty");
        assert_eq!(table(&[CASE, CASE]).unwrap_err().code(), "duplicate_name");
        assert_eq!(table(&[CASE, &CASE.replace("\"a\"", "\"b\"")]).unwrap().len(), 2);
    }

    #[test]
    fn a_case_has_one_response_and_a_state_that_attempts_end_in() {
        let both = CASE.replace("\"step\"", "\"response\": \"r.md\", \"step\"");
        assert_eq!(table(&[&both]).unwrap_err().code(), "missing_field");
        assert!(table(&[&CASE.replace("retry", "pending")]).is_err());
    }

    #[test]
    fn a_case_differs_in_its_state_or_its_unmet_rules() {
        let cases = table(&[CASE]).unwrap();
        let difference = |state: &str, unmet: &[&str]| cases.first().and_then(|case| case.difference(state, unmet));
        assert_eq!(difference("retry", &["r"]), None);
        assert!(difference("accepted", &["r"]).is_some());
        assert!(difference("retry", &[]).is_some());
    }
}
