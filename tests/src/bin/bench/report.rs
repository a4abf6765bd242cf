//! Samples, ratios, and the table that shows them.

use std::fmt;
use std::time::Duration;

use anyhow::Result;

use crate::contestant::Contestant;
use crate::measure::{self, Sample, Work};

/// What the host may take with four components, in KiB.
const MEMORY_TARGET_KIB: u64 = 6 * 1024;

/// From a runtime that listens again to four components active.
const RECONNECT_TARGET: Duration = Duration::from_millis(15);

/// The same work for each contestant; the first is the one that the others are
/// compared with.
#[derive(Debug)]
pub(crate) struct Race {
    pub(crate) what: &'static str,
    work: Work,
    plugins: u8,
    contestants: Vec<Contestant>,
    /// The largest ratio that nri-host may have.
    target: f64,
    /// One list a contestant, one sample a round.
    samples: Vec<Vec<Sample>>,
}

impl Race {
    pub(crate) fn new(
        what: &'static str,
        work: Work,
        plugins: u8,
        contestants: Vec<Contestant>,
        target: f64,
    ) -> Self {
        let samples = vec![Vec::new(); contestants.len()];
        Self {
            what,
            work,
            plugins,
            contestants,
            target,
            samples,
        }
    }

    fn add_round(&mut self, round: usize) -> Result<()> {
        for turn in 0..self.contestants.len() {
            // Who begins changes with the round.
            let who = (turn + round) % self.contestants.len();
            let sample = measure::turn(self.contestants[who], self.plugins, self.work)?;
            self.samples[who].push(sample);
        }
        Ok(())
    }

    /// The median over the rounds of a contestant's value by that of the first.
    fn ratio(&self, who: usize, value: impl Fn(&Sample) -> Duration) -> f64 {
        let pairs = self.samples[who].iter().zip(&self.samples[0]);
        let ratios =
            pairs.map(|(own, floor)| value(own).as_secs_f64() / value(floor).as_secs_f64());
        median(ratios.collect())
    }

    /// The median over the rounds, in microseconds.
    fn micros(&self, who: usize) -> f64 {
        median(
            self.samples[who]
                .iter()
                .map(|sample| sample.p50.as_secs_f64() * 1e6)
                .collect(),
        )
    }

    /// The ratio of nri-host, which comes last.
    fn host_ratio(&self) -> f64 {
        self.ratio(self.contestants.len() - 1, |sample| sample.p50)
    }

    fn is_met(&self) -> bool {
        self.host_ratio() <= self.target
    }

    /// Time and ratio of the contestant with this name, if it takes part.
    fn cell(&self, name: &str) -> String {
        let Some(who) = self.contestants.iter().position(|c| c.name() == name) else {
            return String::new();
        };
        let time = format!("{:>8.0} µs", self.micros(who));
        if who == 0 {
            return time;
        }
        let (p50, p90) = (self.ratio(who, |s| s.p50), self.ratio(who, |s| s.p90));
        match self.work {
            Work::Calls(_) => format!("{time} {p50:>6.2} {p90:>6.2}"),
            Work::Synchronize { .. } => format!("{time} {p50:>6.2}"),
        }
    }
}

/// Everything that was measured.
#[derive(Debug)]
pub(crate) struct Report {
    races: Vec<Race>,
    /// What, KiB, and whether the target applies.
    memory: Vec<(&'static str, u64, bool)>,
    /// What, and the times taken.
    reconnecting: Vec<(&'static str, Vec<Duration>)>,
    /// What, and the wake-ups in a minute.
    idle: Vec<(&'static str, u64)>,
}

impl Report {
    pub(crate) fn new(races: Vec<Race>) -> Self {
        Self {
            races,
            memory: Vec::new(),
            reconnecting: Vec::new(),
            idle: Vec::new(),
        }
    }

    pub(crate) fn add_round(&mut self, round: usize) -> Result<()> {
        self.races
            .iter_mut()
            .try_for_each(|race| race.add_round(round))
    }

    pub(crate) fn measure_memory(&mut self) -> Result<()> {
        let cases = [
            ("4 bare responders", Contestant::Floor, 4, false),
            ("4 Go plugins", Contestant::Go, 4, false),
            (
                "nri-host, device injector and logger",
                Contestant::Both,
                2,
                true,
            ),
            (
                "nri-host, 4 device injectors",
                Contestant::Injectors,
                4,
                true,
            ),
            (
                "nri-host, 2 device injectors, 2 loggers",
                Contestant::Both,
                4,
                true,
            ),
            ("nri-host, the 4 built-in", Contestant::BuiltIn, 4, true),
        ];
        for (what, contestant, count, limited) in cases {
            self.memory
                .push((what, measure::memory(contestant, count)?, limited));
        }
        Ok(())
    }

    pub(crate) fn measure_reconnecting(&mut self) -> Result<()> {
        let cases = [
            ("after a restart", Duration::ZERO, 50),
            ("after 3 s away", Duration::from_secs(3), 5),
        ];
        for (what, away, times) in cases {
            self.reconnecting
                .push((what, measure::reconnecting(4, away, times)?));
        }
        Ok(())
    }

    pub(crate) fn measure_idleness(&mut self) -> Result<()> {
        let cases = [
            ("4 Go plugins", Contestant::Go),
            ("nri-host, 4 device injectors", Contestant::Injectors),
        ];
        for (what, contestant) in cases {
            self.idle
                .push((what, measure::idle_wakeups(contestant, 4)?));
        }
        Ok(())
    }

    /// Whether nri-host met every target.
    pub(crate) fn all_met(&self) -> bool {
        self.races.iter().all(Race::is_met)
            && self
                .memory
                .iter()
                .all(|(_, kib, limited)| !limited || *kib <= MEMORY_TARGET_KIB)
            && self
                .reconnecting
                .iter()
                .all(|(_, taken)| median_time(taken) <= RECONNECT_TARGET)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "p50 as the runtime sees it; ratios of p50 and p90 to the bare responder's\n"
        )?;
        let names =
            [Contestant::Floor, Contestant::Go, Contestant::Injectors].map(Contestant::name);
        writeln!(
            f,
            "{:<32}{:>14}  {:<27}{:<27}target",
            "", names[0], names[1], names[2]
        )?;
        for race in &self.races {
            let [floor, go, host] = names.map(|name| race.cell(name));
            let verdict = verdict(race.is_met());
            writeln!(
                f,
                "{:<32}{floor:>14}  {go:<27}{host:<27}{:.2} {verdict}",
                race.what, race.target
            )?;
        }
        if self.memory.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nmemory (PSS)")?;
        for (what, kib, limited) in &self.memory {
            write!(f, "{what:<40}{kib:>8} KiB")?;
            if *limited {
                write!(
                    f,
                    "  target {MEMORY_TARGET_KIB} {}",
                    verdict(*kib <= MEMORY_TARGET_KIB)
                )?;
            }
            writeln!(f)?;
        }
        writeln!(f, "\nfrom a listening runtime to 4 components active")?;
        for (what, taken) in &self.reconnecting {
            let (median, worst) = (
                median_time(taken),
                taken.iter().max().copied().unwrap_or_default(),
            );
            writeln!(
                f,
                "{what:<40}{:>8.1} ms, at worst {:.1} ms  target {} {}",
                median.as_secs_f64() * 1e3,
                worst.as_secs_f64() * 1e3,
                RECONNECT_TARGET.as_millis(),
                verdict(median <= RECONNECT_TARGET)
            )?;
        }
        writeln!(f, "\nwake-ups in a minute without calls")?;
        for (what, wakeups) in &self.idle {
            writeln!(f, "{what:<40}{wakeups:>8}")?;
        }
        Ok(())
    }
}

fn verdict(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

fn median_time(taken: &[Duration]) -> Duration {
    Duration::from_secs_f64(median(taken.iter().map(Duration::as_secs_f64).collect()))
}

/// The middle value; of an even number of values the lower of the two.
///
/// # Panics
///
/// If there is none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() - 1) / 2]
}
