//! The server over loopback, at a small scale.

use anyhow::Result;
use futures_util::future::{join_all, try_join_all};
use ropewalk_example_server::load::Clients;
use ropewalk_example_server::server::Server;
use ropewalk_example_server::upstream::Connection;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

const WAYS: [&str; 3] = ["native", "one", "own"];

/// Runs a server and a client, for at most a minute.
fn with_server<R>(body: impl AsyncFnOnce(SocketAddr) -> Result<R>) -> R {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let server = Server::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await.unwrap();
        let address = server.address().unwrap();
        tokio::task::spawn_local(server.run());
        let limited = tokio::time::timeout(Duration::from_secs(60), body(address)).await;
        limited.expect("it takes less than a minute").unwrap()
    })
}

async fn get(server: SocketAddr, path: &str) -> Result<String> {
    let body = Connection::open(server).await?.get(path).await?;
    Ok(String::from_utf8(body)?)
}

#[test]
fn all_implementations_give_the_same_responses() {
    with_server(async |server| {
        let expected = [
            ("wait/3", "waited 3 ms\n"),
            ("page/2", "waited 2 ms\nwaited 2 ms\nwaited 2 ms\n"),
            ("count/7", "1234567\n"),
        ];
        for (path, body) in expected {
            for way in WAYS {
                assert_eq!(get(server, &format!("/{way}/{path}")).await?, body, "{way} {path}");
            }
        }
        Ok(())
    });
}

#[test]
fn hundreds_of_requests_wait_concurrently_and_are_canceled() {
    const COUNT: usize = 300;
    with_server(async |server| {
        for way in WAYS {
            // All of them wait; then their connections are closed.
            let clients = Clients::connect(server, COUNT).await?;
            clients.wait(&format!("/{way}/wait/600000"), async || ()).await?;
        }
        // The stores remain usable.
        assert_eq!(get(server, "/one/wait/1").await?, "waited 1 ms\n");
        Ok(())
    });
}

#[test]
fn requests_in_all_ways_are_handled_together() {
    with_server(async |server| {
        let began = Instant::now();
        let requests = (0..150).map(|i| async move {
            let way = WAYS[i % WAYS.len()];
            // Each sleeps for a tenth of a second; the later ones for less.
            let time = 100 - i / 3;
            let body = get(server, &format!("/{way}/wait/{time}")).await?;
            assert_eq!(body, format!("waited {time} ms\n"));
            anyhow::Ok(())
        });
        try_join_all(requests).await?;
        // One after another would take eleven seconds.
        assert!(began.elapsed() < Duration::from_secs(9), "{:?}", began.elapsed());
        Ok(())
    });
}

#[test]
fn handlers_that_send_requests_are_many_at_once() {
    with_server(async |server| {
        let paths = (0..30).map(|i| format!("/{}/page/{}", WAYS[i % 3], i + 1));
        let pages = paths.map(|path| async move {
            let body = get(server, &path).await?;
            let time = path.rsplit('/').next().expect("a number");
            assert_eq!(body, format!("waited {time} ms\n").repeat(3));
            anyhow::Ok(())
        });
        try_join_all(pages).await?;
        Ok(())
    });
}

#[test]
fn invalid_requests_are_errors_and_do_not_affect_others() {
    with_server(async |server| {
        let wrong = [
            ("/nowhere/wait/1", "expected one, own or native, found \"nowhere\""),
            ("/one/nothing/1", "unknown handler \"nothing\""),
            ("/own/wait/x", "expected a number"),
            ("/own", "expected /WAY/HANDLER/NUMBER"),
            // The request that the handler sends is refused.
            ("/one/page/9999999999999999999999999", "number too large"),
        ];
        let good = async { get(server, "/one/wait/50").await };
        let bad = join_all(wrong.map(|(path, _)| get(server, path)));
        let (good, bad) = tokio::join!(good, bad);
        assert_eq!(good?, "waited 50 ms\n");
        for (result, (path, expected)) in bad.into_iter().zip(wrong) {
            let error = result.expect_err(path).to_string();
            assert!(error.contains(expected), "{path}: {error}");
        }
        Ok(())
    });
}
