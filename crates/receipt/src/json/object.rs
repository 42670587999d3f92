use std::collections::HashMap;
use std::sync::Arc;

use super::Json;

/// A JSON object: members in document order, names unique. Cloning is cheap: the members are shared until a clone is changed.
#[derive(Clone, Debug, Default)]
pub struct Object {
    /// `None` where it has no members: they take no memory then.
    members: Option<Arc<Vec<(String, Json)>>>,
}

impl PartialEq for Object {
    fn eq(&self, other: &Self) -> bool {
        let shared = self.members.as_ref().zip(other.members.as_ref()).is_some_and(|(one, two)| Arc::ptr_eq(one, two));
        shared || self.members() == other.members()
    }
}

impl Object {
    pub const fn new() -> Self {
        Self { members: None }
    }

    /// The names must be unique.
    pub(crate) fn from_unique(members: Vec<(String, Json)>) -> Self {
        Self { members: Some(Arc::new(members)) }
    }

    /// The value under `name`. Takes time linear in the number of members.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.iter().find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The members by their names, where many are looked up.
    pub fn by_name(&self) -> HashMap<&str, &Json> {
        self.iter().collect()
    }

    /// The value under `name`, to change in place.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Json> {
        // Looked up first, because what is shared is copied to be changed.
        let at = self.position(name)?;
        Some(&mut self.members_mut().get_mut(at)?.1)
    }

    /// Sets `name` to `value`: in its place if it is there, else at the end. Returns the value it replaced.
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Json>) -> Option<Json> {
        let name = name.into();
        if let Some(old) = self.get_mut(&name) {
            return Some(std::mem::replace(old, value.into()));
        }
        self.members_mut().push((name, value.into()));
        None
    }

    /// Removes `name`; the others keep their order.
    pub fn remove(&mut self, name: &str) -> Option<Json> {
        let at = self.position(name)?;
        Some(self.members_mut().remove(at).1)
    }

    /// Whether there is a member `name`.
    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The members in document order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Json)> {
        self.members().iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of members.
    pub fn len(&self) -> usize {
        self.members().len()
    }

    pub fn is_empty(&self) -> bool {
        self.members().is_empty()
    }

    pub(super) fn members(&self) -> &[(String, Json)] {
        self.members.as_deref().map(Vec::as_slice).unwrap_or_default()
    }

    fn members_mut(&mut self) -> &mut Vec<(String, Json)> {
        Arc::make_mut(self.members.get_or_insert_default())
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.members().iter().position(|(key, _)| key == name)
    }
}

/// Builds an [`Object`] whose members stand in the order they are written. A member whose name ends in `?` takes an
/// `Option` and is left out when it is `None`.
///
/// ```
/// use proofmark_receipt::{Json, object};
///
/// let note: Option<&str> = None;
/// let document = object! { "run": "r1", "attempt": 2_u64, "note"?: note, "state": object! { "name": "accepted" } };
/// assert_eq!(Json::from(document).to_text(), r#"{"run":"r1","attempt":2,"state":{"name":"accepted"}}"#);
/// ```
#[macro_export]
macro_rules! object {
    (@members $object:ident) => {};
    (@members $object:ident $name:literal ?: $value:expr $(, $($rest:tt)*)?) => {
        if let Some(value) = $value {
            $object.insert($name, value);
        }
        $($crate::object!(@members $object $($rest)*);)?
    };
    (@members $object:ident $name:literal : $value:expr $(, $($rest:tt)*)?) => {
        $object.insert($name, $value);
        $($crate::object!(@members $object $($rest)*);)?
    };
    ($($members:tt)*) => {{
        // `allow`, not `expect`: with members the expectation would not be fulfilled.
        #[allow(unused_mut, reason = "an object may have no members")]
        let mut object = $crate::Object::new();
        $crate::object!(@members object $($members)*);
        object
    }};
}
