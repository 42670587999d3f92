//! How a project is verified, as its `proofmark.yaml` says.

use proofmark_checks::{PROJECT_SETTINGS, RequestError, check_settings};
use proofmark_receipt::document::Field;
use proofmark_receipt::glob::Globs;
use proofmark_receipt::{Json, Object};

/// The file in a project's folder that says how it is verified.
pub const CONFIG_FILE: &str = "proofmark.yaml";
/// The most bytes of it.
pub(super) const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// What of the project is left out.
const EXCLUDE: &str = "exclude";
/// What is part of the project although git ignores it.
const INCLUDE: &str = "include";
const POLICY: &str = "policy";
/// Which files are tests, beside those that are known.
const TESTS: &str = "tests";
/// The most globs of tests.
const MAX_TESTS: usize = 64;

/// How a project is verified.
#[derive(Debug, Default)]
pub struct ProjectConfig {
    /// Fields of `verification`, as the document has them.
    pub settings: Object,
    /// The action policy of the project, a path below the folder of the document. No verification reads it.
    pub policy: Option<String>,
    /// Globs of files that are the owner's beside those that rules know; with `!` before them, of files that are not.
    pub tests: Vec<String>,
    exclude: Vec<Globs>,
    include: Vec<Globs>,
}

impl ProjectConfig {
    /// Reads a `proofmark.yaml`.
    ///
    /// # Errors
    /// [`RequestError`] with the place, as for a request with the same fields.
    pub fn read(document: &Json) -> Result<ProjectConfig, RequestError> {
        let fields = Field::root(document).fields()?;
        fields.only(&[PROJECT_SETTINGS.as_slice(), &[EXCLUDE, INCLUDE, POLICY, TESTS]].concat())?;
        check_settings(&fields)?;
        ProjectConfig::default().with(document)
    }

    /// The same with other settings, which win. Of objects, as `limits`, their members do; what is to be excluded or included is added.
    /// The settings are checked with the request that they become part of.
    ///
    /// # Errors
    /// [`RequestError`] where `exclude`, `include` or `tests` holds no globs, or `policy` is no text.
    pub fn with(mut self, document: &Json) -> Result<ProjectConfig, RequestError> {
        for (name, field) in Field::root(document).fields()?.iter() {
            match (name, field.json.as_object(), self.settings.get_mut(name)) {
                (EXCLUDE, ..) => self.exclude.push(chosen(&mut self.settings, EXCLUDE, &field)?),
                (INCLUDE, ..) => self.include.push(chosen(&mut self.settings, INCLUDE, &field)?),
                (TESTS, ..) => self.tests.extend(Globs::read_at_most(&field, MAX_TESTS)?.texts().map(str::to_owned)),
                (POLICY, ..) => self.policy = Some(field.text()?.to_owned()),
                (_, Some(members), Some(Json::Object(object))) => {
                    members.iter().for_each(|(name, value)| drop(object.insert(name, value.clone())));
                }
                _ => drop(self.settings.insert(name, field.json.clone())),
            }
        }
        Ok(self)
    }

    /// The words of the command; of one that is a text, those between spaces.
    pub(super) fn command(&self) -> Vec<&str> {
        match self.settings.get("command") {
            Some(Json::Array(words)) => words.iter().filter_map(Json::as_str).collect(),
            Some(Json::String(text)) => text.split_whitespace().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether a file or a folder is left out.
    pub(super) fn excludes(&self, below: &str) -> bool {
        matches(&self.exclude, below)
    }

    /// Whether a file or a folder is part of the project although git ignores it.
    pub(super) fn includes(&self, below: &str) -> bool {
        matches(&self.include, below)
    }

    /// Whether anything that git ignores may be part of the project.
    pub(super) fn includes_any(&self) -> bool {
        !self.include.is_empty()
    }
}

/// The globs of a field, which are added to the setting of this name: the digest of the tests covers it as it does the others.
fn chosen(settings: &mut Object, name: &str, field: &Field<'_>) -> Result<Globs, RequestError> {
    let globs = Globs::read(field)?;
    let mut all: Vec<Json> = settings.get(name).and_then(Json::as_array).unwrap_or_default().to_vec();
    all.extend(globs.texts().map(Json::from));
    settings.insert(name, all);
    Ok(globs)
}

/// Whether globs match a file or a folder: by its path, or by its name wherever it is. A glob that ends with `/` means the same as
/// without.
fn matches(globs: &[Globs], below: &str) -> bool {
    let name = below.rsplit('/').next().unwrap_or(below);
    let folder = (format!("{below}/"), format!("{name}/"));
    let texts = [below, name, &folder.0, &folder.1];
    globs.iter().any(|globs| texts.iter().any(|text| globs.matches(text)))
}
