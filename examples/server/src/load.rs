//! Concurrent clients.

use crate::upstream::Connection;
use anyhow::{Context, Result, ensure};
use futures_util::future::try_join_all;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Connections to a server.
pub struct Clients {
    server: SocketAddr,
    connections: Vec<Connection>,
}

/// How many clients connect at the same time.
const AT_ONCE: usize = 500;

impl Clients {
    /// Opens connections, and sends one request on each.
    pub async fn connect(server: SocketAddr, count: usize) -> Result<Clients> {
        let mut connections = Vec::with_capacity(count);
        while connections.len() < count {
            let some = AT_ONCE.min(count - connections.len());
            let open = (0..some).map(|_| async move {
                let mut connection = Connection::open(server).await?;
                connection.get("/status").await?;
                anyhow::Ok(connection)
            });
            connections.extend(try_join_all(open).await?);
        }
        Ok(Clients { server, connections })
    }

    /// Sends requests on each connection, one after another; returns the total time.
    pub async fn request(&mut self, path: &str, times: usize) -> Result<Duration> {
        let began = Instant::now();
        let all = self.connections.iter_mut().map(|connection| async move {
            for _ in 0..times {
                connection.get(path).await?;
            }
            anyhow::Ok(())
        });
        try_join_all(all).await?;
        Ok(began.elapsed())
    }

    /// Sends a request on each connection, runs `during` when all of them wait, and closes the
    /// connections.
    pub async fn wait<R>(mut self, path: &str, during: impl AsyncFnOnce() -> R) -> Result<R> {
        let count = self.connections.len();
        let mut status = Connection::open(self.server).await?;
        let all = self.connections.iter_mut().map(|connection| connection.get(path));
        let all = try_join_all(all);
        let during = async {
            wait_until(&mut status, |waiting| waiting >= count).await?;
            Ok(during().await)
        };
        let result = tokio::select! {
            answered = all => {
                answered?;
                anyhow::bail!("the requests were answered before all of them waited")
            }
            result = during => result,
        };
        drop(self.connections);
        // The server drops requests whose clients are gone.
        wait_until(&mut status, |waiting| waiting == 0).await?;
        result
    }
}

/// Waits until the number of waiting requests satisfies a condition.
async fn wait_until(status: &mut Connection, is_right: impl Fn(usize) -> bool) -> Result<()> {
    let began = Instant::now();
    loop {
        let text = String::from_utf8(status.get("/status").await?)?;
        let waiting = text.trim_end().strip_prefix("waiting ").context("a number")?.parse()?;
        if is_right(waiting) {
            return Ok(());
        }
        ensure!(began.elapsed() < Duration::from_secs(60), "{waiting} requests wait");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
