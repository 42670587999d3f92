//! Takes the files of `/docs` out of the archive of Swagger UI as they are packed there, and leaves the rest.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use utoipa_swagger_ui_vendored::SWAGGER_UI_VENDORED as ARCHIVE;

/// The files that the page asks for.
const FILES: [&str; 6] = [
    "favicon-16x16.png",
    "favicon-32x32.png",
    "index.css",
    "swagger-ui-bundle.js",
    "swagger-ui-standalone-preset.js",
    "swagger-ui.css",
];
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = env::var_os("OUT_DIR").ok_or("cargo names no folder")?;
    for file in FILES {
        let entry = entry(file).ok_or_else(|| format!("Swagger UI has no `{file}` that can be read"))?;
        fs::write(Path::new(&folder).join(file), entry)?;
    }
    Ok(())
}

/// The packed bytes of a file, by the archive's own list (APPNOTE.TXT, 4.3.12 and 4.3.7).
fn entry(file: &str) -> Option<&'static [u8]> {
    let end = ARCHIVE.windows(4).rposition(|bytes| bytes == b"PK\x05\x06")?;
    let (count, mut at) = (number(end + 10, 2)?, number(end + 16, 4)?);
    for _ in 0..count {
        let (name_length, more) = (number(at + 28, 2)?, number(at + 30, 2)? + number(at + 32, 2)?);
        let name = ARCHIVE.get(at + 46..at + 46 + name_length)?;
        if name.ends_with(format!("/dist/{file}").as_bytes()) {
            // Pictures are as they are, and all else is packed by "deflate" (APPNOTE.TXT, 4.4.5).
            let method = if file.ends_with(".png") { 0 } else { 8 };
            let (length, local) = (number(at + 20, 4)?, number(at + 42, 4)?);
            let begin = local + 30 + number(local + 26, 2)? + number(local + 28, 2)?;
            return ARCHIVE.get(begin..begin + length).filter(|_| number(at + 10, 2) == Some(method));
        }
        at += 46 + name_length + more;
    }
    None
}

/// A number of so many bytes, the lowest first.
fn number(at: usize, bytes: usize) -> Option<usize> {
    let bytes = ARCHIVE.get(at..at + bytes)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}
