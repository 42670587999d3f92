//! `proofmark examples`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::session::Session;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// The files below a folder, with their content.
pub(crate) fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true if path.ends_with("__pycache__") => {}
                true => folders.push(path),
                false => {
                    let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, fs::read(&path).unwrap());
                }
            }
        }
    }
    files
}

#[test]
fn the_program_has_every_example_and_overwrites_none() {
    let session = Session::new();
    let done = session.run(&[
        "proofmark examples",
        "echo mine > examples/sort.json; proofmark examples",
        "proofmark examples other",
    ]);
    assert_eq!(done.iter().map(|done| done.code).collect::<Vec<_>>(), [Some(0); 3], "{done:?}");
    let expected = tree(Path::new(EXAMPLES));
    assert_eq!(tree(&session.work().join("other")), expected);
    assert_eq!(fs::read_to_string(session.work().join("examples/sort.json")).unwrap(), "mine\n");
    let left = format!("wrote 0 files to `examples` ({} existed and were left alone)\n", expected.len());
    assert_eq!(done[1].output, left);
}

#[test]
fn examples_that_cannot_be_written_are_named() {
    let session = Session::new();
    let done = session.run(&["mkdir examples; ln -s /tmp examples/decide; proofmark examples", "ls /tmp/policy.yaml"]);
    assert_eq!(done[0].code, Some(2), "{done:?}");
    assert!(done[0].output.contains("failed to write `examples/decide/policy.yaml`: `decide` is a link"), "{done:?}");
    assert_ne!(done[1].code, Some(0));
}
