//! Health and metrics, on the admin socket and over TCP.

use std::net::{SocketAddr, TcpListener};

use anyhow::Result;
use nri_host_tests::fake_runtime::{FakeRuntime, Profile};
use nri_host_tests::host::http::ask_tcp;
use nri_host_tests::host::{Component, Host, State};
use nri_host_tests::patience::patiently;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::scene::SUBJECT;

/// The system chooses the port.
const ANY_PORT: &str = "127.0.0.1:0";

fn subject() -> Component {
    Component::faulty(SUBJECT, 10, json!({}))
}

#[tokio::test]
async fn over_tcp_there_are_health_and_metrics_and_nothing_else() -> Result<()> {
    let host = Host::builder()
        .set("metrics_listen", ANY_PORT)
        .component(subject())
        .start()?;
    let address = host.metrics_address().await?;
    assert!(address.ip().is_loopback());
    for (method, path, status) in [
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/metrics", 200),
        ("HEAD", "/metrics", 200),
        ("POST", "/metrics", 405),
        ("GET", "/", 404),
        ("GET", "/status", 404),
        ("GET", "/log?component=subject", 404),
        ("POST", "/reset", 404),
    ] {
        let answer = ask_tcp(address, method, path, "").await?;
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert_eq!(answer.body.is_empty(), method == "HEAD", "{answer:?}");
    }
    let long = format!("X-Long: {}\r\n", "x".repeat(64 << 10));
    let refused = ask_tcp(address, "GET", "/healthz", &long).await;
    assert!(
        refused.as_ref().is_ok_and(|a| a.status == 431) || refused.is_err(),
        "{refused:?}"
    );
    Ok(())
}

#[tokio::test]
async fn the_format_is_the_one_that_is_asked_for() -> Result<()> {
    let host = Host::builder().component(subject()).start()?;
    host.wait_status("there", |status| !status.components.is_empty())
        .await?;
    let plain = host.ask("GET", "/metrics", "").await?;
    assert_eq!(
        plain.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    assert!(!plain.body.contains("# EOF"), "{}", plain.body);
    let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n";
    let open = host.ask("GET", "/metrics", accept).await?;
    assert_eq!(
        open.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    assert!(open.body.ends_with("# EOF\n"), "{}", open.body);
    Ok(())
}

#[tokio::test]
async fn the_host_is_ready_with_its_required_components_and_names_those_that_lack() -> Result<()> {
    let mut runtime = FakeRuntime::builder(Profile::newest()).build()?;
    let host = Host::builder()
        .socket(runtime.socket())
        .component(subject().set("required", true))
        .component(Component::faulty("other", 20, json!({})))
        .component(Component::faulty("wrong", 30, json!({})).set("timeout", "soon"))
        .start()?;
    host.wait_state(SUBJECT, State::Waiting).await?;
    let answer = host.ask("GET", "/readyz", "").await?;
    assert_eq!(answer.status, 503);
    assert_eq!(
        answer.body,
        "not ready; required components that are not active:\n10-subject: waiting\n"
    );
    assert_eq!(host.ask("GET", "/healthz", "").await?.status, 200);

    runtime.listen()?;
    host.wait_state(SUBJECT, State::Active).await?;
    let answer = host.ask("GET", "/readyz", "").await?;
    assert_eq!((answer.status, answer.body.as_str()), (200, "ready\n"));
    Ok(())
}

#[tokio::test]
async fn an_address_in_use_holds_nothing_up_and_is_tried_again() -> Result<()> {
    let taken = TcpListener::bind(ANY_PORT)?;
    let address = taken.local_addr()?;
    let runtime = FakeRuntime::start(Profile::newest()).await?;
    let host = Host::builder()
        .socket(runtime.socket())
        .set("metrics_listen", address.to_string())
        .component(subject())
        .start()?;
    host.logged("metrics cannot be served yet").await?;
    host.wait_state(SUBJECT, State::Active).await?;
    drop(taken);
    assert_eq!(host.metrics_address().await?, address);
    assert_eq!(ask_tcp(address, "GET", "/readyz", "").await?.status, 200);
    Ok(())
}

/// Clients that connect and say nothing.
async fn silent_clients(address: SocketAddr, number: usize) -> Result<Vec<TcpStream>> {
    let mut clients = Vec::new();
    for _ in 0..number {
        clients.push(TcpStream::connect(address).await?);
    }
    Ok(clients)
}

#[tokio::test]
async fn clients_that_say_nothing_keep_nobody_out_for_long() -> Result<()> {
    let host = Host::builder()
        .set("metrics_listen", ANY_PORT)
        .component(subject())
        .start()?;
    let address = host.metrics_address().await?;
    let mut silent = silent_clients(address, 40).await?;
    silent[0].write_all(b"GET /metrics HT").await?;
    // The admin socket has connections of its own, and TCP lets in who comes when others are cut off.
    assert_eq!(host.ask("GET", "/healthz", "").await?.status, 200);
    assert_eq!(ask_tcp(address, "GET", "/healthz", "").await?.status, 200);
    let mut rest = Vec::new();
    let ended = silent[0].read_to_end(&mut rest);
    patiently("the end of a silent connection", ended).await??;
    Ok(())
}
