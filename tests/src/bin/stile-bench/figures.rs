//! Figures and how they are printed.

use std::fmt;
use std::time::Duration;

/// Durations of one thing done many times.
#[derive(Debug, Default, Clone)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// Adds one.
    pub fn add(&mut self, one: Duration) {
        self.0.push(one);
    }

    /// The duration that a share of them, 0 to 1, does not exceed.
    pub fn quantile(&self, share: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1) as f64;
        sorted
            .get((last * share).round() as usize)
            .copied()
            .unwrap_or_default()
    }

    /// Median and 99th percentile, for people.
    pub fn summary(&self) -> String {
        format!(
            "p50 {}, p99 {}",
            time(self.quantile(0.5)),
            time(self.quantile(0.99))
        )
    }
}

/// A duration for people.
pub fn time(duration: Duration) -> String {
    let us = duration.as_secs_f64() * 1e6;
    match us {
        _ if us < 100.0 => format!("{us:.1} µs"),
        _ if us < 100_000.0 => format!("{:.2} ms", us / 1e3),
        _ => format!("{:.2} s", us / 1e6),
    }
}

struct Figure {
    what: String,
    measured: String,
    goal: String,
    met: Option<bool>,
}

/// All figures of a run.
#[derive(Default)]
pub struct Figures(Vec<Figure>);

impl Figures {
    /// A figure with its goal, and whether it is met.
    pub fn goal(&mut self, what: &str, measured: String, goal: &str, met: bool) {
        eprintln!("{what}: {measured}");
        let (what, goal) = (what.to_owned(), goal.to_owned());
        self.0.push(Figure {
            what,
            measured,
            goal,
            met: Some(met),
        });
    }

    /// A figure to compare with.
    pub fn beside(&mut self, what: &str, measured: String) {
        eprintln!("{what}: {measured}");
        self.0.push(Figure {
            what: what.to_owned(),
            measured,
            goal: String::new(),
            met: None,
        });
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| what | measured | goal | met |\n|---|---|---|---|")?;
        for figure in &self.0 {
            let met = match figure.met {
                Some(true) => "yes",
                Some(false) => "no",
                None => "",
            };
            writeln!(
                f,
                "| {} | {} | {} | {met} |",
                figure.what, figure.measured, figure.goal
            )?;
        }
        Ok(())
    }
}
