//! Mutates binaries.

use arbitrary::{Result, Unstructured};
use std::fmt::Write;

/// Mutates a binary in a few places, perhaps with parts of another.
pub fn changed(mut bytes: Vec<u8>, other: &[u8], u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    for _ in 0..u.int_in_range(1..=6)? {
        change(&mut bytes, other, u)?;
    }
    Ok(bytes)
}

/// Sometimes mutates a byte or two, which mostly makes the text invalid.
pub fn rarely_changed(mut bytes: Vec<u8>, u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    if u.int_in_range(0..=14)? == 14 {
        change(&mut bytes, &[0xff, 0xfe], u)?;
    }
    Ok(bytes)
}

fn change(bytes: &mut Vec<u8>, other: &[u8], u: &mut Unstructured<'_>) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    // Mostly keeps the head of a module.
    let first = if bytes.len() > 8 && !u.ratio(1, 20)? { 8 } else { 0 };
    let at = u.int_in_range(first..=bytes.len() - 1)?;
    match u.int_in_range(0..=9)? {
        0 | 1 => bytes[at] ^= 1 << u.int_in_range(0..=7)?,
        2 => bytes[at] = u.arbitrary()?,
        3 => bytes[at] = bytes[at].wrapping_add(*u.choose(&[1, 255, 2, 254])?),
        4 => {
            let end = (at + u.int_in_range(1..=8)?).min(bytes.len());
            bytes.drain(at..end);
        }
        5 => bytes.insert(at, u.arbitrary()?),
        6 => {
            let end = (at + u.int_in_range(1..=40)?).min(bytes.len());
            let copied = bytes[at..end].to_vec();
            let to = u.int_in_range(first..=bytes.len())?;
            bytes.splice(to..to, copied);
        }
        7 if !other.is_empty() => {
            let begin = u.int_in_range(0..=other.len() - 1)?;
            let end = (begin + u.int_in_range(1..=60)?).min(other.len());
            let over = (at + u.int_in_range(0..=60)?).min(bytes.len());
            bytes.splice(at..over, other[begin..end].iter().copied());
        }
        8 => {
            // The largest numbers of the format, and larger ones.
            let number: &[u8] = u.choose(&[
                &[0xff, 0xff, 0xff, 0xff, 0x0f][..],
                &[0xff, 0xff, 0xff, 0xff, 0x7f],
                &[0x80, 0x80, 0x80, 0x80, 0x00],
                &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
            ])?;
            bytes.splice(at..at + 1, number.iter().copied());
        }
        _ if u.ratio(1, 4)? => bytes.truncate(at),
        _ => {}
    }
    Ok(())
}

/// Prints a binary as a `(module binary ..)`.
pub fn as_text(bytes: &[u8]) -> String {
    let mut text = String::from("(module binary");
    for line in bytes.chunks(16) {
        text += "\n  \"";
        for byte in line {
            write!(text, "\\{byte:02x}").expect("a string");
        }
        text += "\"";
    }
    text + ")\n"
}
