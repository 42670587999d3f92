//! Reads requests window by window, so that a batch of any length needs the memory of one window.

use std::cell::RefCell;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use proofmark_checks::{HostFolder, MAX_REQUEST_BYTES, Origin, Outside, Request};
use proofmark_verifier::{CONFIG_FILE, ProjectConfig};

use super::filter::Filter;
use crate::document;
use crate::error::with_help;
use crate::input::{self, Input, Source, Sources};
use crate::project::Project;
use crate::report::Places;

/// The most requests of a window.
// The requests of a window run side by side; the next window begins when all of them have ended.
const WINDOW_REQUESTS: usize = 256;
/// A window that has this many bytes of requests takes no more.
const WINDOW_BYTES: usize = MAX_REQUEST_BYTES;
/// The most files named by requests that are remembered.
const MAX_NAMED_FILES: usize = 1_000;

/// The requests that run together. All of them are read before the first one runs.
#[derive(Default)]
pub(crate) struct Window {
    pub(crate) requests: Vec<Request>,
    /// Of each request.
    pub(crate) names: Vec<Named>,
    /// Installed packages of the project among them.
    pub(crate) packages: Vec<HostFolder>,
    /// Where the host has that project.
    pub(crate) origin: Option<Origin>,
    pub(crate) refused: Vec<Refused>,
}

/// What a request is called, and where its files are.
#[derive(Clone, Default)]
pub(crate) struct Named {
    pub(crate) label: String,
    pub(crate) places: Places,
}

/// A request that could not be read.
pub(crate) struct Refused {
    /// How many requests of the window come before it.
    pub(crate) before: usize,
    pub(crate) label: String,
    pub(crate) error: anyhow::Error,
}

impl Window {
    fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.refused.is_empty()
    }

    fn is_full(&self, bytes: usize) -> bool {
        self.requests.len() >= WINDOW_REQUESTS || self.refused.len() >= WINDOW_REQUESTS || bytes >= WINDOW_BYTES
    }
}

/// Projects, with what they are called.
pub(crate) type Projects = Box<dyn Iterator<Item = (String, anyhow::Result<Project>)>>;

/// Reads requests window by window.
pub(crate) struct Reader {
    submission: Option<(PathBuf, String)>,
    /// Projects, with what they are called, before all other requests.
    projects: Peekable<Projects>,
    sources: Sources,
    filter: Option<Filter>,
    /// How many requests the filter left out.
    pub(crate) filtered: usize,
    pub(crate) ended: bool,
    /// Files that requests name.
    files: RefCell<Vec<PathBuf>>,
}

impl Reader {
    pub(crate) fn new(requests: Vec<PathBuf>, submission: Option<&PathBuf>) -> anyhow::Result<Reader> {
        let submission = submission.map(|path| anyhow::Ok((path.clone(), input::submission(path)?))).transpose()?;
        let sources = Box::new(requests.into_iter().flat_map(|argument| match settings_folder(&argument) {
            Some(folder) => refused_settings(&argument, &folder),
            None => input::sources(&argument),
        }));
        let files = RefCell::default();
        let projects: Projects = Box::new(std::iter::empty());
        let projects = projects.peekable();
        Ok(Reader { submission, projects, sources, filter: None, filtered: 0, ended: false, files })
    }

    /// With projects before all others.
    pub(crate) fn with_projects(self, projects: Projects) -> Reader {
        Reader { projects: projects.peekable(), ..self }
    }

    /// Only with the requests that the filter selects.
    pub(crate) fn with_filter(self, filter: Option<Filter>) -> Reader {
        Reader { filter, ..self }
    }

    /// The files that the requests read so far name.
    pub(crate) fn into_files(self) -> Vec<PathBuf> {
        self.files.into_inner()
    }

    /// The next requests, and those that cannot be read; `None` at the end.
    pub(crate) fn next_window(&mut self) -> Option<Window> {
        let mut window = Window::default();
        // A window has the packages of one project.
        while window.is_empty() {
            let Some((label, project)) = self.projects.next() else { break };
            match project {
                Ok(project) => self.add_project(&mut window, project),
                Err(error) => window.refused.push(Refused { before: 0, label, error }),
            }
        }
        let mut bytes = if self.projects.peek().is_some() { WINDOW_BYTES } else { 0 };
        while !window.is_full(bytes) {
            let Some(Input { label, source }) = self.sources.next() else {
                self.ended = true;
                break;
            };
            match source.and_then(|source| self.read(&label, source, &mut bytes)) {
                Ok((name, request)) => self.add(&mut window, name, request),
                Err(error) => window.refused.push(Refused { before: window.requests.len(), label, error }),
            }
        }
        (!window.is_empty()).then_some(window)
    }

    fn add_project(&mut self, window: &mut Window, project: Project) {
        let Project { folder, request, packages, origin } = project;
        (window.packages, window.origin) = (packages, Some(origin));
        let places = Places { folder: Some(folder.clone()), ..Places::default() };
        self.add(window, Named { label: folder.display().to_string(), places }, request);
    }

    fn add(&mut self, window: &mut Window, name: Named, request: Request) {
        if self.filter.as_ref().is_some_and(|filter| !filter.selects(&name.label, request.task.as_ref())) {
            self.filtered += 1;
            return;
        }
        window.names.push(name);
        window.requests.push(request);
    }

    fn read(&self, label: &str, source: Source, bytes: &mut usize) -> anyhow::Result<(Named, Request)> {
        let file = |named: &str| {
            let mut files = self.files.borrow_mut();
            if files.len() < MAX_NAMED_FILES {
                files.push(source.path.with_file_name(named));
            }
            input::beside(&source.path, named)
        };
        let text = self.submission.as_ref().map(|(_, text)| text.as_str());
        let outside = Outside { submission: text, file: &file };
        let request = document::request(&source, &outside)?;
        *bytes += source.bytes.len() + text.map_or(0, str::len);
        let submission = self.submission.as_ref().map(|(path, _)| path.clone());
        let places = Places { folder: None, submission, request: Some((source.path, source.line)) };
        Ok((Named { label: label.to_owned(), places }, request))
    }
}

/// The folder of a project that has settings, where the argument is the folder or the file of its settings.
fn settings_folder(argument: &Path) -> Option<PathBuf> {
    let file = if argument.is_dir() { argument.join(CONFIG_FILE) } else { argument.to_owned() };
    let named = file.file_name()? == CONFIG_FILE && file.is_file();
    // A request may have this name, too.
    if !named || document::read_as(&file, "settings", ProjectConfig::read).is_err() {
        return None;
    }
    let folder = file.parent()?;
    Some(if folder == Path::new("") { PathBuf::from(".") } else { folder.to_owned() })
}

/// What stands for the requests of an argument that has the settings of a project.
fn refused_settings(argument: &Path, folder: &Path) -> Sources {
    let label = argument.display().to_string();
    let message = format!("read requests from `{label}`: these are settings of a project");
    let help = format!("verify the project with `proofmark verify --dir {}`", folder.display());
    Box::new(std::iter::once(Input { label, source: Err(with_help(message, help)) }))
}
