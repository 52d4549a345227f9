//! HTTP requests with idempotency keys.
//!
//! A request may be sent again if the process was killed before it recorded the response, so each
//! has a key by which its receiver detects repetition. Only `POST /` with the header
//! `Idempotency-Key` and a body is implemented.

use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Sends a request; returns the status of the response.
pub fn request(server: SocketAddr, key: &str, body: &str) -> Result<i32> {
    let mut connection = TcpStream::connect(server)?;
    write!(
        connection,
        "POST / HTTP/1.1\r\nHost: {server}\r\nIdempotency-Key: {key}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line)?;
    let status = line.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    status.with_context(|| format!("expected a response, found {line:?}"))
}

/// A shop that executes each request once by its key, and responds 200. Every tenth order is sold
/// out.
#[derive(Clone, Debug, Default)]
pub struct Shop {
    /// The executed requests by key, with the number of times that each was sent.
    done: Arc<Mutex<BTreeMap<String, (String, usize)>>>,
}

impl Shop {
    /// The executed requests by key, with the number of times that each was sent.
    pub fn done(&self) -> BTreeMap<String, (String, usize)> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves requests, one after another.
    pub fn serve(&self, listener: &TcpListener) {
        for connection in listener.incoming().flatten() {
            // A client that was killed sends its request again.
            let _ = self.answer(connection);
        }
    }

    fn answer(&self, connection: TcpStream) -> Result<()> {
        let mut reader = BufReader::new(connection);
        let (mut key, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            ensure!(reader.read_line(&mut line)? > 0, "the request ends too soon");
            match line.trim_end().split_once(": ") {
                Some(("Idempotency-Key", value)) => value.clone_into(&mut key),
                Some(("Content-Length", value)) => length = value.parse::<u16>()?.into(),
                None if line.trim_end().is_empty() => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = String::from_utf8(body)?;
        let sold_out = body.starts_with("reserve ") && body.ends_with("7 0");
        {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            done.entry(key).or_insert((body, 0)).1 += 1;
        }
        let status = if sold_out { "410 Gone" } else { "200 OK" };
        let response =
            format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        Ok(reader.get_mut().write_all(response.as_bytes())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_request_is_executed_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, shop) = (listener.local_addr().unwrap(), Shop::default());
        let served = shop.clone();
        std::thread::spawn(move || served.serve(&listener));
        assert_eq!(request(address, "1/2", "reserve 7 0").unwrap(), 410);
        assert_eq!(request(address, "1/3", "charge 7 1").unwrap(), 200);
        assert_eq!(request(address, "1/3", "charge 7 1").unwrap(), 200);
        let done: Vec<_> = shop.done().into_values().collect();
        assert_eq!(done, [("reserve 7 0".to_owned(), 1), ("charge 7 1".to_owned(), 2)]);
    }
}
