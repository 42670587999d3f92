//! When a step of a workflow is done: by its evidence, not by what an agent says.
