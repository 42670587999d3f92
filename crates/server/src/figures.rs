//! Counters, gauges and histograms of this process, written as Prometheus reads them (text format, 0.0.4).

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use metrics::{Counter, Gauge, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder, SharedString, Unit};

/// All figures, by their names.
pub(crate) struct Figures {
    /// The upper bounds of histograms, by their names; of all others where there is no name.
    bounds: &'static [(Option<&'static str>, &'static [f64])],
    families: Mutex<BTreeMap<String, Family>>,
}

/// The figures of one name, by their labels as they are written.
enum Family {
    Counters(BTreeMap<String, Arc<AtomicU64>>),
    /// The bits of a number.
    Gauges(BTreeMap<String, Arc<AtomicU64>>),
    Histograms(BTreeMap<String, Arc<Samples>>),
}

/// The samples of a histogram.
struct Samples {
    bounds: &'static [f64],
    sums: Mutex<Sums>,
}

#[derive(Clone, Default)]
struct Sums {
    /// How many samples are within each bound, and not within the one before it.
    within: Vec<u64>,
    count: u64,
    sum: f64,
}

impl Figures {
    pub(crate) fn new(bounds: &'static [(Option<&'static str>, &'static [f64])]) -> Arc<Self> {
        Arc::new(Self { bounds, families: Mutex::default() })
    }

    /// The text of all figures.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        for (name, family) in self.families().iter() {
            // Writing into a text does not fail.
            let _ = family.write(name, &mut text);
        }
        text
    }

    fn families(&self) -> MutexGuard<'_, BTreeMap<String, Family>> {
        self.families.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bounds_of(&self, name: &str) -> &'static [f64] {
        let of_name = self.bounds.iter().find(|(known, _)| known.is_none_or(|known| known == name));
        of_name.map_or(&[], |(_, bounds)| bounds)
    }
}

impl Family {
    fn write(&self, name: &str, text: &mut String) -> fmt::Result {
        match self {
            Self::Counters(counters) => {
                writeln!(text, "# TYPE {name} counter")?;
                for (labels, counter) in counters {
                    writeln!(text, "{name}{} {}", braced(labels), counter.load(Ordering::Relaxed))?;
                }
            }
            Self::Gauges(gauges) => {
                writeln!(text, "# TYPE {name} gauge")?;
                for (labels, gauge) in gauges {
                    writeln!(text, "{name}{} {}", braced(labels), f64::from_bits(gauge.load(Ordering::Relaxed)))?;
                }
            }
            Self::Histograms(histograms) => {
                writeln!(text, "# TYPE {name} histogram")?;
                for (labels, samples) in histograms {
                    samples.write(name, labels, text)?;
                }
            }
        }
        writeln!(text)
    }
}

impl Samples {
    fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, sums: Mutex::new(Sums { within: vec![0; bounds.len()], ..Sums::default() }) }
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, name: &str, labels: &str, text: &mut String) -> fmt::Result {
        let Sums { within, count, sum } = self.sums().clone();
        let comma = if labels.is_empty() { "" } else { "," };
        let mut up_to = 0;
        for (bound, within) in self.bounds.iter().zip(within) {
            // Each bucket counts what is in those below it, too.
            up_to += within;
            writeln!(text, r#"{name}_bucket{{{labels}{comma}le="{bound}"}} {up_to}"#)?;
        }
        writeln!(text, r#"{name}_bucket{{{labels}{comma}le="+Inf"}} {count}"#)?;
        writeln!(text, "{name}_sum{} {sum}", braced(labels))?;
        writeln!(text, "{name}_count{} {count}", braced(labels))
    }
}

impl HistogramFn for Samples {
    fn record(&self, value: f64) {
        let mut sums = self.sums();
        let bucket = self.bounds.iter().position(|bound| value <= *bound);
        if let Some(within) = bucket.and_then(|bucket| sums.within.get_mut(bucket)) {
            *within += 1;
        }
        sums.count += 1;
        sums.sum += value;
    }
}

impl Recorder for Figures {
    // The pages of this project describe its figures.
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        let mut families = self.families();
        let family = families.entry(key.name().to_owned()).or_insert_with(|| Family::Counters(BTreeMap::new()));
        match family {
            Family::Counters(counters) => Counter::from_arc(Arc::clone(counters.entry(labels(key)).or_default())),
            // Two kinds of one name would make the whole text invalid for its reader.
            Family::Gauges(_) | Family::Histograms(_) => Counter::noop(),
        }
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        let mut families = self.families();
        let family = families.entry(key.name().to_owned()).or_insert_with(|| Family::Gauges(BTreeMap::new()));
        match family {
            Family::Gauges(gauges) => Gauge::from_arc(Arc::clone(gauges.entry(labels(key)).or_default())),
            Family::Counters(_) | Family::Histograms(_) => Gauge::noop(),
        }
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        let mut families = self.families();
        let family = families.entry(key.name().to_owned()).or_insert_with(|| Family::Histograms(BTreeMap::new()));
        match family {
            Family::Histograms(histograms) => {
                let bounds = self.bounds_of(key.name());
                let samples = histograms.entry(labels(key)).or_insert_with(|| Arc::new(Samples::new(bounds)));
                Histogram::from_arc(Arc::clone(samples))
            }
            Family::Counters(_) | Family::Gauges(_) => Histogram::noop(),
        }
    }
}

/// The labels as they are written, without braces.
fn labels(key: &Key) -> String {
    let written = key.labels().map(|label| {
        let value = label.value().replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
        format!(r#"{}="{value}""#, label.key())
    });
    written.collect::<Vec<_>>().join(",")
}

fn braced(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!("{{{labels}}}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_as_prometheus_reads_them() {
        let figures = Figures::new(&[(Some("size"), &[1.0, 2.5]), (None, &[0.5])]);
        metrics::with_local_recorder(&figures, || {
            metrics::counter!("asked_total", "path" => "/a\"b\\", "status" => "200").increment(2);
            metrics::counter!("asked_total", "path" => "/", "status" => "200").increment(1);
            metrics::gauge!("waiting").set(1.5);
            metrics::gauge!("waiting").set(0.0);
            for size in [0.5, 2.5, 9.0] {
                metrics::histogram!("size").record(size);
            }
            metrics::histogram!("seconds", "path" => "/").record(0.25);
            // A name of another kind changes nothing.
            metrics::gauge!("asked_total").set(1.0);
        });
        let text = r##"# TYPE asked_total counter
asked_total{path="/",status="200"} 1
asked_total{path="/a\"b\\",status="200"} 2

# TYPE seconds histogram
seconds_bucket{path="/",le="0.5"} 1
seconds_bucket{path="/",le="+Inf"} 1
seconds_sum{path="/"} 0.25
seconds_count{path="/"} 1

# TYPE size histogram
size_bucket{le="1"} 1
size_bucket{le="2.5"} 2
size_bucket{le="+Inf"} 3
size_sum 12
size_count 3

# TYPE waiting gauge
waiting 0

"##;
        assert_eq!(figures.text(), text);
    }
}
