//! Modules, and arguments for what they export.

use arbitrary::{Result, Unstructured};
use std::sync::LazyLock;
use wasm_smith::{Config, Module};

/// A module, how it is called, and where.
pub struct Case {
    /// The module.
    pub wasm: Vec<u8>,
    /// Arguments are taken from here, in turns.
    pub numbers: Vec<u64>,
    /// The mode in which it runs beside the default one.
    pub mode: usize,
}

/// What each loop and each call uses up.
const FUEL: u32 = 1500;

/// Makes a case.
pub fn case(u: &mut Unstructured<'_>, modes: usize) -> Result<Case> {
    let mode = u.int_in_range(1..=modes - 1)?;
    let numbers = (0..8).map(|_| number(u)).collect::<Result<_>>()?;
    let mut module = Module::new(config(u)?, u)?;
    // It fails only for bodies that are arbitrary bytes, which are not made.
    let fuel = module.ensure_termination(FUEL);
    fuel.map_err(|_| arbitrary::Error::IncorrectFormat)?;
    Ok(Case { wasm: module.to_bytes(), numbers, mode })
}

/// A number that is at a limit, or small, or any.
fn number(u: &mut Unstructured<'_>) -> Result<u64> {
    let bits = [0, 1, u64::MAX, 1 << 31, 1 << 63, 0x7fff_ffff, 0x3ff0_0000_0000_0000, 0xffff];
    match u.int_in_range(0..=2)? {
        0 => Ok(*u.choose(&bits)?),
        1 => u.int_in_range(0..=20),
        _ => u.arbitrary(),
    }
}

/// What the engine implements, without what a machine may decide, and in sizes
/// that a test can afford.
fn config(u: &mut Unstructured<'_>) -> Result<Config> {
    Ok(Config {
        available_imports: Some(IMPORTS.clone()),
        canonicalize_nans: true,
        relaxed_simd_enabled: false,
        threads_enabled: false,
        custom_descriptors_enabled: false,
        custom_page_sizes_enabled: false,
        gc_enabled: u.ratio(3, 4)?,
        simd_enabled: u.ratio(1, 2)?,
        exceptions_enabled: u.ratio(3, 4)?,
        memory64_enabled: u.ratio(1, 2)?,
        tail_call_enabled: u.ratio(1, 2)?,
        export_everything: true,
        min_funcs: 1,
        max_funcs: 12,
        max_instructions: u.int_in_range(20..=300)?,
        max_memories: 3,
        max_tables: 3,
        max_globals: 10,
        max_exports: 60,
        max_types: 20,
        max_memory32_bytes: 8 << 16,
        max_memory64_bytes: 8 << 16,
        max_table_elements: 500,
        max_data_segments: 5,
        max_element_segments: 5,
        memory_max_size_required: true,
        table_max_size_required: true,
        generate_custom_sections: false,
        ..Config::default()
    })
}

/// What the host gives.
static IMPORTS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let text = ropewalk_text::Text::parse(
        r#"(module
          (import "host" "note" (func (param i32 i64 f32 f64)))
          (import "host" "give" (func (result i64)))
          (import "host" "pass" (func (param externref anyref) (result anyref externref)))
          (import "host" "tag" (tag (param i32))))"#,
    );
    text.expect("the imports are a module").binary().to_vec()
});
