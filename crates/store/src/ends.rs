//! The ends of chains as this home has written them, in a file outside the database.
//!
//! A database that was restored from an older copy, or whose primary lost commits, agrees with itself and its signatures. The file says
//! how far its chains have been. A chain that ends before that, or has another document there, is not extended until the loss is
//! accepted; the next document of the chain then states it ([`LostEnd`]).
//!
//! **Order.** A line is appended after the commit and before the answer. So the file may be behind the database, which is harmless, and is
//! never ahead of one that has lost nothing. It is not synced: a crash of the machine can take its last lines.
//!
//! **Many writers.** Processes append at the same time, in any order: of a chain the greatest position counts. A line that cannot be read,
//! because a crash left a part of it, says nothing. No process waits for another one.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use proofmark_receipt::{ChainTip, Json, LostEnd, Object, object};

use crate::chain::Chain;
use crate::error::StoreError;
use crate::place::Place;

/// Of how many chains the ends are kept. The ones that were written longest ago are forgotten first; that of decisions never.
pub const MAX_KEPT_CHAINS: usize = 1_000;

/// From this size on the file is written anew, with a line for each chain.
const MAX_BYTES: u64 = 512 << 10;

/// A new file that is this old was left by a process that was killed.
const ABANDONED: Duration = Duration::from_secs(60);

/// How often the file is looked for again, where others replace it.
const TRIES: usize = 8;

/// What is kept of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    /// How many losses were accepted: positions of a chain count from the last one.
    losses: u64,
    pub(crate) end: LostEnd,
    /// Whether the end was lost and that was accepted: the next document of the chain states it.
    pub(crate) is_accepted: bool,
}

/// The file.
#[derive(Debug)]
pub(crate) struct Ends {
    place: Place,
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: HashMap<Chain, Dated>,
    /// How many lines were taken in.
    lines: u64,
    read: Option<Extent>,
    /// What could not be written yet.
    unwritten: String,
}

/// Which file was read, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    file: (u64, u64),
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Dated {
    kept: Kept,
    /// The line that was its last.
    line: u64,
}

impl Ends {
    /// The ends of the store at `place` that has this identity, in `folder`. Nothing is read or written yet.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] where the identity is none.
    pub(crate) fn at(folder: &Path, place: Place, identity: &str) -> Result<Self, StoreError> {
        // It becomes the name of a file, and who writes the database chooses it.
        if identity.len() != 32 || !identity.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(StoreError::Damaged { place, detail: "its identity is not one".to_owned() });
        }
        Ok(Self { place, path: folder.join(format!("{identity}.jsonl")), state: Mutex::default() })
    }

    /// What is kept of these chains.
    ///
    /// # Errors
    /// [`StoreError::Ends`] where the file cannot be read, or does not take what was to be written before.
    pub(crate) fn of(&self, chains: &[Chain]) -> Result<HashMap<Chain, Kept>, StoreError> {
        let state = self.current()?;
        let kept = |chain: &Chain| Some((chain.clone(), state.kept.get(chain)?.kept));
        Ok(chains.iter().filter_map(kept).collect())
    }

    /// All that is kept.
    ///
    /// # Errors
    /// As [`Ends::of`].
    pub(crate) fn all(&self) -> Result<Vec<(Chain, Kept)>, StoreError> {
        let mut all: Vec<_> = self.current()?.kept.iter().map(|(chain, dated)| (chain.clone(), *dated)).collect();
        all.sort_by_key(|(_, dated)| dated.line);
        Ok(all.into_iter().map(|(chain, dated)| (chain, dated.kept)).collect())
    }

    /// Why a chain that ends at the position `stored` is not extended.
    pub(crate) fn behind(&self, chain: &Chain, kept: &Kept, stored: Option<u64>) -> StoreError {
        let signed = kept.end.position;
        StoreError::Behind { place: self.place.clone(), chain: chain.to_string(), signed, stored }
    }

    /// Takes in that these are the ends now, which are committed. What cannot be written is written before the next group.
    pub(crate) fn advance<'a>(&self, ends: impl Iterator<Item = (&'a Chain, &'a ChainTip)>) {
        let mut state = self.lock();
        for (chain, tip) in ends {
            let losses = state.kept.get(chain).map_or(0, |dated| dated.kept.losses);
            let end = LostEnd { position: tip.position, hash: tip.hash };
            state.unwritten.push_str(&line(chain, Kept { losses, end, is_accepted: false }));
        }
        // Told by the next group, which fails: this one is stored.
        drop(self.write(&mut state));
    }

    /// Takes in that what these chains have lost is accepted.
    ///
    /// # Errors
    /// [`StoreError::Ends`]; then it may be accepted for some of them.
    pub(crate) fn accept<'a>(&self, lost: impl Iterator<Item = &'a (Chain, Kept)>) -> Result<(), StoreError> {
        let mut state = self.lock();
        for (chain, Kept { losses, end, .. }) in lost {
            let kept = Kept { losses: losses.saturating_add(1), end: *end, is_accepted: true };
            state.unwritten.push_str(&line(chain, kept));
        }
        self.write(&mut state)
    }

    /// The state that the file has now.
    fn current(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let mut state = self.lock();
        self.write(&mut state)?;
        self.read(&mut state).map_err(|error| self.error(&error))?;
        Ok(state)
    }

    fn read(&self, state: &mut State) -> io::Result<()> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let found = Extent::of(&file)?;
        if state.read == Some(found) {
            return Ok(());
        }
        let from = state.read.filter(|read| read.file == found.file && read.bytes <= found.bytes);
        let from = from.map_or(0, |read| read.bytes);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(found.bytes.saturating_sub(from)).read_to_end(&mut bytes)?;
        // A line that is being written is read once it is whole.
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        bytes.truncate(whole);
        state.take_in(&bytes);
        state.read = Some(Extent { bytes: from.saturating_add(whole as u64), ..found });
        Ok(())
    }

    /// Appends what is not written yet.
    fn write(&self, state: &mut State) -> Result<(), StoreError> {
        if state.unwritten.is_empty() {
            return Ok(());
        }
        self.append(state).map_err(|error| self.error(&error))
    }

    fn append(&self, state: &mut State) -> io::Result<()> {
        // Each group begins a line of its own, whatever a crash has left before it.
        let text = format!("\n{}", state.unwritten);
        for _ in 0..TRIES {
            let mut file = self.open_to_append()?;
            file.write_all(text.as_bytes())?;
            // A file that was replaced meanwhile may have been read before this was in it.
            if !self.is_there(&file) {
                continue;
            }
            state.unwritten.clear();
            self.read(state)?;
            if file.metadata()?.len() > MAX_BYTES {
                // A file that stays long is shortened by the next one.
                drop(self.shorten(state));
            }
            return Ok(());
        }
        Err(io::Error::other("it is replaced again and again"))
    }

    fn open_to_append(&self) -> io::Result<File> {
        let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path);
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = self.path.parent().unwrap_or(Path::new("."));
                DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
                open()
            }
            opened => opened,
        }
    }

    fn is_there(&self, file: &File) -> bool {
        let identity = |of: io::Result<fs::Metadata>| of.ok().map(|of| (of.dev(), of.ino()));
        identity(fs::metadata(&self.path)) == identity(file.metadata())
    }

    /// Puts a file with the last line of each chain in the place of the file.
    fn shorten(&self, state: &mut State) -> io::Result<()> {
        let beside = self.path.with_extension("new");
        let age = fs::metadata(&beside).and_then(|left| left.modified()).ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > ABANDONED) {
            fs::remove_file(&beside)?;
        }
        // Only one process at a time replaces the file.
        let mut new = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&beside)?;
        let replaced = self.replace(state, &mut new, &beside);
        if replaced.is_err() {
            drop(fs::remove_file(&beside));
        }
        replaced
    }

    fn replace(&self, state: &mut State, new: &mut File, beside: &Path) -> io::Result<()> {
        let mut old = File::open(&self.path)?;
        self.read(state)?;
        let read = state.read.map_or(0, |read| read.bytes);
        state.forget();
        let mut lines: Vec<_> = state.kept.iter().collect();
        lines.sort_by_key(|(_, dated)| dated.line);
        let text: String = lines.into_iter().map(|(chain, dated)| line(chain, dated.kept)).collect();
        new.write_all(text.as_bytes())?;
        fs::rename(beside, &self.path)?;
        // What was appended to the old file since it was read. Who appends to it from here on sees that it is replaced.
        old.seek(SeekFrom::Start(read))?;
        let mut since = Vec::new();
        old.read_to_end(&mut since)?;
        new.write_all(&since)
    }

    fn error(&self, error: &io::Error) -> StoreError {
        let path = self.path.display().to_string();
        StoreError::Ends { place: self.place.clone(), path, reason: error.to_string() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // What it has may be incomplete after a panic, and is read again.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Extent {
    fn of(file: &File) -> io::Result<Self> {
        let of = file.metadata()?;
        Ok(Self { file: (of.dev(), of.ino()), bytes: of.len() })
    }
}

impl State {
    fn take_in(&mut self, bytes: &[u8]) {
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let Some((chain, kept)) = read_line(line) else { continue };
            self.lines = self.lines.saturating_add(1);
            let line = self.lines;
            let dated = self.kept.entry(chain).or_insert(Dated { kept, line });
            dated.line = line;
            if kept.order() >= dated.kept.order() {
                dated.kept = kept;
            }
        }
    }

    /// Forgets the chains that were written longest ago, where there are too many.
    fn forget(&mut self) {
        let mut lines: Vec<u64> = self.kept.values().map(|dated| dated.line).collect();
        lines.sort_unstable_by_key(|line| std::cmp::Reverse(*line));
        let Some(oldest) = lines.get(MAX_KEPT_CHAINS.saturating_sub(1)).copied() else { return };
        self.kept.retain(|chain, dated| dated.line >= oldest || *chain == Chain::Decisions);
    }
}

impl Kept {
    /// Of two of one chain the greater one counts.
    fn order(&self) -> (u64, bool, u64) {
        (self.losses, !self.is_accepted, self.end.position)
    }
}

fn line(chain: &Chain, kept: Kept) -> String {
    let parts: Vec<&str> = match chain {
        Chain::Decisions => vec!["decisions"],
        Chain::Receipts(tenant, name) => vec!["receipts", tenant.as_str(), name],
        Chain::Session(tenant, session) => vec!["session", tenant.as_str(), session],
    };
    let Kept { losses, end, is_accepted } = kept;
    let mut line = object! {
        "chain": parts.into_iter().map(Json::from).collect::<Vec<_>>(),
        "position": end.position,
        "hash": end.hash.to_string(),
    };
    if losses > 0 {
        line.insert("losses", losses);
    }
    if is_accepted {
        line.insert("accepted", true);
    }
    line.to_text() + "\n"
}

/// What a line says, if it can be read.
fn read_line(line: &[u8]) -> Option<(Chain, Kept)> {
    let line = Json::parse(line).ok()?;
    let line = line.as_object()?;
    let count = |name: &str| line.get(name).and_then(|count| count.as_number()?.as_u64());
    let end = LostEnd { position: count("position")?, hash: line.get("hash")?.as_str()?.parse().ok()? };
    let is_accepted = line.get("accepted") == Some(&Json::Bool(true));
    let losses = if line.contains("losses") { count("losses")? } else { 0 };
    Some((read_chain(line)?, Kept { losses, end, is_accepted }))
}

fn read_chain(line: &Object) -> Option<Chain> {
    let parts: Vec<&str> = line.get("chain")?.as_array()?.iter().map(Json::as_str).collect::<Option<_>>()?;
    Some(match parts.as_slice() {
        ["decisions"] => Chain::Decisions,
        ["receipts", tenant, name] => Chain::Receipts(tenant.parse().ok()?, (*name).to_owned()),
        ["session", tenant, session] => Chain::Session(tenant.parse().ok()?, (*session).to_owned()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proofmark_receipt::{ReceiptId, Sha256Digest};

    use super::*;
    use crate::tenant::Tenant;

    fn ends(folder: &Path) -> Ends {
        Ends::at(&folder.join("ends"), Place::parse("store.db"), &"0f".repeat(16)).unwrap()
    }

    fn tip(position: u64) -> ChainTip {
        let hash = Sha256Digest::of(&position.to_be_bytes());
        ChainTip { receipt_id: ReceiptId::from_random_bytes([0x44; 16]), hash, position }
    }

    fn advance(ends: &Ends, chain: &Chain, position: u64) {
        ends.advance([(chain, &tip(position))].into_iter());
    }

    fn position(ends: &Ends, chain: &Chain) -> Option<u64> {
        ends.of(std::slice::from_ref(chain)).unwrap().get(chain).map(|kept| kept.end.position)
    }

    #[test]
    fn the_greatest_position_counts_whatever_the_order() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (ends(folder.path()), ends(folder.path()));
        assert_eq!(position(&one, &Chain::Decisions), None);
        for (of, at) in [(&one, 3), (&other, 5), (&one, 4)] {
            advance(of, &Chain::Decisions, at);
        }
        assert_eq!([&one, &other].map(|ends| position(ends, &Chain::Decisions)), [Some(5); 2]);
    }

    #[test]
    fn half_a_line_says_nothing_and_hides_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let ends = ends(folder.path());
        advance(&ends, &Chain::Decisions, 3);
        let mut file = OpenOptions::new().append(true).open(&ends.path).unwrap();
        file.write_all(b"{\"chain\":[\"decisions\"],\"position\":9").unwrap();
        assert_eq!(position(&ends, &Chain::Decisions), Some(3));
        advance(&ends, &Chain::Decisions, 4);
        assert_eq!(position(&ends, &Chain::Decisions), Some(4));
    }

    #[test]
    fn a_loss_counts_until_the_chain_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let (ends, chain) = (ends(folder.path()), Chain::Session(Tenant::LOCAL, "s\n\"1".to_owned()));
        advance(&ends, &chain, 8);
        ends.accept(ends.all().unwrap().iter()).unwrap();
        let kept = ends.of(std::slice::from_ref(&chain)).unwrap()[&chain];
        assert!(kept.is_accepted && kept.end.position == 8);
        advance(&ends, &chain, 6);
        let kept = ends.of(std::slice::from_ref(&chain)).unwrap()[&chain];
        assert!(!kept.is_accepted && kept.end.position == 6);
    }

    #[test]
    fn a_long_file_becomes_short_and_keeps_every_end() {
        let folder = tempfile::tempdir().unwrap();
        let chains: Vec<_> = (0..20).map(|n| Chain::Receipts(Tenant::LOCAL, format!("{n:0>100}"))).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let ends = ends(folder.path());
                    for at in 0..100 {
                        let tip = tip(at);
                        ends.advance(chains.iter().map(|chain| (chain, &tip)));
                    }
                });
            }
        });
        let ends = ends(folder.path());
        assert!(chains.iter().all(|chain| position(&ends, chain) == Some(99)));
        assert!(fs::metadata(&ends.path).unwrap().len() < MAX_BYTES + (64 << 10));
    }

    #[test]
    fn of_too_many_chains_the_oldest_are_forgotten() {
        let mut state = State::default();
        state.take_in(line(&Chain::Decisions, kept(1)).as_bytes());
        for number in 0..=MAX_KEPT_CHAINS {
            let chain = Chain::Session(Tenant::LOCAL, number.to_string());
            state.take_in(line(&chain, kept(number as u64)).as_bytes());
        }
        state.forget();
        assert_eq!(state.kept.len(), MAX_KEPT_CHAINS + 1);
        assert!(!state.kept.contains_key(&Chain::Session(Tenant::LOCAL, "0".to_owned())));
    }

    fn kept(position: u64) -> Kept {
        let ChainTip { position, hash, .. } = tip(position);
        Kept { losses: 0, end: LostEnd { position, hash }, is_accepted: false }
    }
}
