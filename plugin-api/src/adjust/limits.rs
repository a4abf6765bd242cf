//! Limits of the first process.

use super::Adjustment;
use super::error::{AdjustmentError, Item, check_new, check_range, check_unset};
use super::values::int;
use crate::api;

/// Resource limits of processes, see `getrlimit(2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "getrlimit(2) describes them under these names")]
pub enum Rlimit {
    As,
    Core,
    Cpu,
    Data,
    Fsize,
    Locks,
    Memlock,
    Msgqueue,
    Nice,
    Nofile,
    Nproc,
    Rss,
    Rtprio,
    Rttime,
    Sigpending,
    Stack,
}

impl Rlimit {
    /// Every limit.
    pub const ALL: [Self; 16] = [
        Self::As,
        Self::Core,
        Self::Cpu,
        Self::Data,
        Self::Fsize,
        Self::Locks,
        Self::Memlock,
        Self::Msgqueue,
        Self::Nice,
        Self::Nofile,
        Self::Nproc,
        Self::Rss,
        Self::Rtprio,
        Self::Rttime,
        Self::Sigpending,
        Self::Stack,
    ];

    /// Its name, such as `RLIMIT_NOFILE`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::As => "RLIMIT_AS",
            Self::Core => "RLIMIT_CORE",
            Self::Cpu => "RLIMIT_CPU",
            Self::Data => "RLIMIT_DATA",
            Self::Fsize => "RLIMIT_FSIZE",
            Self::Locks => "RLIMIT_LOCKS",
            Self::Memlock => "RLIMIT_MEMLOCK",
            Self::Msgqueue => "RLIMIT_MSGQUEUE",
            Self::Nice => "RLIMIT_NICE",
            Self::Nofile => "RLIMIT_NOFILE",
            Self::Nproc => "RLIMIT_NPROC",
            Self::Rss => "RLIMIT_RSS",
            Self::Rtprio => "RLIMIT_RTPRIO",
            Self::Rttime => "RLIMIT_RTTIME",
            Self::Sigpending => "RLIMIT_SIGPENDING",
            Self::Stack => "RLIMIT_STACK",
        }
    }

    /// The limit with this name, such as `RLIMIT_NOFILE`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|limit| limit.name() == name)
    }
}

impl Adjustment {
    /// Adds a resource limit, in the unit that `getrlimit(2)` has for it; [`u64::MAX`] is none.
    /// Known since NRI 0.4.
    ///
    /// Runtimes do not replace a limit that the container has of its own, and OCI runtimes may refuse
    /// two of one name.
    ///
    /// # Errors
    ///
    /// It is set already, or its soft limit is above the hard one.
    pub fn add_rlimit(
        &mut self,
        limit: Rlimit,
        soft: u64,
        hard: u64,
    ) -> Result<&mut Self, AdjustmentError> {
        let name = limit.name();
        if soft > hard {
            return Err(AdjustmentError::SoftAboveHard { name });
        }
        let rlimits = &mut self.adjust.rlimits;
        let names = rlimits.iter().map(|rlimit| rlimit.type_.as_str());
        check_new(Item::Rlimit, name, names)?;
        rlimits.push(api::POSIXRlimit {
            type_: name.to_owned(),
            hard,
            soft,
            ..Default::default()
        });
        Ok(self)
    }

    /// Sets how likely the OOM killer picks the container: -1000 (never) to 1000 (first). Known since
    /// NRI 0.8.
    ///
    /// # Errors
    ///
    /// It is set already, or outside that range.
    pub fn set_oom_score_adj(&mut self, score: i64) -> Result<&mut Self, AdjustmentError> {
        check_range(Item::OomScoreAdj, "score", score, -1000..=1000)?;
        let linux = self.linux();
        check_unset(Item::OomScoreAdj, linux.oom_score_adj.is_some())?;
        linux.oom_score_adj = int(score);
        Ok(self)
    }
}
