//! Reads who may approve: `reviewers`, and `roles`.

use proofmark_evidence::{ListedReviewer, filled, read_person};
use proofmark_receipt::document::{DocumentError, Fields};

/// The people whom a policy lists, under `reviewers` by their names and under `roles` role by role.
pub(super) fn read(fields: &Fields<'_>) -> Result<Vec<ListedReviewer>, DocumentError> {
    let mut listed = match fields.get("reviewers") {
        Some(field) => ListedReviewer::read_all(&field)?,
        None => Vec::new(),
    };
    if let Some(field) = fields.get("roles") {
        for (role, field) in field.fields()?.iter() {
            let members = if field.json.as_str().is_some() { vec![field] } else { filled(&field)? };
            for member in members {
                let person = read_person(&member)?;
                listed.push(ListedReviewer {
                    name: person.to_string(),
                    people: vec![person],
                    roles: vec![role.to_owned()],
                });
            }
        }
    }
    Ok(listed)
}
