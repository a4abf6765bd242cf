//! The mux against itself, with the `ttrpc` crate's client on one end and its server on the other.

use std::collections::HashMap;
use std::time::Duration;

use tokio::net::UnixStream;
use tokio::time::timeout;
use ttrpc::Request;
use ttrpc::r#async::{Client, MethodHandler, Server};

use super::rule::{Breach, MESSAGE_HEADER, READ_BUFFER};
use super::*;
use crate::fake_runtime::rpc;

/// Far longer than any of these takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Both ends of a connection, the plugin's serving `Echo`, which answers as many bytes as its
/// request says.
struct Ends {
    runtime: Trunk,
    plugin: Trunk,
    client: Client,
    _server: Server,
}

impl Ends {
    async fn connect(limits: Limits) -> Self {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (runtime, calls) = Trunk::start(ours, Side::Runtime, limits).unwrap();
        let (plugin, serves) = Trunk::start(theirs, Side::Plugin, Limits::default()).unwrap();
        plugin.set_cut(Cut::HeaderApart);
        let echo = rpc::Method(|request: Vec<u8>| -> rpc::Answer {
            Box::pin(async move { rpc::ok(request) })
        });
        let echo: Box<dyn MethodHandler + Send + Sync> = Box::new(echo);
        let methods = HashMap::from([("Echo".to_owned(), echo)]);
        let server = rpc::serve(serves.plugin, rpc::PLUGIN, methods)
            .await
            .unwrap();
        Self {
            runtime,
            plugin,
            client: rpc::client(calls.plugin),
            _server: server,
        }
    }

    async fn echo(&self, payload: Vec<u8>) -> ttrpc::Result<Vec<u8>> {
        let request = Request {
            service: rpc::PLUGIN.to_owned(),
            method: "Echo".to_owned(),
            payload,
            ..Request::default()
        };
        let response = timeout(PATIENCE, self.client.request(request))
            .await
            .expect("no answer");
        response.map(|response| response.payload)
    }

    async fn end(&self) -> End {
        timeout(PATIENCE, self.runtime.ended())
            .await
            .expect("no end of the connection")
    }
}

#[tokio::test]
async fn answers_of_every_size_arrive_in_at_most_two_frames() {
    let ends = Ends::connect(Limits::default()).await;
    for size in [
        0,
        1,
        4000,
        4080,
        4085,
        4086,
        4087,
        4088,
        4096,
        65_536,
        (4 << 20) - 100,
    ] {
        let payload = vec![7; size];
        assert_eq!(
            ends.echo(payload.clone()).await.unwrap(),
            payload,
            "{size} bytes"
        );
    }
    assert_eq!(ends.runtime.take_violations(), []);
    let answers = ends.runtime.record().frames;
    let frames = answers
        .iter()
        .filter(|frame| frame.direction == Direction::Read)
        .count();
    assert!(frames <= 11 * 2, "{frames} frames for 11 answers");
}

#[tokio::test]
async fn requests_cut_at_every_offset_are_read() {
    let ends = Ends::connect(Limits::default()).await;
    for offset in 0..120 {
        ends.runtime.set_cut(Cut::At(offset));
        assert_eq!(
            ends.echo(vec![1; 40]).await.unwrap().len(),
            40,
            "cut at {offset}"
        );
    }
    for cut in [
        Cut::Every(1),
        Cut::Every(7),
        Cut::Trickle(1),
        Cut::Trickle(3),
    ] {
        ends.runtime.set_cut(cut);
        assert_eq!(
            ends.echo(vec![2; 6000]).await.unwrap().len(),
            6000,
            "{cut:?}"
        );
    }
}

#[tokio::test]
async fn a_plugin_that_writes_long_messages_in_one_frame_is_cut_off() {
    let ends = Ends::connect(Limits::default()).await;
    ends.plugin.set_cut(Cut::Every(usize::MAX));
    ends.echo(vec![0; 5000]).await.unwrap_err();
    let End::Violation(Violation::Framing { stream, breach }) = ends.end().await else {
        panic!("ended by {}", ends.end().await);
    };
    assert_eq!(stream, PLUGIN_SERVICE);
    assert!(
        matches!(
            breach,
            Breach::NoRoom {
                room: READ_BUFFER,
                ..
            }
        ),
        "{breach}"
    );
}

#[tokio::test]
async fn messages_that_share_a_frame_are_a_violation() {
    let ends = Ends::connect(Limits::default()).await;
    let empty_response = [0, 0, 0, 0, 0, 0, 0, 1, 2, 0];
    ends.plugin
        .send_raw(frame(PLUGIN_SERVICE, &[empty_response; 2].concat()));
    let breach = Breach::Coalesced {
        surplus: MESSAGE_HEADER,
    };
    let violation = Violation::Framing {
        stream: PLUGIN_SERVICE,
        breach,
    };
    assert_eq!(ends.end().await, End::Violation(violation));
}

#[tokio::test]
async fn a_request_on_the_plugin_s_stream_is_a_violation() {
    let ends = Ends::connect(Limits::default()).await;
    ends.plugin
        .send_raw(frame(PLUGIN_SERVICE, &[0, 0, 0, 0, 0, 0, 0, 1, 1, 0]));
    assert!(matches!(
        ends.end().await,
        End::Violation(Violation::MessageKind { .. })
    ));
}

#[tokio::test]
async fn unknown_streams_and_empty_frames_do_not_end_the_connection() {
    let ends = Ends::connect(Limits::default()).await;
    ends.plugin
        .send_raw([frame(77, b"?"), frame(PLUGIN_SERVICE, b"")].concat());
    assert_eq!(ends.echo(vec![3]).await.unwrap(), [3]);
    assert_eq!(
        ends.runtime.take_violations(),
        [Violation::UnknownStream { stream: 77 }]
    );
}

#[tokio::test]
async fn a_claim_above_the_limit_ends_the_connection_before_it_is_believed() {
    let ends = Ends::connect(Limits::default()).await;
    ends.plugin
        .send_raw([1_u32.to_be_bytes(), u32::MAX.to_be_bytes()].concat());
    let claim = usize::try_from(u32::MAX).unwrap();
    assert_eq!(
        ends.end().await,
        End::Violation(Violation::FrameTooLarge { claim })
    );
}

#[tokio::test]
async fn limits_cut_the_connection_at_the_byte() {
    let written = Ends::connect(Limits {
        written: Some(13),
        ..Limits::default()
    })
    .await;
    written.echo(vec![1; 10]).await.unwrap_err();
    assert_eq!(written.end().await, End::Limit);
    assert_eq!(written.runtime.record().bytes_written, 13);

    let read = Ends::connect(Limits {
        read: Some(9),
        ..Limits::default()
    })
    .await;
    read.echo(vec![1; 10]).await.unwrap_err();
    assert_eq!(read.end().await, End::Limit);
    assert_eq!(
        read.runtime
            .record()
            .frames
            .iter()
            .filter(|frame| frame.direction == Direction::Read)
            .count(),
        0
    );
}

#[tokio::test]
async fn what_is_written_while_reading_is_stopped_is_read_afterwards() {
    let ends = Ends::connect(Limits::default()).await;
    ends.runtime.set_reading(false);
    let resumed = async {
        // Once the plugin has the request its answer can only wait in the kernel.
        let written = async {
            while ends.plugin.record().bytes_written == 0 {
                tokio::task::yield_now().await;
            }
        };
        timeout(PATIENCE, written)
            .await
            .expect("no answer of the plugin");
        let unread = ends.runtime.record().bytes_read;
        ends.runtime.set_reading(true);
        unread
    };
    let (answer, unread) = tokio::join!(ends.echo(vec![5; 3]), resumed);
    assert_eq!((answer.unwrap(), unread), (vec![5; 3], 0));
}
