//! The figures of a program: all except its time.

use std::sync::{Arc, Mutex};

use anyhow::Result;
use ropewalk::traces::Trace;
use ropewalk::{Config, Engine, Module};
use ropewalk_text::Text;
use wasmparser::BinaryReader;

use crate::host::Program;

/// The figures of a program. They do not depend on the machine's load.
pub struct Figures {
    /// Lines that are neither empty nor a comment.
    pub lines: usize,
    /// The bytes of the lowered binary without custom sections, such as names.
    pub bytes: usize,
    /// The bytes of its code section.
    pub code: usize,
    /// How often another stack continued in a run of 100.
    pub switches: usize,
    /// The maximum number of stacks beside the root, in the drawn run.
    pub stacks: usize,
    /// The maximum size of the frames of these stacks.
    pub frames: usize,
    /// What the stacks did in the drawn run, as SVG.
    pub picture: String,
}

/// The maximum number and size of stacks at one time.
#[derive(Clone, Copy, Default)]
struct Peak {
    stacks: usize,
    frames: usize,
}

impl Figures {
    /// The figures of a program, whose run of `drawn` is drawn with this title.
    pub fn of(source: &str, drawn: i64, title: String) -> Result<Figures> {
        let engine = Engine::new(Config::new().trace(true))?;
        let module = Module::new(&engine, source)?;
        let trace = |argument| {
            let mut program = Program::new(&engine, &module)?;
            program.run(argument)?;
            program.store.take_trace()
        };
        let picture = Trace { name: title, ..trace(drawn)? };
        let mut peak = Peak::default();
        for (index, event) in picture.events.iter().enumerate() {
            if event.what.is_switch() {
                let at_event = stacks_at(&engine, &module, drawn, index as u64 + 1)?;
                peak.stacks = peak.stacks.max(at_event.stacks);
                peak.frames = peak.frames.max(at_event.frames);
            }
        }
        let text = Text::parse(source)?;
        let (bytes, code) = sizes(text.binary())?;
        Ok(Figures {
            lines: lines_of_code(source),
            bytes,
            code,
            switches: trace(100)?.events.iter().filter(|event| event.what.is_switch()).count(),
            stacks: peak.stacks,
            frames: peak.frames,
            picture: picture.svg(),
        })
    }
}

/// The stacks beside the root after an event of a run.
fn stacks_at(engine: &Engine, module: &Module, argument: i64, event: u64) -> Result<Peak> {
    let mut program = Program::new(engine, module)?;
    let found = Arc::new(Mutex::new(Peak::default()));
    let place = Arc::clone(&found);
    program.store.at_stack_event(event, move |stacks| {
        let Ok(stacks) = stacks else { return };
        let mut place = place.lock().expect("no code panics with it");
        for stack in stacks.iter().filter(|stack| stack.kind.is_some()) {
            place.stacks += 1;
            place.frames += stack.used_bytes;
        }
    })?;
    program.run(argument)?;
    let found = *found.lock().expect("no code panics with it");
    Ok(found)
}

fn lines_of_code(source: &str) -> usize {
    let lines = source.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with(";;")).count()
}

/// The size of a binary without its custom sections, and of its code section.
fn sizes(binary: &[u8]) -> Result<(usize, usize)> {
    const HEAD: usize = 8;
    const CUSTOM: u8 = 0;
    const CODE: u8 = 10;
    let mut reader = BinaryReader::new(&binary[HEAD..], HEAD as u64);
    let (mut bytes, mut code) = (HEAD, 0);
    while !reader.eof() {
        let start = reader.original_position();
        let section = reader.read_u8()?;
        let size = reader.read_var_u32()? as usize;
        reader.read_bytes(size)?;
        if section != CUSTOM {
            bytes += (reader.original_position() - start) as usize;
        }
        if section == CODE {
            code = size;
        }
    }
    Ok((bytes, code))
}
