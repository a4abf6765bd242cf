//! Families of metrics: samples of one name, which differ in their labels.

use std::fmt;
use std::time::Duration;

use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;

use crate::component::latency::Durations;

/// Names and values of labels.
pub(super) type Labels<'a> = Vec<(&'static str, &'a str)>;

/// Writes families, one after the other.
pub(super) struct Families<'a>(DescriptorEncoder<'a>);

impl<'a> Families<'a> {
    pub(super) fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    /// Numbers that only grow. `_total` is added to the name.
    pub(super) fn counters<'s>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'s>, u64)>,
    ) -> fmt::Result {
        let mut family = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        for (labels, value) in samples {
            family
                .encode_family(&labels)?
                .encode_counter::<NoLabelSet, u64, u64>(&value, None)?;
        }
        Ok(())
    }

    /// A time that only grows, in seconds.
    pub(super) fn seconds(
        &mut self,
        name: &str,
        help: &str,
        value: Option<Duration>,
    ) -> fmt::Result {
        let mut family = self
            .0
            .encode_descriptor(name, help, None, MetricType::Counter)?;
        match value {
            Some(value) => {
                family.encode_counter::<NoLabelSet, f64, u64>(&value.as_secs_f64(), None)
            }
            None => Ok(()),
        }
    }

    /// Numbers that come and go.
    pub(super) fn gauges<'s>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'s>, f64)>,
    ) -> fmt::Result {
        let mut family = self
            .0
            .encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (labels, value) in samples {
            family.encode_family(&labels)?.encode_gauge(&value)?;
        }
        Ok(())
    }

    /// Words, in labels; the value is always 1.
    pub(super) fn words<'s>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = Labels<'s>>,
    ) -> fmt::Result {
        self.gauges(name, help, samples.into_iter().map(|labels| (labels, 1.0)))
    }

    /// Durations, in seconds.
    pub(super) fn durations<'s>(
        &mut self,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Labels<'s>, &'s Durations)>,
    ) -> fmt::Result {
        let mut family = self
            .0
            .encode_descriptor(name, help, None, MetricType::Histogram)?;
        for (labels, durations) in samples {
            let longer = (f64::INFINITY, durations.past_all_doublings());
            let buckets: Vec<(f64, u64)> = durations
                .by_doubling()
                .map(|(longest, count)| (longest.as_secs_f64(), count))
                .chain([longer])
                .collect();
            family
                .encode_family(&labels)?
                .encode_histogram::<NoLabelSet>(
                    durations.sum.as_secs_f64(),
                    durations.count(),
                    &buckets,
                    None,
                )?;
        }
        Ok(())
    }
}

/// 1 for true.
pub(super) fn truth(is: bool) -> f64 {
    f64::from(u8::from(is))
}
