//! The definitions of a module, as far as the designs need them.

mod read;

use std::collections::HashMap;

use crate::dialect::design::Design;
use crate::dialect::source::{Name, Node, Signature, Tree, ValType};
use crate::error::{Error, Result};

pub(crate) use read::{Header, read, type_use};

#[derive(Debug, Default)]
pub(crate) struct Module<'a> {
    pub types: Table<TypeDef<'a>>,
    pub functions: Table<Item<'a>>,
    pub tags: Table<Item<'a>>,
    /// Functions for `stack.extend` alone, and tags for `call_stack` and `answer` alone.
    pub routs: Table<Item<'a>>,
    pub call_tags: Table<Item<'a>>,
    pub globals: Table<Slot<'a>>,
    pub tables: Table<Slot<'a>>,
    /// Whether the module uses first-class stacks, and the bag of stacks.
    pub has_first_class: bool,
    pub has_bag: bool,
    /// Indices in `types`, by the list of the definition.
    types_at: HashMap<Node, usize>,
}

/// Definitions of one sort, by index and by name.
#[derive(Debug)]
pub(crate) struct Table<T> {
    items: Vec<T>,
    named: HashMap<String, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { items: Vec::new(), named: HashMap::new() }
    }
}

/// `(type $x ..)`.
#[derive(Debug)]
pub(crate) struct TypeDef<'a> {
    pub name: Option<Name<'a>>,
    /// The list `(type ..)`, and its offset.
    pub list: Node,
    pub at: usize,
    /// Whether it is in a `(rec ..)`.
    pub is_grouped: bool,
    /// The subtyping, `None` without `sub`.
    pub sub: Option<Sub<'a>>,
    pub kind: TypeKind<'a>,
}

/// The start of `(sub final? $x* ..)`.
#[derive(Debug)]
pub(crate) struct Sub<'a> {
    pub is_final: bool,
    pub supertypes: Vec<Name<'a>>,
}

/// The sort of a type.
#[derive(Debug)]
pub(crate) enum TypeKind<'a> {
    Func(Signature<'a>),
    /// `(cont $function)`.
    Cont,
    Struct(Table<Slot<'a>>),
    Array(Slot<'a>),
    /// Not a type. The standard parser reports it.
    Other,
    Design(&'static Design, Signature<'a>),
}

impl TypeKind<'_> {
    /// A description for messages, with an article.
    pub fn describe(&self) -> &'static str {
        match self {
            TypeKind::Func(_) => "a function type",
            TypeKind::Cont => "a continuation type",
            TypeKind::Struct(_) => "a struct type",
            TypeKind::Array(_) => "an array type",
            TypeKind::Other => "no type",
            TypeKind::Design(design, _) => design.ty,
        }
    }

    /// The error for a type of this sort where another is expected.
    pub fn instead_of(&self, expected: &str, name: Name<'_>) -> Error {
        let (text, found) = (name.text, self.describe());
        Error::invalid(name.at, format!("expected {expected}, but `{text}` is {found}"))
    }
}

/// A function or a tag.
#[derive(Debug)]
pub(crate) struct Item<'a> {
    /// `(type $x)`.
    pub type_use: Option<Name<'a>>,
    /// `(param ..) (result ..)`.
    pub inline: Signature<'a>,
}

/// A global, a field of a struct, or an element of a table or an array.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Slot<'a> {
    /// `None` if it is not a value type. The standard parser reports it.
    pub ty: Option<ValType<'a>>,
    pub is_mutable: bool,
    /// Whether it is a table that is indexed by `i64`.
    pub is_64: bool,
}

impl<'a> Slot<'a> {
    /// Reads `t` or `(mut t)`.
    pub fn read(tree: &Tree<'a>, node: Node) -> Slot<'a> {
        let is_mutable = tree.head(node) == Some("mut");
        let ty = ValType::read(tree, if is_mutable { node + 2 } else { node }).ok();
        Slot { ty, is_mutable, is_64: false }
    }
}

impl<T> Table<T> {
    /// Adds a definition. The standard parser reports duplicate names.
    pub fn add(&mut self, name: Option<Name<'_>>, item: T) {
        if let Some(name) = name {
            self.named.entry(name.key().into_owned()).or_insert(self.items.len());
        }
        self.items.push(item);
    }

    /// The definition with this name; `sort` describes it in errors.
    pub fn get(&self, name: Name<'_>, sort: &str) -> Result<&T> {
        let index = self.named.get(&*name.key()).ok_or_else(|| unknown(name, sort))?;
        Ok(&self.items[*index])
    }

    /// The definition with this name or index.
    pub fn index(&self, text: &str, at: usize, sort: &str) -> Result<&T> {
        if text.starts_with('$') {
            return self.get(Name { text, at }, sort);
        }
        let number = number(text).and_then(|number| self.items.get(number));
        number.ok_or_else(|| Error::invalid(at, format!("unknown {sort} {text}")))
    }

    pub fn has(&self, name: Name<'_>) -> bool {
        self.named.contains_key(&*name.key())
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }
}

/// Parses a numeric index.
pub(crate) fn number(text: &str) -> Option<usize> {
    let text = text.replace('_', "");
    match text.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn unknown(name: Name<'_>, sort: &str) -> Error {
    let message = format!("unknown {sort}: there is no {sort} named `{}`", name.text);
    Error::malformed(name.at, message)
}

impl<'a> Module<'a> {
    pub fn add_type(&mut self, definition: TypeDef<'a>) {
        self.types_at.insert(definition.list, self.types.items.len());
        self.types.add(definition.name, definition);
    }

    /// The type defined by a list `(type ..)`.
    pub fn type_at(&self, list: Node) -> Option<&TypeDef<'a>> {
        self.types_at.get(&list).map(|&index| &self.types.items[index])
    }

    pub fn ty(&self, name: Name<'_>) -> Result<&TypeDef<'a>> {
        self.types.get(name, "type")
    }

    pub fn function(&self, name: Name<'_>) -> Result<&Item<'a>> {
        if self.routs.has(name) && !self.functions.has(name) {
            return Err(rout(name));
        }
        self.functions.get(name, "function")
    }

    pub fn tag(&self, name: Name<'_>) -> Result<&Item<'a>> {
        if self.call_tags.has(name) && !self.tags.has(name) {
            return Err(call_tag(name));
        }
        self.tags.get(name, "tag")
    }

    /// The signature of a function type with this name.
    pub fn function_type(&self, name: Name<'_>) -> Result<&Signature<'a>> {
        match &self.ty(name)?.kind {
            TypeKind::Func(signature) => Ok(signature),
            other => Err(other.instead_of("a function type", name)),
        }
    }

    /// The signature of a type of a design with this name.
    pub fn design_type(&self, name: Name<'_>, design: &Design) -> Result<&Signature<'a>> {
        match &self.ty(name)?.kind {
            TypeKind::Design(found, signature) if found.name == design.name => Ok(signature),
            other => Err(other.instead_of(design.ty, name)),
        }
    }

    /// The signature of a function or a tag.
    pub fn signature<'m>(&'m self, item: &'m Item<'a>) -> Result<&'m Signature<'a>> {
        match item.type_use {
            Some(name) => self.function_type(name),
            None => Ok(&item.inline),
        }
    }

    /// Checks that the types in value types are defined.
    pub fn check_names(&self, types: &[ValType<'_>]) -> Result<()> {
        types.iter().filter_map(ValType::type_name).try_for_each(|name| self.ty(name).map(drop))
    }
}

/// The error for a rout in place of a function.
fn rout(name: Name<'_>) -> Error {
    let message = format!(
        "unknown function: `{}` is a rout, and only `stack.extend` can name a rout",
        name.text
    );
    Error::invalid(name.at, message)
}

/// The error for a call tag in place of a tag.
fn call_tag(name: Name<'_>) -> Error {
    let message = format!(
        "unknown tag: `{}` is a call_tag, and only `answer` and `call_stack` can name a call_tag",
        name.text
    );
    Error::invalid(name.at, message)
}
