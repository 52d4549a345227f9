//! Many clients at once.

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

/// How many connect at the same moment.
const AT_ONCE: usize = 500;

impl Clients {
    /// Opens so many connections; each has been used once.
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

    /// Sends so many requests on each connection, one after another; returns how long all of
    /// them took.
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

    /// Sends a request on each connection, and runs something when all of them wait; then
    /// closes the connections.
    pub async fn wait<R>(mut self, path: &str, meanwhile: impl AsyncFnOnce() -> R) -> Result<R> {
        let count = self.connections.len();
        let mut status = Connection::open(self.server).await?;
        let all = self.connections.iter_mut().map(|connection| connection.get(path));
        let all = try_join_all(all);
        let meanwhile = async {
            wait_until(&mut status, |waiting| waiting >= count).await?;
            Ok(meanwhile().await)
        };
        let result = tokio::select! {
            answered = all => {
                answered?;
                anyhow::bail!("the requests were answered before all of them waited")
            }
            result = meanwhile => result,
        };
        drop(self.connections);
        // The server gives up what nobody waits for.
        wait_until(&mut status, |waiting| waiting == 0).await?;
        result
    }
}

/// Waits until the number of requests that the server is handling is right.
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
