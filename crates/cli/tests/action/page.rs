//! The page of the action names its inputs and outputs correctly.

use proofmark_receipt::document::{self, Format};

use crate::{at, project_file, text, yaml};

fn page() -> String {
    std::fs::read_to_string(project_file("docs/action.md")).unwrap()
}

/// The workflows of the page.
pub(crate) fn workflows() -> Vec<String> {
    let page = page();
    let blocks = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.filter(|block| block.contains("runs-on:")).map(|block| format!("{block}\n")).collect()
}

/// The first cells of the rows of the table below a heading.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let page = page();
    let section = page.split(&format!("\n## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap().to_owned();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()).collect()
}

#[test]
fn the_page_has_every_input_with_its_default_and_every_output() {
    let action = yaml("action/action.yml");
    let rows_of = |heading: &str| rows(heading).into_iter().map(|row| (row[1].clone(), row[2].clone()));
    let inputs = at(&action, &["inputs"]).as_object().unwrap();
    let expected: Vec<(String, String)> =
        inputs.iter().map(|(name, input)| (name.to_owned(), text(input, &["default"]).to_owned())).collect();
    let mut found: Vec<(String, String)> = rows_of("Inputs").collect();
    found.sort();
    let mut sorted = expected.clone();
    sorted.sort();
    assert_eq!(found, sorted);
    let outputs: Vec<&str> = at(&action, &["outputs"]).as_object().unwrap().iter().map(|(name, _)| name).collect();
    let cells = rows_of("Outputs").map(|(cell, _)| cell);
    let names = |cell: String| cell.split("`, `").map(str::to_owned).collect::<Vec<_>>();
    let mut named: Vec<String> = cells.flat_map(names).collect();
    named.sort();
    let mut outputs: Vec<String> = outputs.into_iter().map(str::to_owned).collect();
    outputs.sort();
    assert_eq!(named, outputs);
}

#[test]
fn the_workflows_of_the_page_give_inputs_that_there_are() {
    let action = yaml("action/action.yml");
    let workflows = workflows();
    assert!(!workflows.is_empty());
    let mut used = 0;
    for workflow in &workflows {
        // In YAML 1.1, `on` is a boolean, so it is refused.
        let workflow = workflow.replace("\non:", "\n\"on\":");
        let workflow = document::parse(workflow.as_bytes(), Format::Yaml).unwrap();
        for (_, job) in at(&workflow, &["jobs"]).as_object().unwrap().iter() {
            for step in at(job, &["steps"]).as_array().unwrap() {
                let step = step.as_object().unwrap();
                let uses = step.get("uses").and_then(|uses| uses.as_str()).unwrap_or_default();
                let Some(with) = step.get("with").filter(|_| uses.contains("/action@")) else { continue };
                used += 1;
                for (name, _) in with.as_object().unwrap().iter() {
                    at(&action, &["inputs", name]);
                }
            }
        }
    }
    assert!(used > 0);
}
