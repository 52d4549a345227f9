//! The corpus: the examples, the scripts and the programs of this repository.

use super::token;
use arbitrary::{Result, Unstructured};
use std::path::Path;
use std::sync::LazyLock;

/// The maximum size of a text. Longer ones take too much time.
const LONGEST: usize = 12_000;

/// The forms of each file.
static FILES: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["examples", "crates/wast/tests/scripts", "benches/programs"];
    let mut paths = Vec::new();
    for folder in folders {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        paths.extend(entries.map(|entry| entry.path()));
    }
    // Folders are listed in no particular order.
    paths.sort();
    let files = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok());
    let forms = files.map(|text| {
        let forms = token::forms(&text).into_iter().map(|form| text[form].to_string());
        forms.filter(|form| form.len() < LONGEST).collect::<Vec<_>>()
    });
    let forms: Vec<Vec<String>> = forms.filter(|forms| !forms.is_empty()).collect();
    assert!(!forms.is_empty(), "the repository has modules");
    forms
});

/// All forms that are modules.
static MODULES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let forms = FILES.iter().flatten().map(String::as_str);
    let is_module = |form: &&str| {
        let quoted = ["(module binary", "(module quote", "(module definition", "(module instance"];
        form.starts_with("(module") && !quoted.iter().any(|begin| form.starts_with(begin))
    };
    forms.filter(is_module).collect()
});

/// A module.
pub fn module(u: &mut Unstructured<'_>) -> Result<&'static str> {
    u.choose(&MODULES).copied()
}

/// Some consecutive forms of a script.
pub fn script(u: &mut Unstructured<'_>) -> Result<String> {
    let forms = u.choose(&FILES)?;
    let begin = u.choose_index(forms.len())?;
    let count = u.int_in_range(1..=5)?;
    let some: Vec<&str> = forms.iter().skip(begin).take(count).map(String::as_str).collect();
    Ok(some.join("\n"))
}

/// A module in the binary format, unless it has imports of a script.
pub fn binary(module: &str) -> Option<Vec<u8>> {
    ropewalk_text::Text::parse(module).ok().map(|text| text.binary().to_vec())
}

/// Whether a script cannot run for long. The runner of scripts has no time limit.
pub fn ends_soon(script: &str) -> bool {
    let endless = "loop return switch resume suspend mount stack. memory. table. array. (memory \
                   (table call_stack";
    !endless.split_whitespace().any(|word| script.contains(word))
}
