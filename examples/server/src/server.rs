//! HTTP and routing.

use crate::guest::{Guest, check};
use crate::one_store::OneStore;
use crate::upstream::Upstream;
use crate::{native, own_store};
use anyhow::{Context, Result, bail};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::cell::Cell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::net::TcpListener;

/// A server.
pub struct Server {
    listener: TcpListener,
    routes: Rc<Routes>,
}

/// The ways to handle a request.
struct Routes {
    /// The modules, each with the store for its requests.
    guests: Vec<(Guest, OneStore)>,
    upstream: Upstream,
    #[cfg(feature = "wasmtime")]
    wasmtime: crate::wasmtime::Guest,
    /// The number of requests that are being handled.
    waiting: Cell<usize>,
}

/// Counts a request while it is handled.
struct Waiting<'a>(&'a Cell<usize>);

impl<'a> Waiting<'a> {
    fn new(waiting: &'a Cell<usize>) -> Waiting<'a> {
        waiting.set(waiting.get() + 1);
        Waiting(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Server {
    /// Binds a server to an address. Handlers send their requests to the same server.
    pub async fn bind(address: SocketAddr) -> Result<Server> {
        // The backlog allows many clients to connect at the same time.
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(4096)?;
        let upstream = Upstream::new(listener.local_addr()?);
        let guests = Guest::all(&upstream)?.into_iter();
        let guests = guests.map(|guest| {
            let one = OneStore::start(&guest)?;
            Ok((guest, one))
        });
        let routes = Routes {
            guests: guests.collect::<Result<_>>()?,
            #[cfg(feature = "wasmtime")]
            wasmtime: crate::wasmtime::Guest::new(&upstream)?,
            upstream,
            waiting: Cell::new(0),
        };
        Ok(Server { listener, routes: Rc::new(routes) })
    }

    /// The address of the server.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// Serves requests forever.
    pub async fn run(self) -> Result<()> {
        loop {
            let (stream, _) = self.listener.accept().await?;
            stream.set_nodelay(true)?;
            let routes = self.routes.clone();
            tokio::task::spawn_local(async move {
                let service = service_fn(|request| answer(&routes, request));
                // A client that goes away is not an error.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    }
}

async fn answer(
    routes: &Routes,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (status, body) = match routes.handle(request.uri().path()).await {
        Ok(body) => (StatusCode::OK, body),
        Err(error) => (StatusCode::BAD_REQUEST, format!("{error:#}\n")),
    };
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    Ok(response)
}

impl Routes {
    /// The body for a path: `/WAY/HANDLER/REST`, or `/status`.
    async fn handle(&self, path: &str) -> Result<String> {
        if path == "/status" {
            return Ok(format!("waiting {}\n", self.waiting.get()));
        }
        let mut parts = path.splitn(4, '/').skip(1);
        let mut next = || parts.next().context("expected /WAY/HANDLER/NUMBER");
        let (way, handler, rest) = (next()?, next()?, next()?);
        check(rest)?;
        let _waiting = Waiting::new(&self.waiting);
        let (guest, one_store) = self.guest(handler)?;
        match way {
            "one" => one_store.handle(handler, rest).await,
            "own" => own_store::handle(guest, handler, rest).await,
            "native" => native::handle(&self.upstream, handler, rest).await,
            #[cfg(feature = "wasmtime")]
            "wasmtime" => self.wasmtime.handle(handler, rest).await,
            other => bail!("expected one, own or native, found {other:?}"),
        }
    }

    fn guest(&self, handler: &str) -> Result<&(Guest, OneStore)> {
        let found = self.guests.iter().find(|(guest, _)| guest.has(handler));
        found.with_context(|| format!("unknown handler {handler:?}"))
    }
}
