//! Finds the public functions whose arguments must belong to the same store or engine, by reading
//! the sources.
//!
//! A function counts if two of its parameters, including the receiver, mention a type that
//! [belongs](BELONGS) to a store or an engine. Generic parameters stand for their bounds. Arguments
//! of closures do not count, since the library passes them.

use proc_macro2::{Group, Ident, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{
    FnArg, GenericParam, Generics, ImplItem, Item, ItemImpl, ItemMacro, ItemTrait, PathArguments,
    PathSegment, Signature, TraitItem, Type, UseTree, Visibility, WherePredicate,
};

/// The exported types and traits that belong to a store or an engine, or contain such a type.
pub const BELONGS: &[&str] = &[
    // Stores and engines.
    "Accessor",
    "AsContext",
    "AsContextMut",
    "Caller",
    "Engine",
    "RootScope",
    "Store",
    "StoreContext",
    "StoreContextMut",
    // Handles that belong to an engine.
    "ArrayType",
    "ImportType",
    "InstancePre",
    "Linker",
    "Module",
    "ModuleExport",
    "Restoring",
    "StructType",
    // Types that may name defined types, by their indices in an engine.
    "ExternType",
    "FieldType",
    "FuncType",
    "GlobalType",
    "HeapType",
    "RefType",
    "StorageType",
    "TableType",
    "TagType",
    "ValType",
    // Handles that belong to a store.
    "AnyRef",
    "ArrayRef",
    "Arrived",
    "BagStack",
    "Clause",
    "ContRef",
    "Continuation",
    "Exception",
    "ExnRef",
    "Extern",
    "ExternRef",
    "Fiber",
    "FirstClassStack",
    "Frame",
    "Func",
    "FuncId",
    "Global",
    "Instance",
    "Later",
    "Memory",
    "Mounted",
    "Owned",
    "Reference",
    "Restored",
    "RestoredCall",
    "Resumed",
    "Snapshot",
    "SnapshotOptions",
    "StackInfo",
    "StackList",
    "StructRef",
    "Suspension",
    "Switched",
    "Table",
    "Tag",
    "Task",
    "TaskResumed",
    "TypedContinuation",
    "TypedFunc",
    "TypedResumed",
    "TypedTag",
    "TypedTask",
    "Val",
    "WasmParams",
    "WasmResults",
    "WasmRet",
    "WasmTy",
];

/// The exported types and traits that belong to nothing.
pub const FREE: &[&str] = &[
    "Answer",
    "AsyncFunc",
    "Backtrace",
    "Boundary",
    "Cache",
    "Config",
    "Deadlock",
    "DefinedTwice",
    "Designs",
    "Error",
    "ExportType",
    "HostError",
    "Immutable",
    "InterruptHandle",
    "IntoFunc",
    "Life",
    "LinkError",
    "MemoryType",
    "ModuleError",
    "InjectedBug",
    "NoSuchExport",
    "OptLevel",
    "OtherSettings",
    "OutOfBounds",
    "OutOfFuel",
    "SourcePlace",
    "Profile",
    "Progress",
    "Refused",
    "ResourceLimiter",
    "ResourceLimiterAsync",
    "Result",
    "Sample",
    "ScopeEnded",
    "SnapshotError",
    "SnapshotHandle",
    "StackKind",
    "StackStatistics",
    "StackTrap",
    "StoreLimits",
    "StoreLimitsBuilder",
    "Stress",
    "Trap",
    "TrapCode",
    "Undecided",
    "UnknownType",
    "Waits",
    "WasmFeatures",
    "WhenBehind",
    "WrongCount",
    "WrongEngine",
    "WrongExport",
    "WrongStore",
    "WrongType",
    "stress",
    "traces",
];

/// The exports of the library, from the `pub use` lines of its root.
pub fn exported() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in parse(&sources().join("lib.rs")).items {
        if let Item::Use(item) = item
            && matches!(item.vis, Visibility::Public(_))
        {
            add_names(&item.tree, &mut names);
        }
    }
    names
}

fn add_names(tree: &UseTree, names: &mut BTreeSet<String>) {
    match tree {
        UseTree::Path(path) => add_names(&path.tree, names),
        UseTree::Name(name) => drop(names.insert(name.ident.to_string())),
        UseTree::Rename(name) => drop(names.insert(name.rename.to_string())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| add_names(tree, names)),
        UseTree::Glob(_) => panic!("`pub use` with a `*` hides the exported names from this test"),
    }
}

/// The public functions whose arguments must belong together, as `Type::function`, each with the
/// number of such parameters.
pub fn functions() -> BTreeMap<String, usize> {
    let files: Vec<syn::File> = files(&sources()).iter().map(|path| parse(path)).collect();
    functions_in(&files)
}

fn functions_in(files: &[syn::File]) -> BTreeMap<String, usize> {
    let mut reader =
        Reader { exported: exported(), macros: BTreeMap::new(), found: BTreeMap::new() };
    files.iter().for_each(|file| reader.learn_macros(&file.items));
    files.iter().for_each(|file| reader.items(&file.items));
    reader.found
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn parse(path: &Path) -> syn::File {
    let text = std::fs::read_to_string(path).unwrap();
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    };
    entries.flat_map(of).collect()
}

struct Reader {
    exported: BTreeSet<String>,
    /// The bodies of macros that define public functions.
    macros: BTreeMap<String, TokenStream>,
    found: BTreeMap<String, usize>,
}

impl Reader {
    fn learn_macros(&mut self, items: &[Item]) {
        for item in items {
            let Item::Macro(ItemMacro { ident: Some(name), mac, .. }) = item else { continue };
            let groups = mac.tokens.clone().into_iter().filter_map(group);
            // The arms are patterns and bodies in turn.
            for body in groups.skip(1).step_by(2).map(|body| body.stream()) {
                if defines_public_functions(&body) {
                    let before = self.macros.insert(name.to_string(), body);
                    assert!(before.is_none(), "a second arm of {name}! defines public functions");
                }
            }
        }
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Impl(item) if item.trait_.is_none() => self.methods(item),
                Item::Trait(item) => self.trait_methods(item),
                Item::Fn(item) if self.exported.contains(&item.sig.ident.to_string()) => {
                    self.function(None, &Generics::default(), &item.sig);
                }
                Item::Mod(item) => {
                    let items = item.content.as_ref().map(|(_, items)| &items[..]);
                    self.items(items.unwrap_or_default());
                }
                Item::Macro(item) => self.expand(item),
                _ => {}
            }
        }
    }

    /// Expands a macro once for each type that belongs to a store or an engine.
    fn expand(&mut self, item: &ItemMacro) {
        let name = item.mac.path.segments.last().unwrap().ident.to_string();
        let Some(body) = self.macros.get(&name).cloned() else { return };
        let arguments = identifiers(item.mac.tokens.clone());
        let mut types: Vec<&Ident> =
            arguments.iter().filter(|name| belongs(&name.to_string())).collect();
        let placeholder = Ident::new("Placeholder", proc_macro2::Span::call_site());
        if types.is_empty() {
            types.push(&placeholder);
        }
        for ty in types {
            let made = syn::parse2::<syn::File>(substituted(body.clone(), ty));
            let made = made.unwrap_or_else(|error| {
                panic!(
                    "{name}! defines public functions in a way that this test cannot read: {error}"
                )
            });
            self.items(&made.items);
        }
    }

    fn methods(&mut self, item: &ItemImpl) {
        let Type::Path(path) = &*item.self_ty else { return };
        let name = path.path.segments.last().unwrap().ident.to_string();
        if !self.exported.contains(&name) {
            return;
        }
        for item_fn in &item.items {
            match item_fn {
                ImplItem::Fn(function) if matches!(function.vis, Visibility::Public(_)) => {
                    self.function(Some(&name), &item.generics, &function.sig);
                }
                ImplItem::Macro(_) => panic!("this test does not read macros in `impl {name}`"),
                _ => {}
            }
        }
    }

    fn trait_methods(&mut self, item: &ItemTrait) {
        let name = item.ident.to_string();
        if !self.exported.contains(&name) {
            return;
        }
        for function in &item.items {
            if let TraitItem::Fn(function) = function
                && !function.attrs.iter().any(is_hidden)
            {
                self.function(Some(&name), &item.generics, &function.sig);
            }
        }
    }

    fn function(&mut self, of: Option<&str>, outer: &Generics, signature: &Signature) {
        let mut bounds = BTreeMap::new();
        [outer, &signature.generics].iter().for_each(|generics| add_bounds(generics, &mut bounds));
        let belongs_somewhere = |argument: &&FnArg| match argument {
            FnArg::Receiver(_) => of.is_some_and(belongs),
            FnArg::Typed(argument) => mentions(&argument.ty, &bounds),
        };
        let count = signature.inputs.iter().filter(belongs_somewhere).count();
        if count >= 2 {
            let name = &signature.ident;
            self.found.insert(of.map_or(name.to_string(), |of| format!("{of}::{name}")), count);
        }
    }
}

fn belongs(name: &str) -> bool {
    BELONGS.contains(&name)
}

fn is_hidden(attribute: &syn::Attribute) -> bool {
    let is_hidden = |list: &syn::MetaList| list.tokens.to_string() == "hidden";
    attribute.path().is_ident("doc") && attribute.meta.require_list().is_ok_and(is_hidden)
}

/// Whether each generic parameter belongs to a store or an engine.
fn add_bounds(generics: &Generics, bounds: &mut BTreeMap<String, bool>) {
    let none = BTreeMap::new();
    for parameter in &generics.params {
        if let GenericParam::Type(parameter) = parameter {
            let mut names = Names { bounds: &none, found: false };
            parameter.bounds.iter().for_each(|bound| names.visit_type_param_bound(bound));
            *bounds.entry(parameter.ident.to_string()).or_default() |= names.found;
        }
    }
    for predicate in generics.where_clause.iter().flat_map(|clause| &clause.predicates) {
        if let WherePredicate::Type(predicate) = predicate
            && let Type::Path(path) = &predicate.bounded_ty
            && let Some(name) = path.path.get_ident()
        {
            let mut names = Names { bounds: &none, found: false };
            predicate.bounds.iter().for_each(|bound| names.visit_type_param_bound(bound));
            *bounds.entry(name.to_string()).or_default() |= names.found;
        }
    }
}

fn mentions(ty: &Type, bounds: &BTreeMap<String, bool>) -> bool {
    let mut names = Names { bounds, found: false };
    names.visit_type(ty);
    names.found
}

/// Finds the names of types that belong to a store or an engine.
struct Names<'a> {
    bounds: &'a BTreeMap<String, bool>,
    found: bool,
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_path_segment(&mut self, segment: &'ast PathSegment) {
        let name = segment.ident.to_string();
        let is_closure = matches!(segment.arguments, PathArguments::Parenthesized(_))
            || ["IntoFunc", "AsyncFunc"].contains(&&*name);
        if !is_closure {
            self.found |= belongs(&name) || self.bounds.get(&name).is_some_and(|found| *found);
            visit::visit_path_segment(self, segment);
        }
    }
}

fn group(tree: TokenTree) -> Option<Group> {
    if let TokenTree::Group(group) = tree { Some(group) } else { None }
}

/// All identifiers, also those in groups.
fn identifiers(tokens: TokenStream) -> Vec<Ident> {
    let of = |tree| match tree {
        TokenTree::Ident(name) => vec![name],
        TokenTree::Group(group) => identifiers(group.stream()),
        _ => vec![],
    };
    tokens.into_iter().flat_map(of).collect()
}

fn defines_public_functions(body: &TokenStream) -> bool {
    let names: Vec<String> = identifiers(body.clone()).iter().map(Ident::to_string).collect();
    let is_qualifier = |name: &&String| ["async", "const", "unsafe"].contains(&name.as_str());
    let after_pub = names.split(|name| name == "pub").skip(1);
    let mut first = after_pub.map(|names| names.iter().find(|name| !is_qualifier(name)));
    first.any(|name| name.is_some_and(|name| name == "fn"))
}

/// The body of a macro with a type instead of `$name`. Repetitions occur once, and other variables
/// become their names.
fn substituted(body: TokenStream, ty: &Ident) -> TokenStream {
    let mut made = TokenStream::new();
    let mut tokens = body.into_iter();
    while let Some(tree) = tokens.next() {
        match tree {
            TokenTree::Punct(punct) if punct.as_char() == '$' => match tokens.next() {
                Some(TokenTree::Ident(name)) if name == "name" => {
                    made.extend([ty.clone()].map(TokenTree::Ident))
                }
                Some(TokenTree::Group(group)) => {
                    made.extend(substituted(group.stream(), ty));
                    // The separator, if any, and the repetition operator.
                    while let Some(TokenTree::Punct(punct)) = tokens.next() {
                        if "*+?".contains(punct.as_char()) {
                            break;
                        }
                    }
                }
                other => made.extend(other),
            },
            TokenTree::Group(group) => {
                let inner = substituted(group.stream(), ty);
                made.extend([TokenTree::Group(Group::new(group.delimiter(), inner))]);
            }
            other => made.extend([other]),
        }
    }
    made
}

#[test]
fn functions_are_found_in_impls_traits_and_macros() {
    let source = r#"
        impl<T> Store<T> {
            pub fn of_self(&mut self, func: Func) {}
            pub fn of_nothing(&mut self, bytes: &[u8]) {}
            pub(crate) fn inside(&mut self, func: Func) {}
        }
        impl Func {
            pub fn bound<C: AsContext>(&self, store: &C, results: &mut [Val]) {}
            pub async fn clause<C>(&self, store: C) where C: AsContextMut<Data: Send> {}
            pub fn closure(&self, f: impl Fn(Caller<'_, ()>, &[Val]) -> Val) {}
            pub fn new<T, P, R>(store: impl AsContext<Data = T>, f: impl IntoFunc<T, P, R>) {}
        }
        impl Private {
            pub fn not_exported(&self, store: impl AsContext, func: Func) {}
        }
        pub trait Reference {
            fn of_trait(self, store: impl AsContext);
            #[doc(hidden)]
            fn hidden(self, store: impl AsContext);
        }
        macro_rules! made {
            ($($(#[$doc:meta])* $name:ident: $what:literal;)*) => {
                $(
                    $(#[$doc])*
                    impl $name {
                        #[doc = concat!("A ", $what, ".")]
                        pub const fn of_macro(&self, other: Option<&$name>) {}
                    }
                )*
            };
        }
        made! {
            Tag: "tag";
            Table: "table";
        }"#;
    let found = functions_in(&[syn::parse_file(source).unwrap()]);
    let expected = [
        ("Func::bound", 3),
        ("Func::clause", 2),
        ("Reference::of_trait", 2),
        ("Store::of_self", 2),
        ("Table::of_macro", 2),
        ("Tag::of_macro", 2),
    ];
    assert_eq!(found, expected.map(|(name, count)| (name.to_string(), count)).into());
}
