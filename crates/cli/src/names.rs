//! Names of a binary that other tools do not know.

use ropewalk::Result;
use wasm_encoder::{CustomSection, Encode as _, Section as _};
use wasmparser::{BinaryReader, Parser, Payload};

/// The part of the name section with the names of labels. They are not in the
/// standard, and Binaryen complains about them.
const LABELS: u8 = 3;

/// A binary without the names of its labels.
pub(crate) fn without_labels(binary: &[u8]) -> Result<Vec<u8>> {
    let mut output = binary[..binary.len().min(8)].to_vec();
    for payload in Parser::new(0).parse_all(binary) {
        let payload = payload?;
        if let Payload::CustomSection(section) = &payload
            && section.name() == "name"
        {
            let data = keep(section.data())?;
            let names = CustomSection { name: "name".into(), data: data.into() };
            output.push(names.id());
            names.encode(&mut output);
        } else if let Some((id, range)) = payload.as_section() {
            output.push(id);
            binary[range.start as usize..range.end as usize].encode(&mut output);
        }
    }
    Ok(output)
}

/// The parts of a name section but those of labels.
fn keep(data: &[u8]) -> Result<Vec<u8>> {
    let (mut reader, mut kept) = (BinaryReader::new(data, 0), Vec::new());
    while !reader.eof() {
        let id = reader.read_u8()?;
        let len = reader.read_var_u32()?;
        let part = reader.read_bytes(len as usize)?;
        if id != LABELS {
            kept.push(id);
            part.encode(&mut kept);
        }
    }
    Ok(kept)
}
