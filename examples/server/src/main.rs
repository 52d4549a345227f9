//! The command: serves, or measures itself.

use anyhow::Result;
use clap::Parser;
use ropewalk_example_server::measure::{self, Size};
use ropewalk_example_server::server::Server;
use std::net::{Ipv4Addr, SocketAddr};

/// An HTTP server whose handlers are WebAssembly that waits
#[derive(Parser)]
enum Command {
    /// Answers requests
    Serve {
        /// Where on this machine; with 0, anywhere that is free
        #[arg(long, default_value_t = 8080)]
        port: u16,
    },
    /// Measures requests per second, and the memory of those that wait
    Measure(Size),
}

fn main() -> Result<()> {
    let command = Command::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        match command {
            Command::Serve { port } => {
                let server = Server::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port))).await?;
                println!("http://{}", server.address()?);
                server.run().await
            }
            Command::Measure(size) => measure::run(size).await,
        }
    })
}
