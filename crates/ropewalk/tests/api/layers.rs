//! Checks that the folders of a crate are layers: each uses only the layers before it.
//!
//! The test reads the sources, except unit tests. Two kinds of uses count, also in macros:
//!
//! * paths that begin with `crate::`, or with enough `super::` to leave the layer;
//! * calls of methods that a higher layer adds to a type. A store has methods in most layers, so a
//!   call needs no path. A call is recognized by the method's name, so only methods whose names no
//!   function of the caller's layer or below has are checked.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
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

/// The uses in a source.
#[derive(Default)]
struct Uses {
    /// The modules of the crate's root that paths name.
    modules: BTreeSet<String>,
    /// The names of called methods, with the type if a path names it.
    methods: BTreeSet<(Option<String>, String)>,
}

/// Finds uses in tokens of a module, which is so deep below the crate's root.
fn find_uses(tokens: TokenStream, depth: usize, uses: &mut Uses) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token.to_string() == text);
    let is_path = |at: usize| is(at, ":") && is(at + 1, ":");
    for (at, token) in tokens.iter().enumerate() {
        let begins_path = at == 0 || !is(at - 1, ":");
        let supers =
            (0..).take_while(|i| is(at + 3 * i, "super") && is_path(at + 3 * i + 1)).count();
        let root = match () {
            () if is(at, "crate") && is_path(at + 1) => Some(at + 3),
            () if begins_path && supers >= depth => Some(at + 3 * supers),
            () => None,
        };
        match root.and_then(|root| tokens.get(root)) {
            Some(TokenTree::Ident(name)) => drop(uses.modules.insert(name.to_string())),
            Some(TokenTree::Group(group)) => first_names(group.stream(), &mut uses.modules),
            _ => {}
        }
        if let Some(method) = method(&tokens, at) {
            uses.methods.insert(method);
        }
        if let TokenTree::Group(group) = token
            && !is_test_module(&tokens[..at])
        {
            let is_module = at > 1 && is(at - 2, "mod");
            find_uses(group.stream(), depth + usize::from(is_module), uses);
        }
    }
}

/// The name at a position, if it is that of a method: `value.name(..)` or `Type::name`.
fn method(tokens: &[TokenTree], at: usize) -> Option<(Option<String>, String)> {
    let text = |at: Option<usize>| at.and_then(|at| tokens.get(at)).map(TokenTree::to_string);
    let TokenTree::Ident(name) = &tokens[at] else { return None };
    if text(at.checked_sub(1)).as_deref() == Some(".") {
        let is_call = match tokens.get(at + 1) {
            Some(TokenTree::Group(arguments)) => arguments.delimiter() == Delimiter::Parenthesis,
            next => next.is_some_and(|next| next.to_string() == ":"),
        };
        return is_call.then(|| (None, name.to_string()));
    }
    let ty = text(at.checked_sub(3))?;
    let is_path = text(Some(at - 1))? == ":" && ty.starts_with(char::is_uppercase);
    is_path.then(|| (Some(ty), name.to_string()))
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

/// A source of a crate.
struct Source {
    /// Its path below the folder of sources.
    path: String,
    /// The number of its layer.
    layer: usize,
    /// How deep its module is below the crate's root.
    depth: usize,
    text: String,
}

/// The sources of a crate, and the paths of those that are in no layer.
fn sources(layers: &Layers) -> (Vec<Source>, Vec<String>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(layers.source);
    let (mut sources, mut others) = (Vec::new(), Vec::new());
    for file in files(&folder) {
        let below = file.strip_prefix(&folder).expect("a file of the folder");
        let path = below.display().to_string();
        let layer = below.iter().next().expect("a name").to_string_lossy().replace(".rs", "");
        if layer == "lib" {
            continue;
        }
        let Some(layer) = layers.order.iter().position(|other| **other == layer) else {
            others.push(format!("{path} is in no layer"));
            continue;
        };
        let depth = below.iter().count() - usize::from(path.ends_with("/mod.rs"));
        let text = fs::read_to_string(&file).expect("a source");
        sources.push(Source { path, layer, depth, text });
    }
    (sources, others)
}

/// The definitions of a crate.
#[derive(Default)]
struct Definitions {
    /// The layers that define a type of this name.
    types: BTreeMap<String, Vec<usize>>,
    /// The lowest layer that defines a function or method of this name.
    functions: BTreeMap<String, usize>,
    /// The types to which `impl` blocks add a method of this name.
    methods: BTreeMap<String, BTreeSet<String>>,
}

impl Definitions {
    fn add(&mut self, source: &Source) {
        let file = syn::parse_file(&source.text).expect("Rust");
        for item in file.items {
            match item {
                syn::Item::Struct(ty) => self.add_type(&ty.ident, source.layer),
                syn::Item::Enum(ty) => self.add_type(&ty.ident, source.layer),
                syn::Item::Fn(function) => self.add_function(&function.sig, source.layer),
                syn::Item::Trait(methods) => {
                    for item in methods.items {
                        let syn::TraitItem::Fn(function) = item else { continue };
                        self.add_function(&function.sig, source.layer);
                    }
                }
                syn::Item::Impl(methods) => {
                    let ty =
                        methods.trait_.is_none().then(|| type_name(&methods.self_ty)).flatten();
                    for item in methods.items {
                        let syn::ImplItem::Fn(function) = item else { continue };
                        self.add_function(&function.sig, source.layer);
                        let name = function.sig.ident.to_string();
                        self.methods.entry(name).or_default().extend(ty.clone());
                    }
                }
                _ => {}
            }
        }
    }

    fn add_type(&mut self, name: &syn::Ident, layer: usize) {
        self.types.entry(name.to_string()).or_default().push(layer);
    }

    fn add_function(&mut self, signature: &syn::Signature, layer: usize) {
        let lowest = self.functions.entry(signature.ident.to_string()).or_insert(layer);
        *lowest = layer.min(*lowest);
    }

    /// The higher layer that adds a method of this name to a type that a layer knows, if no other
    /// function can be meant. `Some` type must be the one.
    fn higher_method(&self, (ty, name): &(Option<String>, String), layer: usize) -> Option<usize> {
        let lowest = *self.functions.get(name)?;
        let is_meant = |other: &&String| ty.as_ref().is_none_or(|ty| ty == *other);
        let is_known = |ty: &String| match self.types.get(ty).map(Vec::as_slice) {
            Some([one]) => *one <= layer,
            _ => false,
        };
        let is_added = self.methods.get(name)?.iter().filter(is_meant).any(is_known);
        (is_added && lowest > layer).then_some(lowest)
    }
}

/// The last name of the path of a type.
fn type_name(ty: &syn::Type) -> Option<String> {
    let syn::Type::Path(path) = ty else { return None };
    path.path.segments.last().map(|segment| segment.ident.to_string())
}

/// The uses of higher layers, by file.
fn violations(layers: &Layers) -> Vec<String> {
    let (sources, mut found) = sources(layers);
    let mut definitions = Definitions::default();
    sources.iter().for_each(|source| definitions.add(source));
    for Source { path, layer, depth, text } in &sources {
        let mut uses = Uses::default();
        find_uses(text.parse().expect("Rust"), *depth, &mut uses);
        let place = |name: &str| layers.order.iter().position(|other| *other == name);
        let is_exception = |name: &str| layers.exceptions.contains(&(layers.order[*layer], name));
        let is_upward = |name: &str| place(name).is_some_and(|other| other > *layer);
        let modules = uses.modules.iter().filter(|name| is_upward(name) && !is_exception(name));
        found.extend(modules.map(|name| format!("{path} uses `{name}`")));
        for method in &uses.methods {
            if let Some(higher) = definitions.higher_method(method, *layer)
                && !is_exception(layers.order[higher])
            {
                found.push(format!("{path} calls `{}` of `{}`", method.1, layers.order[higher]));
            }
        }
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
    let text = "use crate::{a::b, c::{d, e}}; x!(crate::f::g); #[cfg(test)] mod tests { crate::h }
        use super::i; use super::super::j::k; mod m { use super::super::l; super::super::super::n() }
        x!(store.o(p.q)); a::Store::r; t::<U>::v();";
    let mut uses = Uses::default();
    find_uses(text.parse().expect("Rust"), 2, &mut uses);
    assert_eq!(uses.modules.iter().collect::<Vec<_>>(), ["a", "c", "f", "j", "n"]);
    let methods = [(None, "o".to_string()), (Some("Store".to_string()), "r".to_string())];
    assert_eq!(uses.methods.into_iter().collect::<Vec<_>>(), methods);
}

#[test]
fn a_call_of_a_higher_layers_method_is_found() {
    let mut definitions = Definitions::default();
    for (layer, text) in [
        "struct A; impl A { fn low(&self) {} }",
        "impl A { fn high(&self) {} } impl B for A { fn of_trait(&self) {} }",
        "struct C; impl C { fn of_another(&self) {} } impl A { fn low(&self) {} }",
    ]
    .into_iter()
    .enumerate()
    {
        let (path, text) = (String::new(), text.to_string());
        definitions.add(&Source { path, layer, depth: 1, text });
    }
    let higher = |ty: Option<&str>, name: &str, layer| {
        definitions.higher_method(&(ty.map(str::to_string), name.to_string()), layer)
    };
    assert_eq!(higher(None, "high", 0), Some(1));
    assert_eq!(higher(Some("A"), "high", 0), Some(1));
    assert_eq!(higher(Some("B"), "high", 0), None);
    assert_eq!(higher(None, "high", 1), None);
    for name in ["low", "of_trait", "of_another", "unknown"] {
        assert_eq!(higher(None, name, 0), None, "{name}");
    }
}
