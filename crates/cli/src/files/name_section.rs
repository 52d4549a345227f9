//! Removes label names from the name section of a binary.

use ropewalk::Result;
use wasm_encoder::{CustomSection, Encode as _, Section as _};
use wasmparser::{BinaryReader, Parser, Payload};

/// The subsection with the names of labels. It is not in the standard, and Binaryen warns
/// about it.
const LABELS: u8 = 3;

/// A binary without the names of its labels.
pub(crate) fn without_labels(binary: &[u8]) -> Result<Vec<u8>> {
    let mut output = binary[..binary.len().min(8)].to_vec();
    for payload in Parser::new(0).parse_all(binary) {
        let payload = payload?;
        if let Payload::CustomSection(section) = &payload
            && section.name() == "name"
        {
            let data = without_label_subsection(section.data())?;
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

fn without_label_subsection(data: &[u8]) -> Result<Vec<u8>> {
    let (mut reader, mut kept) = (BinaryReader::new(data, 0), Vec::new());
    while !reader.eof() {
        let id = reader.read_u8()?;
        let len = reader.read_var_u32()?;
        let contents = reader.read_bytes(len as usize)?;
        if id != LABELS {
            kept.push(id);
            contents.encode(&mut kept);
        }
    }
    Ok(kept)
}
