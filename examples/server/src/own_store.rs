//! Handles each request in its own store.

use crate::guest::{BLOCK, Guest};
use anyhow::Result;

/// Handles a request. Dropping the future cancels the call and drops the store.
pub async fn handle(guest: &Guest, handler: &str, rest: &str) -> Result<String> {
    let (mut store, handlers) = guest.instantiate()?;
    let handler = handlers.get(&mut store, handler)?;
    handlers.memory.write(&mut store, 0, rest.as_bytes())?;
    let length = handler.call_async(&mut store, (0, rest.len() as i32)).await?;
    let mut body = vec![0; (length as usize).min(BLOCK)];
    handlers.memory.read(&store, 0, &mut body)?;
    Ok(String::from_utf8(body)?)
}
