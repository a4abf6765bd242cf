//! What becomes of which component: those that there are, against those that the files describe.
//! Pure.

use crate::config::{BrokenComponent, ComponentConfig, Mistake};

/// A component that there is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub(super) config: &'a ComponentConfig,
    /// It is not switched off.
    pub(super) runs: bool,
}

/// What becomes of components. Whoever there is is named by its place.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// They are described; by these, if they were there before.
    pub(super) described: Vec<(Option<usize>, ComponentConfig)>,
    /// Nobody knows what they are to be, so they stay as they are, for this reason.
    pub(super) kept: Vec<(usize, String)>,
    /// They are described no more.
    pub(super) gone: Vec<usize>,
    /// They are described so badly that they cannot be run, and were not there before.
    pub(super) broken: Vec<BrokenComponent>,
}

/// A component is known by its name and index; by its name alone if only its index is another.
pub(super) fn plan(
    known: &[Known<'_>],
    described: &[ComponentConfig],
    broken: &[BrokenComponent],
) -> Plan {
    let mut plan = Plan::default();
    let mut left: Vec<usize> = (0..known.len()).collect();
    for broken in broken {
        let meant = meant_by(broken, known, described);
        let runs = meant.iter().any(|&place| known[place].runs);
        let kept = meant.into_iter().filter(|place| left.contains(place));
        plan.kept.extend(kept.map(|place| (place, broken.reason())));
        left.retain(|place| plan.kept.iter().all(|(kept, _)| kept != place));
        if broken.name.is_none() || !runs {
            plan.broken.push(broken.clone());
        }
    }
    let is_kept = |config: &&ComponentConfig| {
        let mut kept = plan.kept.iter();
        kept.any(|(place, _)| is_same(known[*place].config, config))
    };
    let (same, other): (Vec<_>, Vec<_>) = described
        .iter()
        .filter(|config| !is_kept(config))
        .partition(|config| known.iter().any(|known| is_same(known.config, config)));
    for config in same {
        let place = left
            .iter()
            .position(|&place| is_same(known[place].config, config));
        plan.described
            .push((place.map(|at| left.remove(at)), config.clone()));
    }
    for config in other {
        let mut candidates =
            (0..left.len()).filter(|&at| known[left[at]].config.name == config.name);
        let only = candidates.next().filter(|_| candidates.next().is_none());
        plan.described
            .push((only.map(|at| left.remove(at)), config.clone()));
    }
    plan.gone = left;
    plan
}

/// Those that a description is about which cannot be used.
fn meant_by(
    broken: &BrokenComponent,
    known: &[Known<'_>],
    described: &[ComponentConfig],
) -> Vec<usize> {
    let all = 0..known.len();
    let Some(name) = &broken.name else {
        // Of a file nothing could be read: whoever it had a part in. Or it holds a table that may have
        // been meant to be a component: whoever is missed.
        let is_meant = |config: &ComponentConfig, mistake: &Mistake| {
            let is_missed = || described.iter().all(|other| !is_same(config, other));
            config.origin.is_from(&mistake.location.file) && (mistake.key.is_empty() || is_missed())
        };
        return all
            .filter(|&place| {
                let mut mistakes = broken.mistakes.iter();
                mistakes.any(|mistake| is_meant(known[place].config, mistake))
            })
            .collect();
    };
    let named: Vec<usize> = all
        .filter(|&place| known[place].runs && known[place].config.name == *name)
        .collect();
    let with_index = |place: &&usize| broken.index == Some(known[**place].config.index);
    match named.iter().find(with_index) {
        Some(&place) => vec![place],
        // Others of this name that are described well are not meant.
        None => named
            .into_iter()
            .filter(|&place| {
                let config = known[place].config;
                described.iter().all(|other| !is_same(config, other))
            })
            .collect(),
    }
}

fn is_same(one: &ComponentConfig, other: &ComponentConfig) -> bool {
    (one.index, &one.name) == (other.index, &other.name)
}

#[cfg(test)]
mod tests;
