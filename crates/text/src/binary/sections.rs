//! Sections and bodies of a binary, found by their lengths alone. Works for a binary that is
//! malformed or truncated.

use std::ops::Range;

use wasmparser::{
    BinaryReader, CustomSectionReader, ImportSectionReader, KnownCustom, Name, TypeRef,
};

use crate::binary::identifier;

const CUSTOM: u8 = 0;
const IMPORTS: u8 = 2;
const CODE: u8 = 10;

/// The magic number and the version.
const HEADER: usize = 8;

/// A section or a body: its size in bytes, then its contents.
struct Framed {
    /// The id, if this is a section.
    id: u8,
    begin: usize,
    /// The bytes of the size.
    length: Range<usize>,
    /// The contents, as far as the binary has them.
    contents: Range<usize>,
    /// Whether the size exceeds the binary.
    is_cut: bool,
}

impl Framed {
    fn read(bytes: &[u8], id: u8, begin: usize, length_at: usize) -> Option<Framed> {
        let (length, at) = number(bytes, length_at)?;
        let end = at.checked_add(length as usize)?;
        let contents = at..end.min(bytes.len());
        Some(Framed { id, begin, length: length_at..at, contents, is_cut: end > bytes.len() })
    }
}

/// The function that contains an offset of a binary: its name in the text format, or its index. The
/// binary may be malformed or truncated.
///
/// ```
/// let text = ropewalk_text::Text::parse("(func) (func $second unreachable)")?;
/// let binary = text.binary();
/// // A body without locals, `unreachable` and `end`.
/// let body = binary.windows(3).position(|bytes| bytes == [0, 0, 0x0b]).unwrap();
/// assert_eq!(ropewalk_text::function_at(binary, body + 1).as_deref(), Some("$second"));
/// assert_eq!(ropewalk_text::function_at(binary, 9), None);
/// # Ok::<(), ropewalk_text::TextError>(())
/// ```
pub fn function_at(binary: &[u8], offset: usize) -> Option<String> {
    let sections = sections(binary);
    let code = sections.iter().find(|section| section.id == CODE)?;
    let bodies = bodies(binary, code);
    // A missing end of a body is reported where the next body begins.
    let holds = |body: &Framed| (body.begin..=body.contents.end).contains(&offset);
    let defined = bodies.iter().position(holds)? as u32;
    let imported: u32 = sections.iter().map(|section| imported_functions(binary, section)).sum();
    let function = imported + defined;
    let mut names = sections.iter().filter_map(|section| name_of(binary, section, function));
    Some(names.next().unwrap_or_else(|| function.to_string()))
}

/// Truncates a binary at an offset, or at its end if its last section is truncated. The sizes of
/// the last section and body are adjusted, and no offset changes.
pub fn cut_at(binary: &[u8], offset: usize) -> Vec<u8> {
    let sections = sections(binary);
    let is_cut = sections.last().is_some_and(|section| section.is_cut);
    let end = if is_cut { binary.len() } else { offset.min(binary.len()) };
    let Some(last) = sections.iter().rev().find(|section| section.begin < end) else {
        return binary[..end.min(HEADER)].to_vec();
    };
    if last.contents.start >= end {
        return binary[..last.begin].to_vec();
    }
    let mut cut = binary[..end].to_vec();
    let bodies = if last.id == CODE { bodies(binary, last) } else { Vec::new() };
    let body = bodies.iter().rev().find(|body| body.contents.start <= end);
    for framed in body.into_iter().chain([last]) {
        let length = framed.contents.end.min(end) - framed.contents.start;
        put_number(&mut cut[framed.length.clone()], length);
    }
    cut
}

/// The sections, up to the first one that has no readable size.
fn sections(binary: &[u8]) -> Vec<Framed> {
    let mut sections = Vec::new();
    let mut at = HEADER;
    while let Some(id) = binary.get(at)
        && let Some(section) = Framed::read(binary, *id, at, at + 1)
    {
        at = section.contents.end;
        sections.push(section);
    }
    sections
}

/// The bodies of a code section, up to the first one that has no readable size.
fn bodies(binary: &[u8], code: &Framed) -> Vec<Framed> {
    let bytes = &binary[..code.contents.end];
    let Some((count, mut at)) = number(bytes, code.contents.start) else { return Vec::new() };
    let mut bodies = Vec::new();
    while bodies.len() < count as usize
        && let Some(body) = Framed::read(bytes, CODE, at, at)
    {
        at = body.contents.end;
        bodies.push(body);
    }
    bodies
}

fn imported_functions(binary: &[u8], section: &Framed) -> u32 {
    if section.id != IMPORTS {
        return 0;
    }
    let Ok(imports) = ImportSectionReader::new(reader(binary, section)) else { return 0 };
    let imports = imports.into_imports().map_while(Result::ok);
    let is_function = |ty: TypeRef| matches!(ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
    imports.filter(|import| is_function(import.ty)).count() as u32
}

/// The name of a function, if this is the name section.
fn name_of(binary: &[u8], section: &Framed, function: u32) -> Option<String> {
    if section.id != CUSTOM {
        return None;
    }
    let custom = CustomSectionReader::new(reader(binary, section)).ok()?;
    let KnownCustom::Name(names) = custom.as_known() else { return None };
    let mut names = names.map_while(Result::ok);
    let functions = names.find_map(|part| match part {
        Name::Function(functions) => Some(functions),
        _ => None,
    });
    let mut functions = functions?.map_while(Result::ok);
    functions.find(|name| name.index == function).map(|name| identifier(name.name))
}

fn reader<'a>(binary: &'a [u8], section: &Framed) -> BinaryReader<'a> {
    BinaryReader::new(&binary[section.contents.clone()], section.contents.start as u64)
}

/// An unsigned 32-bit number in LEB128, and the offset after it.
fn number(bytes: &[u8], at: usize) -> Option<(u32, usize)> {
    let mut value = 0;
    for (place, byte) in bytes.get(at..)?.iter().take(5).enumerate() {
        value |= u32::from(byte & 0x7f).checked_shl(7 * place as u32)?;
        if byte & 0x80 == 0 {
            return Some((value, at + place + 1));
        }
    }
    None
}

/// Overwrites a number with one that is not larger, in the same number of bytes.
fn put_number(bytes: &mut [u8], mut value: usize) {
    let last = bytes.len() - 1;
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = (value & 0x7f) as u8 | if place < last { 0x80 } else { 0 };
        value >>= 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;

    const MODULE: &str = r#"(module
        (import "host" "f" (func $import)) (import "host" "m" (memory 1))
        (func $first (drop (i32.const 1)))
        (func (drop (i32.const 2)) (drop (i32.const 3)))
        (func $last (call $import)))"#;

    /// The functions that contain the bytes of a binary, each once.
    fn functions(binary: &[u8]) -> Vec<String> {
        let mut functions: Vec<String> = Vec::new();
        (0..=binary.len()).for_each(|at| functions.extend(function_at(binary, at)));
        functions.dedup();
        functions
    }

    #[test]
    fn each_byte_of_a_body_is_in_its_function() {
        let text = Text::parse(MODULE).unwrap();
        assert_eq!(functions(text.binary()), ["$first", "2", "$last"]);
    }

    #[test]
    fn a_binary_that_is_cut_off_has_its_functions_but_no_names() {
        let text = Text::parse(MODULE).unwrap();
        let call = text.binary().windows(2).rposition(|bytes| bytes == [0x10, 0]).unwrap();
        assert_eq!(functions(&text.binary()[..call + 1]), ["1", "2", "3"]);
    }

    #[test]
    fn a_binary_is_cut_without_moving_anything() {
        let text = Text::parse(MODULE).unwrap();
        let binary = text.binary();
        for end in 0..=binary.len() {
            let cut = cut_at(binary, end);
            assert!(cut.len() <= end.max(HEADER), "{end}");
            let last = sections(&cut);
            assert!(last.iter().all(|section| !section.is_cut), "{end}: {cut:x?}");
            let different = cut.iter().zip(binary).filter(|(a, b)| a != b).count();
            assert!(different <= 2, "only lengths differ: {end}");
        }
    }

    #[test]
    fn any_bytes_can_be_looked_at() {
        let text = Text::parse(MODULE).unwrap();
        let mut random = 1u64;
        for _ in 0..20_000 {
            let mut bytes = text.binary().to_vec();
            for _ in 0..3 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let at = (random >> 33) as usize % bytes.len();
                bytes[at] = (random >> 20) as u8;
            }
            let at = (random >> 40) as usize % (bytes.len() + 2);
            function_at(&bytes, at);
            cut_at(&bytes, at);
            bytes.truncate(at);
            function_at(&bytes, at);
            cut_at(&bytes, at / 2);
        }
    }
}
