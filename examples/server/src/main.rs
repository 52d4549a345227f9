//! The command: serves requests, or measures itself.

use anyhow::Result;
use clap::Parser;
use ropewalk_example_server::measure::{self, Size};
use ropewalk_example_server::server::Server;
use std::net::{Ipv4Addr, SocketAddr};

/// An HTTP server whose handlers are WebAssembly
#[derive(Parser)]
enum Command {
    /// Serves requests
    Serve {
        /// The port on this machine, or 0 for any free port
        #[arg(long, default_value_t = 8080)]
        port: u16,
    },
    /// Measures requests per second, and the memory per waiting request
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
