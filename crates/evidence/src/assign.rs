//! Which receipt each rule uses, when only one rule may use each.

use std::collections::BTreeMap;

/// Assigns to as many rules as possible one of their candidates each, and no candidate to two rules.
///
/// `candidates` are the indexes of the documents that meet each rule, the best first. The result depends on nothing else:
/// earlier rules and better documents come first, and a rule with a document never loses it without getting another.
#[must_use]
pub fn assign(candidates: &[Vec<usize>]) -> Vec<Option<usize>> {
    let mut owners: BTreeMap<usize, usize> = BTreeMap::new();
    for rule in 0..candidates.len() {
        augment(candidates, rule, &mut owners);
    }
    let mut assigned = vec![None; candidates.len()];
    for (document, rule) in owners {
        if let Some(place) = assigned.get_mut(rule) {
            *place = Some(document);
        }
    }
    assigned
}

/// Searches breadth first for a document for `rule`: a free one, or one whose owner can take another. This is Kuhn's
/// algorithm with a queue in place of recursion, so that many rules cannot exhaust the stack.
fn augment(candidates: &[Vec<usize>], rule: usize, owners: &mut BTreeMap<usize, usize>) {
    let mut asked_by: BTreeMap<usize, usize> = BTreeMap::new();
    let mut waiting = vec![rule];
    let mut next = 0;
    while let Some(&asking) = waiting.get(next) {
        next += 1;
        for &document in candidates.get(asking).map_or(&[][..], Vec::as_slice) {
            // Each document is reached once, so a search ends after at most one look at every candidate.
            if asked_by.contains_key(&document) {
                continue;
            }
            asked_by.insert(document, asking);
            match owners.get(&document) {
                Some(&owner) => waiting.push(owner),
                None => return hand_over(document, rule, &asked_by, owners),
            }
        }
    }
}

/// Gives the free document to the rule that reached it, whose own goes to the rule before it, and so on back to `rule`.
fn hand_over(free: usize, rule: usize, asked_by: &BTreeMap<usize, usize>, owners: &mut BTreeMap<usize, usize>) {
    let mut document = free;
    while let Some(&taker) = asked_by.get(&document) {
        // Found before the insertion, after which `taker` owns two documents until the next turn takes this one.
        let given_up = owners.iter().find(|(_, owner)| **owner == taker).map(|(given_up, _)| *given_up);
        owners.insert(document, taker);
        match given_up {
            Some(given_up) if taker != rule => document = given_up,
            Some(_) | None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_earlier_rule_gives_way_where_it_has_another_document() {
        assert_eq!(assign(&[vec![0, 1], vec![0]]), [Some(1), Some(0)]);
        assert_eq!(assign(&[vec![0, 1], vec![0], vec![0]]), [Some(1), Some(0), None]);
        assert_eq!(assign(&[vec![0, 1], vec![0, 2], vec![0], vec![1]]), [Some(1), Some(2), Some(0), None]);
        assert_eq!(assign(&[vec![], vec![3]]), [None, Some(3)]);
        assert_eq!(assign(&[]), []);
    }

    fn best(candidates: &[Vec<usize>], taken: &mut Vec<usize>) -> usize {
        let Some((first, rest)) = candidates.split_first() else { return 0 };
        let mut most = best(rest, taken);
        for document in first {
            if !taken.contains(document) {
                taken.push(*document);
                most = most.max(1 + best(rest, taken));
                taken.pop();
            }
        }
        most
    }

    proptest! {
        #[test]
        fn as_many_rules_as_possible_have_a_document(
            candidates in prop::collection::vec(prop::collection::vec(0..5usize, 0..4), 0..6)
        ) {
            let assigned = assign(&candidates);
            let mut used: Vec<_> = assigned.iter().flatten().collect();
            let count = used.len();
            used.sort();
            used.dedup();
            prop_assert_eq!(used.len(), count, "no document twice");
            for (document, candidates) in assigned.iter().zip(&candidates) {
                prop_assert!(document.is_none_or(|document| candidates.contains(&document)));
            }
            prop_assert_eq!(count, best(&candidates, &mut Vec::new()));
        }
    }
}
