//! Contenders measured in turns, so that a noisy moment of the machine does not fall on one alone.
//!
//! It depends on no crate of the project, so that the benchmarks outside the workspace can use it as well.

mod processor;
mod table;

use std::time::{Duration, Instant};

pub use processor::{of_process, of_this_process, of_this_process_and_descendants};
pub use table::Table;

/// How many turns each contender gets, unless a benchmark says more.
pub const TURNS: usize = 5;

/// What one turn of a contender did and took.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// How many units of work were done.
    pub done: u64,
    /// How long it took.
    pub wall: Duration,
    /// The processor time, user and system, of all processes that took part.
    pub processor: Duration,
    /// How long single units waited for their answer, where that was measured.
    pub waits: Option<Waits>,
}

/// How long single units of a turn waited.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// Half of them waited at most this long.
    pub median: Duration,
    /// 99 of 100 waited at most this long.
    pub p99: Duration,
}

impl Turn {
    /// Repeats `work`, which returns how many units it did, for at least `least` of time. The processor time is that of
    /// this process and of the children that it waited for.
    ///
    /// # Errors
    /// The first error of `work`, or an unreadable `/proc`.
    pub fn of(least: Duration, work: impl FnMut() -> anyhow::Result<u64>) -> anyhow::Result<Turn> {
        Turn::of_processes(least, of_this_process, work)
    }

    /// As [`Turn::of`], where `processor` reads the processor time that counts, before and after.
    ///
    /// # Errors
    /// As [`Turn::of`], and what `processor` returns.
    pub fn of_processes(
        least: Duration,
        processor: impl Fn() -> anyhow::Result<Duration>,
        mut work: impl FnMut() -> anyhow::Result<u64>,
    ) -> anyhow::Result<Turn> {
        let (before, started) = (processor()?, Instant::now());
        let mut done = 0;
        while started.elapsed() < least {
            done += work()?;
        }
        let wall = started.elapsed();
        Ok(Turn { done, wall, processor: processor()?.saturating_sub(before), waits: None })
    }
}

/// Something that is measured beside others.
pub struct Contender<'a> {
    name: String,
    turn: Box<dyn FnMut() -> anyhow::Result<Turn> + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender whose turns are made by `turn`.
    pub fn new(name: impl Into<String>, turn: impl FnMut() -> anyhow::Result<Turn> + 'a) -> Self {
        Self { name: name.into(), turn: Box::new(turn) }
    }

    /// A contender whose turn repeats `work` for at least `least` of time, as [`Turn::of`] does.
    pub fn repeating(
        name: impl Into<String>,
        least: Duration,
        mut work: impl FnMut() -> anyhow::Result<u64> + 'a,
    ) -> Self {
        Self::new(name, move || Turn::of(least, &mut work))
    }
}

/// The medians of a contender's turns, each of its own: they need not be from the same turn.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The contender.
    pub name: String,
    /// Units a second.
    pub each_second: f64,
    /// Processor time a unit, in microseconds.
    pub processor_micros: f64,
    /// The waits, where they were measured.
    pub waits: Option<Waits>,
}

impl Measured {
    /// Wall time a unit, in microseconds, where units follow each other.
    pub fn wall_micros(&self) -> f64 {
        1e6 / self.each_second
    }
}

/// Measures all contenders `turns` times, one after the other in each round, and returns them in their order.
///
/// # Errors
/// The first error of a contender.
pub fn in_turns(turns: usize, mut contenders: Vec<Contender<'_>>) -> anyhow::Result<Vec<Measured>> {
    let mut taken: Vec<Vec<Turn>> = contenders.iter().map(|_| Vec::new()).collect();
    for _ in 0..turns {
        for (contender, taken) in contenders.iter_mut().zip(&mut taken) {
            taken.push((contender.turn)()?);
        }
    }
    Ok(contenders.into_iter().zip(taken).map(|(contender, taken)| measured(contender.name, &taken)).collect())
}

fn measured(name: String, turns: &[Turn]) -> Measured {
    let median_of = |figure: &dyn Fn(&Turn) -> f64| median(turns.iter().map(figure).collect());
    let waits = |figure: fn(&Waits) -> Duration| {
        Duration::from_secs_f64(median(
            turns.iter().filter_map(|turn| Some(figure(turn.waits.as_ref()?).as_secs_f64())).collect(),
        ))
    };
    Measured {
        name,
        each_second: median_of(&|turn| turn.done as f64 / turn.wall.as_secs_f64()),
        processor_micros: median_of(&|turn| turn.processor.as_secs_f64() * 1e6 / turn.done.max(1) as f64),
        waits: turns
            .iter()
            .all(|turn| turn.waits.is_some())
            .then(|| Waits { median: waits(|waits| waits.median), p99: waits(|waits| waits.p99) }),
    }
}

/// The median of figures; 0 if there are none.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match (figures.get(middle.wrapping_sub(1)), figures.get(middle)) {
        (Some(below), Some(above)) if figures.len().is_multiple_of(2) => f64::midpoint(*below, *above),
        (_, Some(middle)) => *middle,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert!(median(vec![9.0, 1.0, 2.0]).total_cmp(&2.0).is_eq());
        assert!(median(vec![4.0, 1.0, 2.0, 9.0]).total_cmp(&3.0).is_eq());
        assert!(median(Vec::new()).total_cmp(&0.0).is_eq());
    }

    #[test]
    fn every_contender_takes_its_turn() -> anyhow::Result<()> {
        let turn = |done, millis| Turn {
            done,
            wall: Duration::from_millis(millis),
            processor: Duration::from_millis(millis),
            waits: None,
        };
        let rows = in_turns(
            3,
            vec![Contender::new("fast", || Ok(turn(100, 100))), Contender::new("slow", || Ok(turn(100, 200)))],
        )?;
        let printed = Table::beside("fast", "units").show(&rows);
        assert!(printed.contains("| slow |") && printed.contains("0.50"), "{printed}");
        Ok(())
    }
}
