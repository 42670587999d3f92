//! What commands other than `serve` export to an OpenTelemetry collector. Their decisions and verifications do not wait for it.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::Context;
use proofmark_otlp::{Export, Flush, Kept, OtlpEndpoint};
use proofmark_server::{Log, LogFormat, LogLayer, LogSettings, start_log};

/// The log of this process, and its export. In this order: the end of the export may be logged.
pub(crate) struct Telling {
    _flush: Option<Flush>,
    _log: Log,
}

/// Begins to log on standard error, and to export to this collector. The rest is exported when the result is dropped.
pub(crate) fn tell(collector: Option<OtlpEndpoint>, format: LogFormat, detailed: bool) -> anyhow::Result<Telling> {
    let exported = collector.map(Export::start).transpose().context("start the export of the log")?;
    let (also, flush) = exported.map(|(export, flush)| (Box::new(export) as LogLayer, flush)).unzip();
    let log = start_log(LogSettings { format, detailed, also }).context("start the log")?;
    Ok(Telling { _flush: flush, _log: log })
}

/// As [`tell`], for a command that logs nothing by itself.
pub(crate) fn tell_only(collector: Option<&OtlpEndpoint>) -> anyhow::Result<Option<Telling>> {
    collector.map(|collector| tell(Some(collector.clone()), LogFormat::Text, false)).transpose()
}

/// The records of a process that ends at once, and their collector.
pub(crate) struct ToldLater {
    collector: OtlpEndpoint,
    kept: Kept,
    _log: Log,
}

/// Begins to keep records for this collector.
pub(crate) fn tell_later(collector: &OtlpEndpoint) -> anyhow::Result<ToldLater> {
    let (export, kept) = Export::keep();
    let settings = LogSettings { format: LogFormat::Text, detailed: false, also: Some(Box::new(export)) };
    Ok(ToldLater { collector: collector.clone(), kept, _log: start_log(settings).context("start the log")? })
}

impl ToldLater {
    /// Starts another process that exports the records, and does not wait for it.
    pub(crate) fn hand_over(self) -> anyhow::Result<()> {
        let Some(records) = self.kept.into_text() else { return Ok(()) };
        // This same program, even if its file was replaced meanwhile.
        let mut sender = Command::new("/proc/self/exe");
        sender.args(["hook", "send-records", "--otlp", self.collector.as_str()]).env_clear();
        // It holds nothing that the host waits for, and a signal to the hook's group does not end it.
        sender.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut sender = sender.spawn().context("start the process that exports")?;
        // They are shorter than what a pipe holds, so this does not wait.
        sender.stdin.take().map_or(Ok(()), |mut pipe| pipe.write_all(records.as_bytes())).context("export the records")
    }
}
