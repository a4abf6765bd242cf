//! Prometheus' own code, for what the host gives to it.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::go::{self, Module};

/// The release of Prometheus; `tests/prometheus/go.mod` has the same.
const VERSION: &str = "v0.311.0";

/// Samples of one name, as Prometheus reads them.
#[derive(Clone, Debug, Deserialize)]
pub struct Family {
    /// Their name, and in a histogram what those of its parts begin with.
    pub name: String,
    /// What Prometheus calls it: `counter`, for instance.
    #[serde(rename = "type")]
    pub kind: String,
    /// The line for people.
    pub help: String,
    /// Its samples.
    pub samples: Vec<Sample>,
}

/// A value with its labels.
#[derive(Clone, Debug, Deserialize)]
pub struct Sample {
    /// Name of the series.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value.
    pub value: f64,
}

/// All families of one answer.
#[derive(Clone, Debug)]
pub struct Metrics(pub Vec<Family>);

/// An alert.
#[derive(Clone, Debug, Deserialize)]
pub struct Alert {
    /// Its name.
    pub alert: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its texts.
    pub annotations: BTreeMap<String, String>,
    /// What its query asks for.
    pub selectors: Vec<Selector>,
    /// By what its query groups.
    pub grouping: Vec<String>,
}

/// Series that a query asks for.
#[derive(Clone, Debug, Deserialize)]
pub struct Selector {
    /// Their name.
    pub metric: String,
    /// Conditions on their labels.
    pub matchers: Vec<Matcher>,
}

/// A condition on a label.
#[derive(Clone, Debug, Deserialize)]
pub struct Matcher {
    /// The label.
    pub label: String,
    /// `=` or `=~`, for instance.
    pub op: String,
    /// What is on the right.
    pub value: String,
}

impl Metrics {
    /// Reads an answer as Prometheus does.
    ///
    /// # Errors
    ///
    /// What Prometheus would refuse.
    pub fn read(content_type: &str, body: &str) -> Result<Self> {
        reader(&["metrics", content_type], body).map(Self)
    }

    /// The value of a series with exactly these labels.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Result<f64> {
        let wanted: BTreeMap<_, _> = labels.iter().copied().collect();
        let is_wanted = |sample: &&Sample| {
            let labels = sample.labels.iter();
            sample.name == name
                && labels
                    .map(|(name, value)| (name.as_str(), value.as_str()))
                    .eq(wanted.clone())
        };
        let mut samples = self.0.iter().flat_map(|family| &family.samples);
        let sample = samples.find(is_wanted);
        Ok(sample
            .with_context(|| format!("no series {name} {labels:?}"))?
            .value)
    }
}

/// The alerts of a rule file.
///
/// # Errors
///
/// What Prometheus would refuse.
pub fn alerts(file: &Path) -> Result<Vec<Alert>> {
    let file = file.to_str().context("the path is not UTF-8")?;
    reader(&["rules", file], "")
}

fn reader<T: DeserializeOwned>(arguments: &[&str], input: &str) -> Result<T> {
    let program = go::build_local("prometheus", "prometheus")?.join("prometheus");
    let output = run(Command::new(program).args(arguments), input)?;
    serde_json::from_slice(&output.stdout).context("reading what was parsed")
}

/// Runs Prometheus' tool for admins, in the folder of the tests' files for it.
///
/// # Errors
///
/// When it cannot be built, or finds fault with something; the error has its words.
pub fn promtool(arguments: &[&str], input: &str) -> Result<()> {
    let module = Module {
        path: "github.com/prometheus/prometheus",
        version: VERSION,
        has_c: false,
        // The clients of all the clouds that a server can ask for its targets are most of it.
        tags: &["remove_all_sd"],
    };
    let folder = format!("promtool-{VERSION}");
    let program = go::build_published(&folder, module, &["cmd/promtool"])?;
    let mut command = Command::new(program.join("promtool"));
    command.args(arguments).current_dir(files());
    let output = run(&mut command, input)?;
    // Of what is merely bad style it only warns.
    let warnings = String::from_utf8_lossy(&output.stderr);
    ensure!(warnings.is_empty(), "{arguments:?}: {warnings}");
    Ok(())
}

/// The folder with files for [`promtool`].
#[must_use]
pub fn files() -> PathBuf {
    go::tests_dir().join("prometheus")
}

fn run(command: &mut Command, input: &str) -> Result<Output> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("running {command:?}"))?;
    let mut stdin = child.stdin.take().context("it is piped")?;
    let input = input.to_owned();
    // It may write before it has read all.
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output()?;
    let written = writer.join().expect("writing does not panic");
    ensure!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    written?;
    Ok(output)
}
