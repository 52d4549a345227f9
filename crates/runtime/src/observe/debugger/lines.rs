//! Source lines of code in DWARF, for native debuggers.

use crate::arch::unwind;
use crate::code::LoadedModule;
use crate::code::lines::{Line, lines_of, lines_of_function};
use crate::observe::debugger::object::Sections;
use gimli::write::{
    Address, AttributeValue, Dwarf, EndianVec, LineProgram, LineString, Sections as Written, Unit,
};
use gimli::{
    DW_AT_high_pc, DW_AT_low_pc, DW_AT_name, DW_AT_producer, Encoding, Format, LineEncoding,
    LittleEndian,
};

/// The sections with the lines of a module's code; none without a source.
pub(super) fn of(module: &LoadedModule) -> Sections {
    let lines = lines_of(module);
    if lines.is_empty() {
        return Sections::new();
    }
    let encoding = Encoding { format: Format::Dwarf32, version: 4, address_size: 8 };
    let mut dwarf = Dwarf::new();
    let program = program(encoding, module, &lines);
    let unit = dwarf.units.add(Unit::new(encoding, program));
    let root = dwarf.units.get_mut(unit).root();
    let root = dwarf.units.get_mut(unit).get_mut(root);
    let text = |text: &str| AttributeValue::String(text.bytes().filter(|b| *b != 0).collect());
    root.set(DW_AT_producer, text("ropewalk"));
    root.set(DW_AT_name, text(&lines[0].file));
    let start = Address::Constant(module.code.start() as u64);
    root.set(DW_AT_low_pc, AttributeValue::Address(start));
    root.set(DW_AT_high_pc, AttributeValue::Udata(module.code.len() as u64));
    let mut written = Written::new(EndianVec::new(LittleEndian));
    dwarf.write(&mut written).expect("all of it can be written");
    let mut sections = Sections::new();
    let collected = written.for_each(|id, bytes| {
        if !bytes.slice().is_empty() {
            sections.push((id.name(), bytes.slice().to_vec()));
        }
        Ok::<(), gimli::write::Error>(())
    });
    collected.expect("nothing fails");
    sections
}

fn program(encoding: Encoding, module: &LoadedModule, lines: &[Line]) -> LineProgram {
    let string = |text: &str| LineString::String(text.bytes().filter(|b| *b != 0).collect());
    let first = string(&lines[0].file);
    let mut program =
        LineProgram::new(encoding, LineEncoding::default(), string("."), None, first, None);
    let directory = program.default_directory();
    for function in module.code.tables().functions {
        let mut lines = lines_of_function(lines, function).peekable();
        if lines.peek().is_none() {
            continue;
        }
        let start = module.code.start() + function.start as usize;
        program.begin_sequence(Some(Address::Constant(start as u64)));
        for (offset, line) in lines {
            // A waiting frame is shown at its return address, which should have the line of the
            // call. So the next line begins one byte later, where no breakpoint is set.
            let is_after_call = offset > function.start
                && unwind::may_follow_call(module.code.bytes(), offset as usize);
            let offset = offset - function.start + u32::from(is_after_call);
            let file = program.add_file(string(&line.file), directory, None);
            let row = program.row();
            (row.address_offset, row.file) = (u64::from(offset), file);
            (row.line, row.column) = (u64::from(line.line), u64::from(line.column));
            row.is_statement = !is_after_call;
            program.generate_row();
        }
        program.end_sequence(u64::from(function.end - function.start));
    }
    program
}
