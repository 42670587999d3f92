//! CRuby, without its gems.

use super::Toolchain;

const PROBE: &str = "c=RbConfig::CONFIG
puts RUBY_VERSION, RbConfig.ruby, c['rubylibdir'], c['rubyarchdir'], File.join(c['libdir'], c['LIBRUBY_SO'])";

/// Neither gems nor helpers that change messages, whatever `RUBYOPT` says.
const BARE: &str = "--disable=all";
const TEXT_IS_UTF8: &str = "-EUTF-8";

pub(super) static TOOLCHAIN: Toolchain = Toolchain {
    name: "ruby",
    version_parts: 2,
    prefixes: &["cruby", "ruby"],
    executables: &["ruby"],
    versions: &[(2, 7..=7), (3, 0..=9), (4, 0..=9)],
    minimum: None,
    package: "ruby",
    probe: &[BARE, "-rrbconfig", "-e", PROBE],
    needs: &[],
    has_own_library: false,
    harness: Some(&[BARE, TEXT_IS_UTF8, "-e", include_str!("ruby.rb")]),
    forks: false,
    trial: None,
    modules: &[],
    whole: &[BARE, TEXT_IS_UTF8],
    extension: "",
    variables: &[],
    project_variables: &[],
    // The one that switches between threads.
    threads: 1,
    // Room for its heaps, which it maps at the start; what it uses of it is what the supervisor adds up.
    reserved_bytes: 64 << 20,
    memory_exception: Some("NoMemoryError"),
    memory_signals: &[],
    memory_words: &[],
    packages: None,
};
