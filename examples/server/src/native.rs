//! The same handlers in Rust.

use crate::upstream::Upstream;
use anyhow::{Result, bail};
use std::time::Duration;

/// Handles a request.
pub async fn handle(upstream: &Upstream, handler: &str, rest: &str) -> Result<String> {
    match handler {
        "wait" => {
            tokio::time::sleep(Duration::from_millis(rest.parse()?)).await;
            Ok(format!("waited {rest} ms\n"))
        }
        "page" => {
            let mut page = String::new();
            for _ in 0..3 {
                let part = upstream.get(&format!("/native/wait/{rest}")).await?;
                page.push_str(&String::from_utf8(part)?);
            }
            Ok(page)
        }
        "count" => {
            let mut digits = String::new();
            for digit in 1..=rest.parse()? {
                tokio::time::sleep(Duration::from_millis(1)).await;
                digits.push_str(&u32::to_string(&digit));
            }
            Ok(digits + "\n")
        }
        other => bail!("unknown handler {other:?}"),
    }
}
