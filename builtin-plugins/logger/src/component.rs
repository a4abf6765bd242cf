//! The component: hands each event to the queue, and nothing more.

use std::sync::Arc;

use nri_plugin_api::request::Request;
use nri_plugin_api::{
    Adjustment, Component, CreateContainer, Error, Host, Method, MethodSet, PostCreateContainer,
    PostStartContainer, PostUpdateContainer, PostUpdatePodSandbox, RemoveContainer,
    RemovePodSandbox, RunPodSandbox, StartContainer, StopContainer, StopPodSandbox, Synchronize,
    UpdateContainer, UpdatePodSandbox, Updates, ValidateContainerAdjustment,
};

use crate::demonstration::Demonstration;
use crate::message::Loggable;
use crate::queue::{Event, Queue};
use crate::render::Renderer;
use crate::selection::Selection;
use crate::settings::{RawSettings, Settings};
use crate::synchronized::Synchronized;
use crate::writer::Writer;

/// An instance of the logger.
#[derive(Debug)]
pub struct Logger {
    queue: Arc<Queue>,
    /// What is written.
    events: MethodSet,
    selection: Selection,
    demonstration: Option<Demonstration>,
    /// Writes what is left when the instance ends.
    writer: Writer,
}

/// No event can be written any more. Why the thread ended is in the log.
#[derive(Debug, thiserror::Error)]
#[error("the thread that writes events has ended")]
struct WriterEnded;

impl Logger {
    /// The runtime waits for this: it copies, and leaves the rest to the writer.
    fn keep<M: Loggable>(&self, request: &Request<'_, M>) -> Result<(), WriterEnded> {
        if !self.selection.has(&request.pod_view()) {
            return Ok(());
        }
        self.push(Event::Request {
            render: Renderer::request::<M>,
            payload: request.payload().into(),
        })
    }

    fn push(&self, event: Event) -> Result<(), WriterEnded> {
        if self.writer.has_ended() {
            return Err(WriterEnded);
        }
        self.queue.push(event);
        Ok(())
    }
}

#[nri_plugin_api::component(id = "dev.nri-host.logger")]
impl Component for Logger {
    type Config = RawSettings;

    fn create(config: RawSettings, host: Host) -> Result<Self, Error> {
        let settings = Settings::check(&config, host.is_trial())?;
        let queue = Arc::new(Queue::new(settings.limits));
        let (renderer, sink) = (settings.renderer, settings.sink);
        let writer = Writer::start(host, Arc::clone(&queue), renderer, sink)
            .map_err(|error| Error::from(error).context("starting the writer"))?;
        Ok(Self {
            queue,
            events: settings.events,
            selection: settings.selection,
            demonstration: settings.demonstration,
            writer,
        })
    }

    fn methods(&self) -> MethodSet {
        match self.demonstration {
            Some(_) => self.events.with(Method::CreateContainer),
            None => self.events,
        }
    }

    fn synchronize(&mut self, request: &Synchronize<'_>) -> Result<Updates, Error> {
        let names = Box::new(Synchronized::new(request, &self.selection));
        self.push(Event::Synchronized(names))?;
        Ok(Updates::new())
    }

    fn run_pod_sandbox(&mut self, request: &RunPodSandbox<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn update_pod_sandbox(&mut self, request: &UpdatePodSandbox<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn post_update_pod_sandbox(&mut self, request: &PostUpdatePodSandbox<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn stop_pod_sandbox(&mut self, request: &StopPodSandbox<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn remove_pod_sandbox(&mut self, request: &RemovePodSandbox<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn create_container(&mut self, request: &CreateContainer<'_>) -> Result<Adjustment, Error> {
        if self.events.contains(Method::CreateContainer) {
            self.keep(request)?;
        }
        match &self.demonstration {
            Some(demonstration) if self.selection.has(&request.pod_view()) => {
                Ok(demonstration.adjustment(&request.container_view())?)
            }
            _ => Ok(Adjustment::new()),
        }
    }

    fn post_create_container(&mut self, request: &PostCreateContainer<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn start_container(&mut self, request: &StartContainer<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn post_start_container(&mut self, request: &PostStartContainer<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn update_container(&mut self, request: &UpdateContainer<'_>) -> Result<Updates, Error> {
        self.keep(request)?;
        Ok(Updates::new())
    }

    fn post_update_container(&mut self, request: &PostUpdateContainer<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn stop_container(&mut self, request: &StopContainer<'_>) -> Result<Updates, Error> {
        self.keep(request)?;
        Ok(Updates::new())
    }

    fn remove_container(&mut self, request: &RemoveContainer<'_>) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }

    fn validate_container_adjustment(
        &mut self,
        request: &ValidateContainerAdjustment<'_>,
    ) -> Result<(), Error> {
        self.keep(request)?;
        Ok(())
    }
}
