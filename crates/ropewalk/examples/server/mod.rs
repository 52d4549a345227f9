//! What stands in for the world outside: a server with a few pages, each of
//! which takes its time, and requests to it.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep_until};

/// A page: its name, after how many milliseconds it is there, and its text.
pub type Page = (&'static str, u64, &'static str);

/// The text for a name that no page has.
pub const MISSING: &str = "no such page";

/// A text that has arrived, and the number of the request for it.
pub type Arrived = (i32, io::Result<String>);

/// Starts a server, and answers where it is.
///
/// It answers nobody before so many have asked: they all wait at once. Then
/// each gets the page when it is there, after the one before has taken its own,
/// so that the order does not depend on how busy the machine is.
pub async fn start(pages: &'static [Page], at_once: usize) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok(asked) = listen(&listener, pages, at_once).await {
            if answer(asked).await.is_err() {
                break;
            }
        }
    });
    Ok(address)
}

/// Waits for requests.
async fn listen(
    listener: &TcpListener,
    pages: &'static [Page],
    count: usize,
) -> io::Result<Vec<(Page, TcpStream)>> {
    let mut asked = Vec::new();
    while asked.len() < count {
        let (mut stream, _) = listener.accept().await?;
        let mut name = String::new();
        BufReader::new(&mut stream).read_line(&mut name).await?;
        let page = pages.iter().find(|(page, ..)| *page == name.trim_end());
        asked.push((*page.unwrap_or(&("", 0, MISSING)), stream));
    }
    asked.sort_by_key(|((_, delay, _), _)| *delay);
    Ok(asked)
}

/// Answers requests, each in its time.
async fn answer(asked: Vec<(Page, TcpStream)>) -> io::Result<()> {
    let began = Instant::now();
    for ((_, delay, text), mut stream) in asked {
        sleep_until(began + Duration::from_millis(delay)).await;
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await?;
        // The other side closes when it has passed the text on.
        stream.read_to_end(&mut Vec::new()).await?;
    }
    Ok(())
}

/// Begins to fetch a page; the text goes to `arrived`, with the number of the
/// request.
pub fn fetch(server: SocketAddr, number: i32, name: String, arrived: UnboundedSender<Arrived>) {
    tokio::spawn(async move {
        let (stream, text) = match request(server, &name).await {
            Ok((stream, text)) => (Some(stream), Ok(text)),
            Err(error) => (None, Err(error)),
        };
        // If nobody listens any more, nobody needs it.
        let _ = arrived.send((number, text));
        drop(stream);
    });
}

async fn request(server: SocketAddr, name: &str) -> io::Result<(TcpStream, String)> {
    let mut stream = TcpStream::connect(server).await?;
    stream.write_all(format!("{name}\n").as_bytes()).await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    Ok((stream, text))
}
