//! Gives labels to the values of a result.

use std::ops::ControlFlow;

use proofmark_flow::{
    Leaf, MAX_SEEN_VALUES, MAX_WITHIN_BYTES, Origins, SeenResult, SeenText, SeenValue, each_leaf, path_text,
    value_digest,
};
use proofmark_receipt::Json;
use proofmark_session::masked;

use super::super::ActionPolicy;
use super::{Applies, OriginRule, ReadCall, all};

/// The longest path of a value that is recorded, in bytes.
const MAX_PATH: usize = 256;
/// The label of what nobody vouches for. A rule that gives it ends the search.
const NOBODY: &str = "text";

impl ActionPolicy {
    /// The labels of what a call brought: `values` are the values that its agent is given. `request` is what the user has asked
    /// for. `failed` says that the call did not do what it was to do: then nobody vouches for what it says.
    #[must_use]
    pub fn labelled(
        &self,
        call: &ReadCall<'_>,
        values: &[Json],
        request: Option<&str>,
        origins: &Origins,
        failed: bool,
    ) -> SeenResult {
        let rules = self.origins.iter().filter(|rule| !failed && rule.names(call));
        let rules: Vec<_> = rules.map(|rule| (rule, rule.applies_to_call(call, origins))).collect();
        let mut labelling = Labelling { policy: self, arguments: call.args, seen: SeenResult::default(), within: 0 };
        for value in values {
            let _all = each_leaf(value, &mut |leaf| labelling.leaf(leaf, &rules, request, origins));
        }
        labelling.seen
    }
}

/// The labels of a result, while they are given.
struct Labelling<'p> {
    policy: &'p ActionPolicy,
    /// The arguments of the call, which a result may repeat.
    arguments: Option<&'p Json>,
    seen: SeenResult,
    /// How many bytes of texts are kept.
    within: usize,
}

impl Labelling<'_> {
    fn leaf(
        &mut self,
        leaf: &Leaf<'_, '_>,
        rules: &[(&OriginRule, Applies)],
        request: Option<&str>,
        origins: &Origins,
    ) -> ControlFlow<()> {
        if self.seen.values.len() >= MAX_SEEN_VALUES {
            self.seen.unknown = true;
            return ControlFlow::Break(());
        }
        let rule = rules.iter().find_map(|(rule, of_call)| {
            match all([*of_call, rule.applies_to(leaf, request, origins)].into_iter()) {
                Applies::Yes => Some(Some(*rule)),
                Applies::Unclear => Some(None),
                Applies::No => None,
            }
        });
        let rule = rule.flatten().filter(|rule| rule.label != NOBODY);
        let rule = rule.filter(|rule| !leaf.is_text || !origins.holds_written(leaf.text, &rule.label, self.arguments));
        let label = rule.map(|rule| rule.label.as_str());
        let is_clean = label.is_some_and(|label| self.policy.clean.iter().any(|clean| clean == label));
        // What is not a text, has no letters or digits, or names a field, tells an agent nothing to do.
        let says_nothing = !leaf.is_text
            || !leaf.text.chars().any(|c| c.is_alphanumeric() || !c.is_ascii())
            || leaf.is_name_of_field();
        if !is_clean && !says_nothing {
            self.seen.unknown = true;
        }
        let path = path_text(leaf.steps, MAX_PATH);
        if let Some(rule) = rule.filter(|rule| rule.within && leaf.is_text) {
            self.within += leaf.text.len();
            if self.within > MAX_WITHIN_BYTES {
                self.seen.unknown = true;
                return ControlFlow::Continue(());
            }
            let text = masked(leaf.text);
            self.seen.texts.push(SeenText { label: rule.label.clone(), path: path.clone(), text });
        }
        self.seen.values.push(SeenValue { label: label.map(str::to_owned), path, digest: value_digest(leaf.text) });
        ControlFlow::Continue(())
    }
}
