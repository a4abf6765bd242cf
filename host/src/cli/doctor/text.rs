//! The report of the doctor for a person.

use anstyle::Style;

use super::super::terminal::{BAD, DOUBTFUL, GOOD, Screen, UNIMPORTANT, plain};
use crate::doctor::{Finding, Level, Report, Step};

/// Columns where the terminal does not say how many it has.
const USUAL_WIDTH: usize = 80;
/// Where text begins, behind the level.
const MARGIN: usize = 9;
const BULLET: &str = "         - ";
/// What is to be typed as it stands is set off further.
const QUOTE: &str = "             ";

/// The report in lines.
pub(super) fn text(report: &Report, screen: &Screen) -> String {
    let screen = Screen {
        width: Some(screen.width.unwrap_or(USUAL_WIDTH)),
        ..*screen
    };
    let mut lines = Vec::new();
    for finding in &report.findings {
        add(&mut lines, finding, &screen);
    }
    let counts = [
        (Level::Problem, "problem", "problems"),
        (Level::Warning, "warning", "warnings"),
        (Level::Unknown, "unknown", "unknown"),
        (Level::Ok, "ok", "ok"),
    ];
    let counts = counts.map(|(level, one, many)| match report.count(level) {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    });
    lines.push(counts.join(", "));
    lines.join("\n") + "\n"
}

fn add(lines: &mut Vec<String>, finding: &Finding, screen: &Screen) {
    let (word, style) = word(finding.level);
    let what = match finding.level {
        Level::Ok => finding.what.clone(),
        _ => format!("{} [{}]", finding.what, finding.code),
    };
    let first = format!("{word:MARGIN$}");
    let mut wrapped = wrap(screen, &what, &first);
    if let Some(rest) = wrapped.first().and_then(|line| line.strip_prefix(word)) {
        wrapped[0] = screen.paint(word, style).into_owned() + rest;
    }
    lines.append(&mut wrapped);
    if let Some(why) = &finding.why {
        lines.extend(wrap(screen, why, &" ".repeat(MARGIN)));
    }
    for step in &finding.steps {
        match step {
            Step::Say { say } => lines.extend(wrap(screen, say, BULLET)),
            Step::Run { run } => {
                lines.push(format!("{BULLET}run"));
                quote(lines, run);
            }
            Step::Put { file, put } => {
                lines.push(format!(
                    "{BULLET}put into {}",
                    plain(&file.display().to_string())
                ));
                quote(lines, put);
            }
        }
    }
}

fn word(level: Level) -> (&'static str, Style) {
    match level {
        Level::Ok => ("ok", GOOD),
        Level::Unknown => ("unknown", UNIMPORTANT),
        Level::Warning => ("warning", DOUBTFUL),
        Level::Problem => ("problem", BAD),
    }
}

/// `text` behind `first`, and whatever does not fit into the line below it.
fn wrap(screen: &Screen, text: &str, first: &str) -> Vec<String> {
    screen.wrap(&plain(text), first, first.len(), usize::MAX)
}

/// As it stands, for copying.
fn quote(lines: &mut Vec<String>, text: &str) {
    lines.extend(text.lines().map(|line| match line {
        "" => String::new(),
        line => format!("{QUOTE}{}", plain(line)),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let ok = Finding {
            code: "runtime",
            level: Level::Ok,
            what: "containerd 2.4.2 runs".to_owned(),
            why: None,
            steps: Vec::new(),
        };
        let problem = Finding {
            code: "nri-disabled",
            level: Level::Problem,
            what: format!("NRI is off {}now", "for long ".repeat(20)),
            why: Some("somebody\x1b[31m switched it off".to_owned()),
            steps: vec![
                Step::Put {
                    file: "/etc/containerd/config.toml".into(),
                    put: "[table]\n\n  key = 1".to_owned(),
                },
                Step::Run {
                    run: "systemctl restart containerd".to_owned(),
                },
            ],
        };
        Report::new(vec![ok, problem])
    }

    fn shown(colours: bool) -> String {
        let screen = Screen {
            width: None,
            height: None,
            colours,
        };
        text(&report(), &screen)
    }

    #[test]
    fn text_is_broken_at_80_columns_and_what_is_typed_is_not() {
        let text = shown(false);
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(text.starts_with("ok       containerd 2.4.2 runs\nproblem  NRI is off for"));
        assert!(text.contains("\n         long for long"), "{text}");
        assert!(text.contains("now [nri-disabled]\n"), "{text}");
        let quoted = "         - put into /etc/containerd/config.toml\n             [table]\n\n               \
                      key = 1\n         - run\n             systemctl restart containerd\n";
        assert!(text.contains(quoted), "{text}");
        assert!(text.ends_with("1 problem, 0 warnings, 0 unknown, 1 ok\n"));
    }

    #[test]
    fn only_our_own_colours_reach_the_terminal() {
        assert!(!shown(false).contains('\x1b'));
        let coloured = shown(true);
        let painted = format!("{BAD}problem{BAD:#}  NRI is off");
        assert!(coloured.contains(&painted), "{coloured}");
        assert!(!coloured.contains("somebody\x1b"), "{coloured}");
    }
}
