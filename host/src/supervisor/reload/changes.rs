//! Bringing about what was planned, component by component.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use super::plan::{Known, Plan};
use super::{ComponentReport, Outcome, Report};
use crate::component::inspect::Digest;
use crate::component::seat::Condition;
use crate::config::{ComponentConfig, plugin_name};
use crate::supervisor::kept_out::{Exclusion, kept_out_with};
use crate::supervisor::member::Member;
use crate::supervisor::{Absent, Supervisor, means};

/// Versions of its library that are loaded for a component, since none is ever unloaded; and threads
/// of it that never came back.
const MAX_GENERATIONS: usize = 16;

/// The libraries of all components that are to be run, or why they may not be loaded.
pub(super) type Libraries = BTreeMap<PathBuf, Result<Digest, String>>;

impl Supervisor {
    /// Who there is, each with its place among the members, or among the absent after those.
    pub(super) fn known(&self) -> impl Iterator<Item = (usize, Known<'_>)> {
        let members = self.members.iter().enumerate();
        let members = members.filter(|(_, member)| !member.leaves());
        let members = members.map(|(place, member)| (place, &member.config, true));
        let absent = self.absent.iter().enumerate();
        let absent = absent.filter_map(|(place, absent)| match absent {
            Absent::Disabled(config) => Some((self.members.len() + place, &**config, false)),
            Absent::Broken { .. } => None,
        });
        members
            .chain(absent)
            .map(|(place, config, runs)| (place, Known { config, runs }))
    }

    /// `places`: where those are that the plan knows by number.
    pub(super) fn carry_out(
        &mut self,
        plan: Plan,
        places: &[usize],
        libraries: &Libraries,
        report: &mut Report,
        now: Instant,
    ) {
        let running = self.members.len();
        let before = std::mem::take(&mut self.absent);
        let mut told = |component: String, outcome, reason: Option<String>| {
            report.components.push(ComponentReport {
                component,
                outcome,
                reason,
            });
        };
        for (number, reason) in plan.kept {
            match places[number].checked_sub(running) {
                None => self.members[places[number]].hold_back(reason),
                Some(place) => self.absent.push(before[place].clone()),
            }
        }
        for number in plan.gone {
            if let Some(member) = self.members.get_mut(places[number]) {
                member.leave(now);
                told(member.plugin().to_owned(), Outcome::Removed, None);
            }
        }
        for (number, config) in plan.described {
            let place = number.map(|number| places[number]);
            let runs = place.filter(|place| *place < running);
            match (runs, config.enabled) {
                (Some(place), true) => self.change(place, config, libraries, now),
                (None, true) => {
                    let component = config.plugin_name();
                    if let Err(reason) = self.add(config, libraries, now) {
                        tracing::error!(component, reason, "cannot be added");
                        told(component, Outcome::Failed, Some(reason));
                    }
                }
                (runs, false) => {
                    let outcome = match runs {
                        Some(place) => {
                            self.members[place].leave(now);
                            Outcome::Removed
                        }
                        None => Outcome::Unchanged,
                    };
                    let reason = "switched off in the configuration".to_owned();
                    told(config.plugin_name(), outcome, Some(reason));
                    self.absent.push(Absent::Disabled(Box::new(config)));
                }
            }
        }
        for broken in plan.broken {
            let component = match (&broken.name, broken.index) {
                (Some(name), Some(index)) => plugin_name(index, name),
                (Some(name), None) => name.clone(),
                (None, _) => "(no name)".to_owned(),
            };
            told(component, Outcome::Failed, Some(broken.reason()));
            self.absent.push(Absent::from(&broken));
        }
    }

    fn change(
        &mut self,
        place: usize,
        config: ComponentConfig,
        libraries: &Libraries,
        now: Instant,
    ) {
        let too_many = self.too_many(&config, libraries);
        let member = &mut self.members[place];
        let found = libraries.get(&config.library).cloned();
        let digest = match found.transpose() {
            Ok(digest) => digest,
            Err(reason) if member.has_instance() => return member.hold_back(reason),
            // Another attempt shows the same, and stays to be seen.
            Err(_) => None,
        };
        let kept_out = digest.and_then(|digest| kept_out_with(&self.history, &config, &digest));
        let policy = means::policy(&config, &self.config.host.fail_exempt_namespaces);
        if member.is_as_described(&config, digest, kept_out.is_some()) {
            member.adopt(config, policy, now);
        } else if let Some(kept_out) = kept_out {
            member.hold_back(Exclusion::new(kept_out, now).reason());
        } else if let Some(reason) = too_many {
            member.hold_back(reason);
        } else {
            let library = member.seat.library();
            let library = library.filter(|library| Some(library.digest) == digest);
            let library = library.cloned();
            member.replace(config, policy, library, now);
        }
    }

    /// Starts one that was not there; else the reason is that of an absent one from now on.
    fn add(
        &mut self,
        config: ComponentConfig,
        libraries: &Libraries,
        now: Instant,
    ) -> Result<(), String> {
        let kept_out = match libraries.get(&config.library) {
            Some(Ok(digest)) => kept_out_with(&self.history, &config, digest),
            _ => None,
        };
        let (name, index, required) = (config.name.clone(), config.index, config.required);
        match Member::start(config, &self.config, &self.means, kept_out) {
            Ok(mut member) => {
                member.added(now);
                self.members.push(member);
                Ok(())
            }
            Err(error) => {
                let reason = format!("it gets no thread: {error}");
                self.absent.push(Absent::Broken {
                    name: Some(name),
                    index: Some(index),
                    required,
                    reason: reason.clone(),
                });
                Err(reason)
            }
        }
    }

    /// Why nothing new may be loaded for a component.
    fn too_many(&self, config: &ComponentConfig, libraries: &Libraries) -> Option<String> {
        let name = &config.name;
        let loaded = self.reload.generations.get(name);
        let is_known = |loaded: &BTreeSet<Digest>| match libraries.get(&config.library) {
            Some(Ok(digest)) => loaded.contains(digest),
            _ => false,
        };
        let full = |loaded: &BTreeSet<Digest>| loaded.len() >= MAX_GENERATIONS && !is_known(loaded);
        if loaded.is_some_and(full) {
            return Some(format!(
                "{MAX_GENERATIONS} versions of its library are loaded, and none can be unloaded: \
                 restart nri-host"
            ));
        }
        let threads = self.former.iter();
        let threads = threads.filter(|seat| seat.blueprint.name == *name && !seat.has_ended());
        (threads.count() >= MAX_GENERATIONS).then(|| {
            format!("{MAX_GENERATIONS} instances of it have not come back: restart nri-host")
        })
    }

    pub(super) fn note_generations(&mut self) {
        for member in &mut self.members {
            let loaded = member.seat.library().map(|library| library.digest);
            let digests = loaded.into_iter().chain(member.take_in_vain());
            let name = member.config.name.clone();
            self.reload
                .generations
                .entry(name)
                .or_default()
                .extend(digests);
        }
    }
}

impl Member {
    /// Its instance is what these files describe, or will be.
    fn is_as_described(
        &self,
        config: &ComponentConfig,
        library: Option<Digest>,
        kept_out: bool,
    ) -> bool {
        let described = (config.plugin_name(), config.isolation, &config.config);
        if described
            != (
                self.plugin().to_owned(),
                self.config.isolation,
                &self.config.config,
            )
        {
            return false;
        }
        match self.seat.condition() {
            Condition::KeptOut => kept_out,
            Condition::Loading | Condition::Constructing => {
                let is_read = library.is_some() && self.seat.inspected() == library;
                is_read && config.library == self.config.library
            }
            _ if self.failure().is_some() => false,
            _ => {
                let loaded = self.seat.library().map(|library| library.digest);
                loaded.is_some() && loaded == library
            }
        }
    }
}
