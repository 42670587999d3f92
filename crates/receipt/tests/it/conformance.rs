//! Runs other projects' test data, where it is present: JSONTestSuite and that of RFC 8785.

use std::path::{Path, PathBuf};

use proofmark_receipt::{Json, Profile};
use proofmark_testing::conformance;

/// Documents JSONTestSuite lets a parser accept, and that this one refuses, by what they break: duplicate keys have
/// two readings.
const REFUSED_THOUGH_ALLOWED: [&str; 2] = ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"];

#[test]
fn json_test_suite() {
    let Some(folder) = conformance("json-parsing") else { return };
    let (mut accepted, mut refused, mut either) = (0, 0, 0);
    for path in files(&folder) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let read = Json::parse(&std::fs::read(&path).unwrap());
        match name.split_at(2).0 {
            "y_" if REFUSED_THOUGH_ALLOWED.contains(&name.as_str()) => {
                assert_eq!(read.unwrap_err().code(), "duplicate_key", "{name}");
                refused += 1;
            }
            "y_" => {
                assert!(read.is_ok(), "{name}: {read:?}");
                accepted += 1;
            }
            "n_" => {
                assert!(read.is_err(), "{name}: {read:?}");
                refused += 1;
            }
            _ => either += 1,
        }
    }
    println!("json-parsing: {accepted} accepted, {refused} refused, {either} either");
    assert!(accepted > 90 && refused > 180 && either > 30, "files are missing");
}

#[test]
fn rfc_8785() {
    let Some(folder) = conformance("jcs") else { return };
    let inputs = files(&folder.join("input"));
    for input in &inputs {
        let document = Json::parse(&std::fs::read(input).unwrap()).unwrap();
        let output = std::fs::read(folder.join("output").join(input.file_name().unwrap())).unwrap();
        let found = document.canonical(Profile::Jcs).unwrap();
        assert_eq!(String::from_utf8(found), String::from_utf8(output), "{}", input.display());
    }
    println!("jcs: {} documents", inputs.len());
    assert!(inputs.len() >= 6, "files are missing");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}
