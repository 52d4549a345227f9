//! Checks that the folders of a crate are layers: each uses only the layers before it.
//!
//! The test reads the sources. Every path that begins with `crate::` counts, also in macros, but
//! not in unit tests. A path that begins with `super::` cannot leave its folder.

use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The layers of a crate, the lowest first.
struct Layers {
    source: &'static str,
    order: &'static [&'static str],
    /// The arrows that point up: types of a public interface that name each other.
    exceptions: &'static [(&'static str, &'static str)],
}

const RUNTIME: Layers = Layers {
    source: "../runtime/src",
    order: &[
        "embedder", "os", "arch", "code", "heap", "stack", "vm", "report", "store", "inspect",
        "observe", "run", "design", "host", "snapshot", "builtins",
    ],
    exceptions: &[],
};

const COMPILE: Layers = Layers {
    source: "../compile/src",
    order: &[
        "error",
        "arch",
        "target",
        "module",
        "budget",
        "emit",
        "codegen",
        "translate",
        "verbs",
        "design",
        "driver",
    ],
    exceptions: &[],
};

const ROPEWALK: Layers = Layers {
    source: "src",
    order: &[
        "macros",
        "misuse",
        "reexports",
        "engine",
        "module",
        "store",
        "value",
        "reference",
        "items",
        "host",
        "stacks",
        "inspect",
        "snapshot",
    ],
    exceptions: &[
        // An engine has a cache of modules, and one module of its own.
        ("engine", "module"),
        // A value can be a reference, and a reference can refer to values.
        ("value", "reference"),
        // A host function sees its caller's instance and can suspend. An instance can import the
        // function that makes stacks.
        ("items", "host"),
        ("items", "stacks"),
        ("host", "stacks"),
    ],
};

/// The files of a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let nested = paths.map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    nested.flatten().collect()
}

/// Finds the modules that are named after `crate::`.
fn used(tokens: TokenStream, found: &mut BTreeSet<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.to_string() == text);
    for (at, token) in tokens.iter().enumerate() {
        if is(at, "crate") && is(at + 1, ":") && is(at + 2, ":") {
            match tokens.get(at + 3) {
                Some(TokenTree::Ident(name)) => drop(found.insert(name.to_string())),
                Some(TokenTree::Group(group)) => first_names(group.stream(), found),
                _ => {}
            }
        }
        if let TokenTree::Group(group) = token
            && !is_test_module(&tokens[..at])
        {
            used(group.stream(), found);
        }
    }
}

/// The first name of each path of a list.
fn first_names(list: TokenStream, found: &mut BTreeSet<String>) {
    let mut is_first = true;
    for token in list {
        let was_first = is_first;
        let text = token.to_string();
        is_first = text == ",";
        if was_first && matches!(token, TokenTree::Ident(_)) {
            found.insert(text);
        }
    }
}

/// Whether the next token is the body of a module of unit tests.
fn is_test_module(before: &[TokenTree]) -> bool {
    let [.., hash, attribute, module, _name] = before else { return false };
    hash.to_string() == "#"
        && attribute.to_string().replace(' ', "") == "[cfg(test)]"
        && module.to_string() == "mod"
}

/// The uses of higher layers, by file.
fn violations(layers: &Layers) -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(layers.source);
    let place = |layer: &str| layers.order.iter().position(|other| *other == layer);
    let mut found = Vec::new();
    for file in files(&source) {
        let path = file.strip_prefix(&source).expect("a file of the folder");
        let own = path.iter().next().expect("a name").to_string_lossy().replace(".rs", "");
        if own == "lib" {
            continue;
        }
        let Some(own_place) = place(&own) else {
            found.push(format!("{} is in no layer", path.display()));
            continue;
        };
        let text = fs::read_to_string(&file).expect("a source");
        let mut names = BTreeSet::new();
        used(text.parse().expect("Rust"), &mut names);
        let is_exception = |name: &str| layers.exceptions.contains(&(own.as_str(), name));
        let is_upward = |name: &str| place(name).is_some_and(|other| other > own_place);
        let upward = names.iter().filter(|name| is_upward(name) && !is_exception(name));
        found.extend(upward.map(|name| format!("{} uses `{name}`", path.display())));
    }
    found
}

#[test]
fn folders_use_only_those_below_them() {
    let found = [COMPILE, RUNTIME, ROPEWALK].iter().flat_map(violations).collect::<Vec<_>>();
    assert!(found.is_empty(), "a layer uses one above it:\n{}", found.join("\n"));
}

#[test]
fn an_arrow_that_points_up_is_found() {
    let mut turned: Vec<&str> = RUNTIME.order.to_vec();
    turned.reverse();
    assert!(violations(&Layers { order: turned.leak(), ..RUNTIME }).len() > 100);
    let text = "use crate::{a::b, c::{d, e}}; x!(crate::f::g); #[cfg(test)] mod tests { crate::h }";
    let mut names = BTreeSet::new();
    used(text.parse().expect("Rust"), &mut names);
    assert_eq!(names.iter().collect::<Vec<_>>(), ["a", "c", "f"]);
}
