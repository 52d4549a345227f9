//! Generates modules, and arguments for their exports.

use arbitrary::{Result, Unstructured};
use std::sync::LazyLock;
use wasm_smith::{Config, Module};

/// A module, its arguments, and a mode.
pub struct Case {
    pub wasm: Vec<u8>,
    /// The numbers for arguments, used in turn.
    pub numbers: Vec<u64>,
    /// The mode in which it runs besides the default.
    pub mode: usize,
}

/// The fuel of a module: each loop iteration and each call uses some.
const FUEL: u32 = 1500;

pub fn case(u: &mut Unstructured<'_>, modes: usize) -> Result<Case> {
    let mode = u.int_in_range(1..=modes - 1)?;
    let numbers = (0..8).map(|_| number(u)).collect::<Result<_>>()?;
    let mut module = Module::new(config(u)?, u)?;
    // This fails only for bodies of arbitrary bytes, which are not generated.
    let fuel = module.ensure_termination(FUEL);
    fuel.map_err(|_| arbitrary::Error::IncorrectFormat)?;
    Ok(Case { wasm: module.to_bytes(), numbers, mode })
}

/// A number: at a limit, small, or any.
fn number(u: &mut Unstructured<'_>) -> Result<u64> {
    let bits = [0, 1, u64::MAX, 1 << 31, 1 << 63, 0x7fff_ffff, 0x3ff0_0000_0000_0000, 0xffff];
    match u.int_in_range(0..=2)? {
        0 => Ok(*u.choose(&bits)?),
        1 => u.int_in_range(0..=20),
        _ => u.arbitrary(),
    }
}

/// The features of the engine, without nondeterminism, in sizes that a test can afford.
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

/// The imports from the host.
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
