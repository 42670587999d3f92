//! The folders that each command of a text may run in.

use std::collections::{BTreeMap, BTreeSet};

use crate::path::{Folder, Folders, normalized};
use crate::reader::{Found, Joint, RawCommand};
use crate::values::Arg;

/// The most folders that are followed at the same time.
const MAX_FOLDERS: usize = 8;

/// Follows `cd` through the commands of a text, in their order.
pub(crate) struct Walk<'a> {
    found: &'a Found,
    shells: BTreeMap<usize, Place>,
}

#[derive(Clone, Default)]
struct Place {
    folders: Folders,
    /// Where it is instead, if a `cd` before `&&` has failed: from the next command on that does not depend on it.
    instead: Option<Folders>,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(found: &'a Found, folders: Folders) -> Self {
        let first = Place { folders, instead: None };
        Self { found, shells: BTreeMap::from([(0, first)]) }
    }

    /// The folders that a command may run in.
    pub(crate) fn at(&mut self, command: &RawCommand) -> Folders {
        let place = self.place(command.shell);
        if let Some(instead) = place.instead.take_if(|_| command.before != Joint::And) {
            place.folders = either(place.folders.take(), instead);
        }
        place.folders.clone()
    }

    fn place(&mut self, shell: usize) -> &mut Place {
        if !self.shells.contains_key(&shell) {
            let parent = self.found.shells.get(shell).copied().flatten().unwrap_or_default();
            let place = if parent < shell { self.place(parent).clone() } else { Place::default() };
            self.shells.insert(shell, place);
        }
        self.shells.entry(shell).or_default()
    }

    /// Goes on after a command that changes the folder.
    pub(crate) fn change(&mut self, command: &RawCommand, args: &[Arg]) {
        let repeats = command.is_in_loop || self.found.has_functions;
        let place = self.place(command.shell);
        let before = place.folders.clone();
        let changed = target(args, &before, repeats);
        let is_certain = command.is_plain && matches!(command.before, Joint::Then | Joint::And);
        if is_certain && command.after == Joint::And {
            place.folders = changed;
            place.instead = Some(match place.instead.take() {
                Some(instead) => either(instead, before),
                None => before,
            });
        } else {
            place.folders = either(before, changed);
        }
    }
}

fn either(one: Folders, other: Folders) -> Folders {
    let mut all = one?;
    all.extend(other?);
    (all.len() <= MAX_FOLDERS).then_some(all)
}

fn changed(path: &str) -> Folder {
    Folder { path: normalized(path), is_changed: true }
}

/// Where `cd` with these arguments leads.
fn target(args: &[Arg], from: &Folders, repeats: bool) -> Folders {
    let mut operands = args.iter().filter(|arg| !matches!(arg.text(), Some("-L" | "-P" | "--")));
    // With `-P`, links are followed first.
    let is_physical = args.iter().any(|arg| arg.text() == Some("-P"));
    let Some(operand) = operands.next() else { return Some(BTreeSet::from([changed("~")])) };
    if operands.next().is_some() {
        return None;
    }
    let mut all = BTreeSet::new();
    for reading in operand.readings.as_deref()? {
        let name = &reading.text;
        let leaves_home = name.starts_with('~') && name.contains("..");
        let may_leave = is_physical && name.contains("..");
        if reading.pattern || name.is_empty() || name.starts_with(['-', '+']) || leaves_home || may_leave {
            return None;
        }
        if name.starts_with(['/', '~']) {
            all.insert(changed(name));
        } else if repeats {
            return None;
        } else {
            all.extend(from.as_ref()?.iter().map(|from| changed(&format!("{}/{name}", from.path))));
        }
    }
    Some(all)
}
