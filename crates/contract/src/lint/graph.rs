//! Whether a workflow ends, whatever its steps do.

use std::collections::HashMap;

use proofmark_receipt::document::{nearest, shown};

use super::finding::Finding;
use crate::workflow::{ABORT, Action, Branch, Next, When, Workflow};

/// The edges between the steps, without those that are findings of their own.
struct Graph {
    out: Vec<Vec<Edge>>,
    into: Vec<Vec<usize>>,
    /// The steps with such an edge. Where it was meant to lead is unknown, so they count as leading anywhere: one mistake
    /// is one finding.
    open: Vec<bool>,
}

struct Edge {
    to: usize,
    path: String,
}

pub(super) fn findings(workflow: &Workflow) -> Vec<Finding> {
    let mut findings = Vec::new();
    let graph = graph(workflow, &mut findings);
    findings.extend(reserved(workflow));
    findings.extend(unreachable(workflow, &graph));
    findings.extend(endless(workflow, &graph));
    for (position, step) in workflow.steps.iter().enumerate() {
        if let Next::Branches(branches) = &step.next {
            findings.extend(branch_findings(workflow, position, branches));
        }
    }
    findings
}

/// For every step, which steps it can be reached from.
pub(super) fn predecessors(workflow: &Workflow) -> Vec<Vec<bool>> {
    let graph = graph(workflow, &mut Vec::new());
    (0..workflow.steps.len()).map(|target| reaching(&graph, &[target])).collect()
}

/// The steps that lead to this one, directly.
pub(crate) fn leading_to(workflow: &Workflow, position: usize) -> Vec<usize> {
    let Some(id) = workflow.steps.get(position).map(|step| &step.id) else {
        return Vec::new();
    };
    (0..workflow.steps.len())
        .filter(|from| *from != position && targets(workflow, *from).iter().any(|(goto, _)| goto == id))
        .collect()
}

fn graph(workflow: &Workflow, findings: &mut Vec<Finding>) -> Graph {
    let steps = workflow.steps.iter().enumerate();
    let positions: HashMap<&str, usize> = steps.map(|(position, step)| (step.id.as_str(), position)).collect();
    let count = workflow.steps.len();
    let mut graph = Graph { out: Vec::new(), into: vec![Vec::new(); count], open: vec![false; count] };
    for (from, step) in workflow.steps.iter().enumerate() {
        let mut edges = Vec::new();
        for (goto, path) in targets(workflow, from) {
            match positions.get(goto.as_str()).copied() {
                // Before all others: `abort` ends the workflow even if a step has this id, which `reserved` reports.
                _ if goto == ABORT => {}
                Some(to) if to == from => {
                    graph.lead_anywhere(from);
                    findings.push(Finding::error(
                        "self-goto",
                        path,
                        format!("step `{}` leads to itself", step.id),
                        "let it lead to another step; `onFailure` repeats attempts",
                    ));
                }
                Some(to) => edges.push(Edge { to, path }),
                None => {
                    graph.lead_anywhere(from);
                    findings.push(unknown(workflow, path, &goto));
                }
            }
        }
        graph.out.push(edges);
    }
    findings.extend(without_cycles(workflow, &mut graph));
    for (from, edges) in graph.out.iter().enumerate() {
        for edge in edges {
            graph.into.get_mut(edge.to).into_iter().for_each(|into| into.push(from));
        }
    }
    graph
}

impl Graph {
    fn lead_anywhere(&mut self, from: usize) {
        self.open.get_mut(from).into_iter().for_each(|open| *open = true);
    }
}

fn unknown(workflow: &Workflow, path: String, goto: &str) -> Finding {
    let ids: Vec<&str> = workflow.steps.iter().map(|step| step.id.as_str()).collect();
    let help = match nearest(goto, &ids) {
        Some(id) => format!("did you mean `{}`?", shown(id)),
        None => "name a step of this workflow".to_owned(),
    };
    Finding::error("unknown-step", path, format!("there is no step `{}`", shown(goto)), &help)
}

/// The ids that a step names, and where.
fn targets(workflow: &Workflow, from: usize) -> Vec<(String, String)> {
    let Some(step) = workflow.steps.get(from) else {
        return Vec::new();
    };
    let at = |rest: &str| format!("steps[{from}]{rest}");
    let mut targets: Vec<_> = match &step.next {
        Next::End => Vec::new(),
        Next::Following => workflow.next_steps(from).into_iter().map(|id| (id.to_owned(), at(""))).collect(),
        Next::Step(id) => vec![(id.clone(), at(&format!(".{}", next_name(workflow, from))))],
        Next::Branches(branches) => {
            let name = next_name(workflow, from);
            let branches = branches.iter().enumerate();
            branches.map(|(index, branch)| (branch.goto.clone(), at(&format!(".{name}[{index}].goto")))).collect()
        }
    };
    let (on_failure, place) = match (&step.on_failure, &workflow.on_failure) {
        (Some(own), _) => (Some(own), at(".onFailure.action")),
        (None, common) => (common.as_ref(), "onFailure.action".to_owned()),
    };
    if let Some(Action::Goto(id)) = on_failure.map(|on_failure| &on_failure.action) {
        targets.push((id.clone(), place));
    }
    targets
}

/// Which of the field's two names the author used.
pub(super) fn next_name(workflow: &Workflow, position: usize) -> &'static str {
    let steps = workflow.document.as_object().and_then(|workflow| workflow.get("steps")?.as_array());
    let step = steps.and_then(|steps| steps.get(position)?.as_object());
    if step.is_some_and(|step| step.contains("goto")) { "goto" } else { "next" }
}

fn reserved(workflow: &Workflow) -> Vec<Finding> {
    let steps = workflow.steps.iter().enumerate().filter(|(_, step)| step.id == ABORT || step.id == "context");
    let findings = steps.map(|(position, step)| {
        let message = format!("`{}` has another meaning where steps are named", step.id);
        Finding::error("reserved-step-id", format!("steps[{position}].id"), message, "give the step another id")
    });
    findings.collect()
}

/// Takes out the edges that close a cycle, each cycle found once: a depth-first walk in which an edge to a step that is
/// still open leads back.
fn without_cycles(workflow: &Workflow, graph: &mut Graph) -> Vec<Finding> {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let count = workflow.steps.len();
    let mut marks = vec![Mark::New; count];
    let (mut findings, mut closing) = (Vec::new(), Vec::new());
    for start in 0..count {
        if marks.get(start) != Some(&Mark::New) {
            continue;
        }
        // Each entry is a step and how many of its edges were followed. A stack instead of recursion: a chain may have
        // a thousand steps.
        let mut path = vec![(start, 0)];
        while let Some((at, followed)) = path.last_mut() {
            let at = *at;
            if let Some(mark) = marks.get_mut(at) {
                *mark = Mark::Open;
            }
            let Some(edge) = graph.out.get(at).and_then(|edges| edges.get(*followed)) else {
                if let Some(mark) = marks.get_mut(at) {
                    *mark = Mark::Done;
                }
                path.pop();
                continue;
            };
            let index = *followed;
            *followed += 1;
            match marks.get(edge.to) {
                Some(Mark::New) => path.push((edge.to, 0)),
                Some(Mark::Open) => {
                    findings.push(cycle(workflow, edge, &path));
                    closing.push((at, index));
                }
                // A step that is done does not lead to any open one, so this edge closes no cycle.
                Some(Mark::Done) | None => {}
            }
        }
    }
    // From the last edge of a step to its first, so that the positions of the others stay.
    closing.sort_unstable();
    for (from, index) in closing.into_iter().rev() {
        graph.out.get_mut(from).into_iter().for_each(|edges| drop(edges.remove(index)));
        graph.lead_anywhere(from);
    }
    findings
}

fn cycle(workflow: &Workflow, edge: &Edge, path: &[(usize, usize)]) -> Finding {
    let around = path.iter().map(|(at, _)| *at).skip_while(|at| *at != edge.to);
    let around: Vec<_> = around.map(|at| name(workflow, at)).collect();
    Finding::error(
        "cycle",
        edge.path.clone(),
        format!("the steps form a cycle: {} → {}", around.join(" → "), name(workflow, edge.to)),
        "let one of them lead to a later step; `onFailure` repeats attempts",
    )
}

/// The first step is the root, from which every step must be reachable.
fn unreachable(workflow: &Workflow, graph: &Graph) -> Vec<Finding> {
    let reached = spread(graph, &[0], |at| graph.out.get(at).into_iter().flatten().map(|edge| edge.to).collect());
    if reached.iter().zip(&graph.open).any(|(reached, open)| *reached && *open) {
        return Vec::new();
    }
    let lost = reached.iter().enumerate().filter(|(_, reached)| !**reached);
    let findings = lost.map(|(position, _)| {
        let message = format!("the first step does not lead to `{}`", name(workflow, position));
        let help = "let a step lead to it, or remove it";
        Finding::error("unreachable-step", format!("steps[{position}]"), message, help)
    });
    findings.collect()
}

fn endless(workflow: &Workflow, graph: &Graph) -> Vec<Finding> {
    let ends: Vec<_> = (0..workflow.steps.len()).filter(|position| workflow.is_terminal(*position)).collect();
    let reaching = reaching(graph, &ends);
    let stuck =
        reaching.iter().enumerate().filter(|(position, reaches)| !**reaches && !workflow.is_terminal(*position));
    let findings = stuck.map(|(position, _)| {
        let message = format!("`{}` leads to no step that ends the workflow", name(workflow, position));
        let help = "let it lead to a step with `terminal: true`";
        Finding::error("no-terminal", format!("steps[{position}]"), message, help)
    });
    findings.collect()
}

fn name(workflow: &Workflow, position: usize) -> &str {
    workflow.steps.get(position).map_or("", |step| step.id.as_str())
}

fn branch_findings(workflow: &Workflow, position: usize, branches: &[Branch]) -> Vec<Finding> {
    let at = format!("steps[{position}].{}", next_name(workflow, position));
    let mut findings = Vec::new();
    let conditional = branches.iter().any(|branch| matches!(branch.when, When::Condition(_)));
    let step = workflow.steps.get(position);
    let guarded = branches.iter().any(|branch| branch.when == When::RetriesExhausted && branch.goto == ABORT)
        || step.and_then(|step| step.on_failure.as_ref()).is_some_and(|on_failure| on_failure.action == Action::Abort);
    if conditional && !guarded {
        findings.push(Finding::error(
            "unguarded-goto",
            at.clone(),
            "the next step depends on a condition, and nothing ends this step once its attempts are used up".to_owned(),
            "add `{when: retriesExhausted, goto: abort}`, or `onFailure: {action: abort}` to the step",
        ));
    }
    let always = branches.iter().position(|branch| branch.when == When::Always);
    match always {
        None => findings.push(Finding::warning(
            "no-otherwise",
            at,
            "no branch is taken when none of the conditions holds".to_owned(),
            "end the list with a `goto` without `when`",
        )),
        Some(always) => {
            let dead = branches.iter().enumerate().skip(always.saturating_add(1));
            // The guard is not for accepted steps, so its position does not matter.
            let dead = dead.filter(|(_, branch)| branch.when != When::RetriesExhausted);
            findings.extend(dead.map(|(index, _)| {
                let message = "this branch is never taken: one before it always is".to_owned();
                Finding::warning("dead-branch", format!("{at}[{index}]"), message, "move it up, or remove it")
            }));
        }
    }
    findings
}

/// The steps from which one of `ends` can be reached. The graph has no cycles, so no end is reached from itself.
fn reaching(graph: &Graph, ends: &[usize]) -> Vec<bool> {
    let before = |at: usize| graph.into.get(at).cloned().unwrap_or_default();
    let open = graph.open.iter().enumerate().filter(|(_, open)| **open).map(|(at, _)| at);
    let first: Vec<_> = ends.iter().flat_map(|end| before(*end)).chain(open).collect();
    spread(graph, &first, before)
}

fn spread(graph: &Graph, start: &[usize], edges: impl Fn(usize) -> Vec<usize>) -> Vec<bool> {
    let mut reached = vec![false; graph.out.len()];
    let mut waiting = start.to_vec();
    while let Some(at) = waiting.pop() {
        match reached.get_mut(at) {
            Some(seen) if !*seen => *seen = true,
            _ => continue,
        }
        waiting.extend(edges(at));
    }
    reached
}
