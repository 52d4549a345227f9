//! Requests that handlers send.

use anyhow::{Context, Result, ensure};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;

/// The maximum number of idle connections.
const IDLE: usize = 64;

/// A connection to a server, for one request after another.
pub struct Connection(SendRequest<Empty<Bytes>>);

impl Connection {
    /// Connects to a server.
    pub async fn open(server: SocketAddr) -> Result<Connection> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(async move {
            // The sender gets the error.
            let _ = connection.await;
        });
        Ok(Connection(sender))
    }

    /// Requests a path; returns the body.
    pub async fn get(&mut self, path: &str) -> Result<Vec<u8>> {
        self.0.ready().await?;
        let request = Request::get(path).header("host", "localhost").body(Empty::new())?;
        let response = self.0.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(status == StatusCode::OK, "{path}: {status}: {}", String::from_utf8_lossy(&body));
        Ok(body.to_vec())
    }
}

/// The server that handlers send requests to, with idle connections.
#[derive(Clone)]
pub struct Upstream {
    server: SocketAddr,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Upstream {
    /// A server.
    pub fn new(server: SocketAddr) -> Upstream {
        Upstream { server, idle: Arc::default() }
    }

    /// Requests a path; returns the body.
    pub async fn get(&self, path: &str) -> Result<Vec<u8>> {
        let idle = self.idle.lock().expect("no panic while locked").pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(self.server).await.context("cannot connect")?,
        };
        let body = connection.get(path).await?;
        let mut idle = self.idle.lock().expect("no panic while locked");
        if idle.len() < IDLE {
            idle.push(connection);
        }
        Ok(body)
    }
}
