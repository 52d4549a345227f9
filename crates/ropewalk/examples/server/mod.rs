//! What the examples share: strings in references, and a small server whose pages take some time.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ropewalk::{AsContext, ExternRef, Result};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep_until};

/// A page: its name, its delay in milliseconds, and its text.
pub type Page = (&'static str, u64, &'static str);

/// The response if no page has the name.
pub const MISSING: &str = "no such page";

/// A text that has arrived, and the number of the request for it.
pub type Arrived = (i32, io::Result<String>);

/// Starts a server, and returns its address.
///
/// It waits for `at_once` requests before it responds. Then it sends each page after its delay, and
/// after the previous client has read its page. So the order does not depend on the machine's load.
pub async fn start(pages: &'static [Page], at_once: usize) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok(asked) = listen(&listener, pages, at_once).await {
            if respond(asked).await.is_err() {
                break;
            }
        }
    });
    Ok(address)
}

/// Waits for `count` requests, and sorts them by delay.
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

/// Responds to requests, each after its delay.
async fn respond(asked: Vec<(Page, TcpStream)>) -> io::Result<()> {
    let began = Instant::now();
    for ((_, delay, text), mut stream) in asked {
        sleep_until(began + Duration::from_millis(delay)).await;
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await?;
        // The client closes the connection when it has passed the text on.
        stream.read_to_end(&mut Vec::new()).await?;
    }
    Ok(())
}

/// Begins to fetch a page. The text goes to `arrived`, with the number of the request.
pub fn fetch(server: SocketAddr, number: i32, name: String, arrived: UnboundedSender<Arrived>) {
    tokio::spawn(async move {
        let (stream, text) = match request(server, &name).await {
            Ok((stream, text)) => (Some(stream), Ok(text)),
            Err(error) => (None, Err(error)),
        };
        // If the receiver is gone, the text is not needed.
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

/// The string in a reference.
pub fn text(store: impl AsContext, reference: Option<ExternRef>) -> Result<String> {
    let reference = reference.ok_or_else(|| anyhow::anyhow!("expected a string, found null"))?;
    let data = reference.data(&store)?.downcast_ref::<String>();
    data.cloned().ok_or_else(|| anyhow::anyhow!("expected a string, found another value"))
}
