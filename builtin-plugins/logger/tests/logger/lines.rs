//! Loggers, requests for them, and the lines that they write.

use std::fs;
use std::path::Path;

use nri_logger::Logger;
use nri_plugin_api::testing::{Harness, json};
use serde_json::Value;

/// What a logger does with a few requests: its lines, after it has ended.
pub(crate) fn lines(config: &Value, requests: impl FnOnce(&mut Harness<Logger>)) -> Vec<Value> {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("events");
    let mut config = config.clone();
    config["file"] = json!(path);
    let mut logger = Harness::<Logger>::create(config).expect("the settings are fine");
    requests(&mut logger);
    drop(logger);
    read(&path)
}

/// The settings with which nothing is left out.
pub(crate) fn everything() -> Value {
    json!({"events": ["all", "ValidateContainerAdjustment"]})
}

pub(crate) fn read(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("the logger made the file");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect()
}

pub(crate) fn request<M: Default>(fill: impl FnOnce(&mut M)) -> M {
    let mut message = M::default();
    fill(&mut message);
    message
}

/// Calls the method of each message, about one pod and one container.
macro_rules! call_all {
    ($logger:expr, $pod:expr, $container:expr, $($message:ident),*) => {$(
        let message = crate::lines::request(|message: &mut nri_plugin_api::api::$message| {
            message.pod = Some($pod.clone()).into();
            message.container = Some($container.clone()).into();
        });
        let _answer = $logger.call(&message).answer();
    )*};
}

macro_rules! call_all_pods {
    ($logger:expr, $pod:expr, $($message:ident),*) => {$(
        let message = crate::lines::request(|message: &mut nri_plugin_api::api::$message| {
            message.pod = Some($pod.clone()).into();
        });
        let _answer = $logger.call(&message).answer();
    )*};
}

pub(crate) use {call_all, call_all_pods};
