//! Requests that arrive in pieces.
//!
//! The library writes a request in frames as it likes. A proxy between it and
//! the host cuts each into two frames, at every byte in turn.

use std::io::{self, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::Result;
use nri_host_tests::host::Host;
use nri_host_tests::reference::Options;
use nri_plugin_api::api::CreateContainerRequest;
use protobuf::Message;
use serde_json::json;

use crate::stage::{Stage, create_container, creating};

/// The mux stream with the runtime's requests.
const PLUGIN_SERVICE: u32 = 1;
const MUX_HEADER: usize = 8;
const TTRPC_HEADER: usize = 10;

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_read_wherever_it_is_cut() -> Result<()> {
    let Some(stage) = Stage::with(&Options::default())? else {
        return Ok(());
    };
    let cutter = Cutter::start(stage.dir.path().join("cut.sock"), stage.runtime.socket())?;
    let annotate = json!({ "do": "annotate", "text": "key=value" });
    let component = creating("cut", 10, &annotate);
    let _host = Host::builder()
        .socket(&cutter.socket)
        .component(component)
        .start()?;
    stage.runtime.wait_connected(&["10-cut"]);

    let mut small = CreateContainerRequest::new();
    small.pod.mut_or_insert_default().name = "web".to_owned();
    small.container.mut_or_insert_default().name = "server".to_owned();
    let large = create_container("web", "server");
    for (request, step) in [(small, 1), (large, 97)] {
        let mut offset = 1;
        cutter.longest.store(0, Ordering::SeqCst);
        loop {
            cutter.offset.store(offset, Ordering::SeqCst);
            let response = stage.runtime.call(&request)?;
            let value = response.adjust.annotations.get("key");
            assert_eq!(value.map(String::as_str), Some("value"), "cut at {offset}");
            offset += step;
            // The message's length is known once it was sent.
            if offset >= cutter.longest.load(Ordering::SeqCst) {
                break;
            }
        }
        assert!(
            offset as u64 > request.compute_size(),
            "only cut up to {offset}"
        );
    }
    Ok(())
}

/// The proxy. Its threads end with the connections.
struct Cutter {
    socket: PathBuf,
    /// Where each request is cut, counted from the start of its ttrpc header.
    offset: Arc<AtomicUsize>,
    /// The length of the longest request that was cut.
    longest: Arc<AtomicUsize>,
}

impl Cutter {
    fn start(socket: PathBuf, runtime: &Path) -> Result<Self> {
        let listener = UnixListener::bind(&socket)?;
        let runtime = runtime.to_owned();
        let (offset, longest) = (Arc::new(AtomicUsize::new(1)), Arc::new(AtomicUsize::new(0)));
        let cutter = Self {
            socket,
            offset: Arc::clone(&offset),
            longest: Arc::clone(&longest),
        };
        thread::spawn(move || -> io::Result<()> {
            for plugin in listener.incoming() {
                let (plugin, runtime) = (plugin?, UnixStream::connect(&runtime)?);
                let (mut from, mut to) = (plugin.try_clone()?, runtime.try_clone()?);
                thread::spawn(move || io::copy(&mut from, &mut to));
                let (offset, longest) = (Arc::clone(&offset), Arc::clone(&longest));
                thread::spawn(move || cut(runtime, plugin, &offset, &longest));
            }
            Ok(())
        });
        Ok(cutter)
    }
}

/// Passes frames on, those with requests as two frames a request.
fn cut(
    mut runtime: UnixStream,
    mut plugin: UnixStream,
    offset: &AtomicUsize,
    longest: &AtomicUsize,
) -> io::Result<()> {
    let mut request = Vec::new();
    loop {
        let mut header = [0; MUX_HEADER];
        runtime.read_exact(&mut header)?;
        let mut payload = vec![0; number(&header[4..]) as usize];
        runtime.read_exact(&mut payload)?;
        if number(&header) != PLUGIN_SERVICE {
            plugin.write_all(&[&header[..], &payload].concat())?;
            continue;
        }
        request.extend(payload);
        // Requests come one at a time, so what is left over is none.
        if request.len() < TTRPC_HEADER || request.len() < TTRPC_HEADER + number(&request) as usize
        {
            continue;
        }
        longest.fetch_max(request.len(), Ordering::SeqCst);
        let (head, tail) = request.split_at(offset.load(Ordering::SeqCst).min(request.len() - 1));
        for part in [head, tail] {
            let length = u32::try_from(part.len()).expect("requests are below 4 GiB");
            let frame = [&PLUGIN_SERVICE.to_be_bytes(), &length.to_be_bytes(), part].concat();
            plugin.write_all(&frame)?;
        }
        request.clear();
    }
}

/// The first four bytes as a number.
fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(*bytes.first_chunk().expect("there are four"))
}
