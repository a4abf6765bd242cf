//! Components that are in one call, or in `create`, for so long that they will hardly come back.

use std::time::{Duration, Instant};

use crate::component::seat::{Absence, Condition};

/// A component counts as stuck when it is away for so long.
pub(super) const STUCK_LIMIT: Duration = Duration::from_secs(60);

/// Tells once for each time that a component gets stuck.
#[derive(Debug, Default)]
pub(super) struct StuckWatch {
    told: Option<Instant>,
}

/// What a look at a component shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// It is not away, or is stuck as it was at the last look.
    NothingNew,
    /// It is away: look again then.
    Away(Instant),
    /// It is stuck in this.
    Stuck(&'static str),
}

impl StuckWatch {
    /// Looks at a component that has been in this condition since then.
    pub(super) fn look(&mut self, condition: &Condition, since: Instant, now: Instant) -> Look {
        let Some(step) = step(condition) else {
            return Look::NothingNew;
        };
        let limit = since + STUCK_LIMIT;
        if now < limit {
            return Look::Away(limit);
        }
        if self.told.replace(since) == Some(since) {
            return Look::NothingNew;
        }
        Look::Stuck(step)
    }
}

/// Whether a component is stuck that has been in this condition since then.
pub(super) fn is_stuck(condition: &Condition, since: Instant, now: Instant) -> bool {
    step(condition).is_some() && now >= since + STUCK_LIMIT
}

/// What a component is in, if it can get stuck in it.
fn step(condition: &Condition) -> Option<&'static str> {
    Some(match condition {
        Condition::Constructing => "the constructors of its library",
        Condition::Creating => "create",
        Condition::Away(Absence::Call(method)) => method.name(),
        Condition::Away(Absence::UpdateResult) => "update_result",
        // It said that it is dead, and is made anew.
        Condition::Away(Absence::Creation) => "destroy or create",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use nri_plugin_api::abi::Method;

    use super::*;

    #[test]
    fn who_is_away_for_long_is_stuck_and_that_is_told_once_each_time() {
        let since = Instant::now();
        let limit = since + STUCK_LIMIT;
        let mut watch = StuckWatch::default();
        let away = Condition::Away(Absence::Call(Method::CreateContainer));
        assert_eq!(watch.look(&away, since, since), Look::Away(limit));
        assert!(!is_stuck(&away, since, since) && is_stuck(&away, since, limit));
        assert_eq!(
            watch.look(&away, since, limit),
            Look::Stuck("CreateContainer")
        );
        assert_eq!(
            watch.look(&away, since, limit + STUCK_LIMIT),
            Look::NothingNew
        );
        let again = limit + STUCK_LIMIT;
        assert_eq!(
            watch.look(&away, again, again),
            Look::Away(again + STUCK_LIMIT)
        );
        assert_eq!(
            watch.look(&Condition::Creating, again, again + STUCK_LIMIT),
            Look::Stuck("create")
        );
    }

    #[test]
    fn who_is_there_or_is_not_to_be_is_not_stuck() {
        let since = Instant::now();
        let late = since + STUCK_LIMIT * 2;
        for condition in [
            // It may wait for another one's constructors.
            Condition::Loading,
            Condition::Ready,
            Condition::KeptOut,
            Condition::Stopped,
        ] {
            let mut watch = StuckWatch::default();
            assert_eq!(watch.look(&condition, since, late), Look::NothingNew);
            assert!(!is_stuck(&condition, since, late));
        }
    }
}
