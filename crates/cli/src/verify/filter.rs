//! Selects requests by their name.

use proofmark_receipt::Task;

/// A part of a name, or a pattern with `*` (any text) and `?` (any character) for all of it.
#[derive(Clone, Debug)]
pub(crate) struct Filter(pub(crate) String);

impl Filter {
    /// Whether it selects a request with this label and task.
    pub(crate) fn selects(&self, label: &str, task: Option<&Task>) -> bool {
        let task = task.and_then(|task| task.task_id.as_deref());
        self.matches(label) || task.is_some_and(|task| self.matches(task))
    }

    fn matches(&self, name: &str) -> bool {
        if self.0.contains(['*', '?']) {
            glob(&self.0.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
        } else {
            name.contains(&self.0)
        }
    }
}

/// Whether the pattern matches all of the text, in time proportional to the product of their lengths at most.
fn glob(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    // Where to continue when the text after a `*` does not fit: the `*` then takes one character more.
    let mut star = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(c) if *c == '?' || Some(c) == text.get(t) => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((after, taken)) => {
                    star = Some((after, taken + 1));
                    (p, t) = (after, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_a_part_of_a_name_or_a_pattern_for_all_of_it() {
        for (filter, name, selects) in [
            ("sort", "examples/sort.json", true),
            ("Sort", "examples/sort.json", false),
            ("*.json", "examples/sort.json", true),
            ("*sort", "examples/sort.json", false),
            ("a?c*e", "abcxxe", true),
            ("*a*b*c", "xaxbxbxc", true),
            ("?", "", false),
            ("*", "", true),
            ("", "all", true),
        ] {
            assert_eq!(Filter(filter.to_owned()).matches(name), selects, "{filter} {name}");
        }
        let long = "a".repeat(2_000);
        assert!(!Filter(format!("{}b", "a*".repeat(500))).matches(&long));
    }
}
