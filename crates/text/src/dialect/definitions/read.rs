//! Reads the definitions of a module, before anything is lowered.
//!
//! Reads only what the designs need. The parser of the standard text reports other errors.

use crate::dialect::bag::BAG;
use crate::dialect::definitions::{Item, Module, Slot, Sub, Table, TypeDef, TypeKind};
use crate::dialect::design::Role;
use crate::dialect::source::{Name, Node, Nodes, Signature, Tree, Words};
use crate::error::{Error, Result};

pub(crate) fn read<'a>(
    tree: &Tree<'a>,
    words: &Words<'_, 'a>,
    fields: Nodes<'_, 'a>,
) -> Result<Module<'a>> {
    let mut reader = Reader { tree, words, module: Module::default() };
    reader.module.has_first_class = words.has_first_class;
    reader.module.has_bag = words.designs().iter().any(|design| design.name == BAG.name);
    for field in fields {
        reader.field(field)?;
    }
    reader.check_names()?;
    reader.check_order()?;
    Ok(reader.module)
}

struct Reader<'t, 'a> {
    tree: &'t Tree<'a>,
    words: &'t Words<'t, 'a>,
    module: Module<'a>,
}

impl<'a> Reader<'_, 'a> {
    fn field(&mut self, field: Node) -> Result<()> {
        match self.tree.head(field) {
            Some("type") => self.ty(field),
            Some("rec") => self.tree.children(field).skip(1).try_for_each(|ty| self.ty(ty)),
            Some("import") => self.import(field),
            _ => self.item(field),
        }
    }

    /// `(import "a" "b" (func ..))`, and groups: `(import "a" (item "b" (func ..)))`,
    /// and `(import "a" (item "b") (item "c") (func ..))`, which is two functions.
    fn import(&mut self, import: Node) -> Result<()> {
        let tree = self.tree;
        let is_group = tree.is_list(import + 3);
        let mut count = usize::from(!is_group);
        for node in tree.children(import).filter(|&node| tree.is_list(node)) {
            match (tree.head(node), tree.children(node).nth(2)) {
                (Some("item"), Some(description)) => self.item(description)?,
                (Some("item"), None) => count += 1,
                _ => (0..count).try_for_each(|_| self.item(node))?,
            }
        }
        Ok(())
    }

    /// Reads a function or a tag, defined or imported, or a field of a design.
    fn item(&mut self, list: Node) -> Result<()> {
        let tree = self.tree;
        let Some(head) = tree.head(list) else { return Ok(()) };
        if let Some((design, Role::Field | Role::Function)) = self.words.find(list + 1) {
            return (design.read_field)(tree, list, &mut self.module);
        }
        let items = match head {
            "global" => return self.slot(list, |module| &mut module.globals),
            "table" => return self.slot(list, |module| &mut module.tables),
            "func" => &mut self.module.functions,
            "tag" => &mut self.module.tags,
            _ => return Ok(()),
        };
        let header = Header::read(tree, list)?;
        items.add(header.name, header.item);
        Ok(())
    }

    /// `(global $x? (export ..)* (import ..)? (mut t) ..)`, or
    /// `(table $x? (export ..)* (import ..)? i64? n m? t ..)`.
    fn slot(
        &mut self,
        list: Node,
        slots: impl for<'m> FnOnce(&'m mut Module<'a>) -> &'m mut Table<Slot<'a>>,
    ) -> Result<()> {
        let tree = self.tree;
        let is_table = tree.head(list) == Some("table");
        let is_before = |node: &Node| match tree.word(*node) {
            Some(word) => is_table && matches!(word, "i32" | "i64" | "shared"),
            None => tree.is_number(*node) || matches!(tree.head(*node), Some("export" | "import")),
        };
        let mut parts = tree.children(list).skip(1).peekable();
        let name = parts.next_if(|&node| tree.is_name(node));
        let mut is_64 = false;
        while let Some(node) = parts.next_if(is_before) {
            is_64 |= tree.word(node) == Some("i64");
        }
        let slot = parts.next().map_or_else(Slot::default, |node| Slot::read(tree, node));
        let slot = Slot { is_64, is_mutable: is_table || slot.is_mutable, ..slot };
        let name = name.and_then(|node| Name::read(tree, node));
        slots(&mut self.module).add(name, slot);
        Ok(())
    }

    /// `(type $x? (sub final? $y* (func ..)))`, or without `sub`.
    fn ty(&mut self, list: Node) -> Result<()> {
        let tree = self.tree;
        let mut parts = tree.children(list).skip(1).peekable();
        let name = parts.next_if(|&node| tree.is_name(node));
        let name = name.and_then(|node| Name::read(tree, node));
        let Some(outer) = parts.next() else { return Ok(()) };
        let (sub, inner) = match tree.head(outer) {
            Some("sub") => sub(tree, outer),
            _ => (None, outer),
        };
        let kind = self.kind(inner)?;
        if let TypeKind::Design(..) = kind {
            end_of_list(tree, inner)?;
            end_of_list(tree, outer)?;
        }
        let at = tree.start(list + 1);
        let is_grouped = tree.parent(list).is_some_and(|outer| tree.head(outer) == Some("rec"));
        self.module.add_type(TypeDef { name, list, at, is_grouped, sub, kind });
        Ok(())
    }

    fn kind(&self, list: Node) -> Result<TypeKind<'a>> {
        let tree = self.tree;
        if let Some((design, Role::Type)) = self.words.find(list + 1) {
            return Ok(TypeKind::Design(design, (design.read_type)(tree, list)?));
        }
        Ok(match tree.head(list) {
            Some("func") => {
                let mut parts = tree.children(list);
                parts.next();
                TypeKind::Func(Signature::read(tree, &mut parts)?)
            }
            Some("cont") => TypeKind::Cont,
            Some("struct") => TypeKind::Struct(fields(tree, list)),
            Some("array") => match tree.children(list).nth(1) {
                Some(element) => TypeKind::Array(Slot::read(tree, element)),
                None => TypeKind::Other,
            },
            _ => TypeKind::Other,
        })
    }

    /// Checks that every type in a signature is defined.
    fn check_names(&self) -> Result<()> {
        let module = &self.module;
        let types = module.types.iter().filter_map(|definition| match &definition.kind {
            TypeKind::Func(signature) | TypeKind::Design(_, signature) => Some(signature),
            _ => None,
        });
        let items = [&module.functions, &module.tags, &module.routs, &module.call_tags];
        let items = items.into_iter().flat_map(Table::iter).map(|item| &item.inline);
        types.chain(items).try_for_each(|signature| {
            module.check_names(&signature.params)?;
            module.check_names(&signature.results)
        })
    }

    /// Checks that types refer only to earlier ones and to their own group. The standard text would
    /// report an unknown index.
    fn check_order(&self) -> Result<()> {
        let tree = self.tree;
        self.module.types.iter().try_for_each(|definition| {
            let group = tree.parent(definition.list).filter(|_| definition.is_grouped);
            let end = tree.last(group.unwrap_or(definition.list));
            let nodes = definition.list..tree.last(definition.list);
            let names = nodes.filter(|&node| is_reference(tree, node));
            let mut names = names.filter_map(|node| Name::read(tree, node));
            match names.find(|name| self.module.ty(*name).is_ok_and(|ty| ty.list > end)) {
                None => Ok(()),
                Some(name) => {
                    let message = format!(
                        "unknown type: `{}` is defined later; put types that refer to each other \
                         into one `(rec ..)`",
                        name.text
                    );
                    Err(Error::invalid(name.at, message))
                }
            }
        })
    }
}

/// The fields of `(struct (field $f t) (field t*) ..)`.
fn fields<'a>(tree: &Tree<'a>, list: Node) -> Table<Slot<'a>> {
    let mut fields = Table::default();
    for field in tree.children(list).filter(|&node| tree.head(node) == Some("field")) {
        let mut parts = tree.children(field).skip(1).peekable();
        let name = parts.next_if(|&node| tree.is_name(node));
        let name = name.and_then(|node| Name::read(tree, node));
        parts.for_each(|node| fields.add(name, Slot::read(tree, node)));
    }
    fields
}

/// Whether a name in a type definition refers to another type.
fn is_reference(tree: &Tree<'_>, name: Node) -> bool {
    let list = tree.parent(name).and_then(|list| tree.head(list));
    matches!(list, Some("ref" | "cont" | "sub" | "exact"))
}

/// Reads `(sub final? $y* inner)`, and returns the inner list too. The standard parser reports
/// other forms.
fn sub<'a>(tree: &Tree<'a>, list: Node) -> (Option<Sub<'a>>, Node) {
    let mut parts = tree.children(list).skip(1).peekable();
    let is_final = parts.next_if(|&node| tree.word(node) == Some("final")).is_some();
    let names = std::iter::from_fn(|| parts.next_if(|&node| tree.is_name(node)));
    let supertypes = names.filter_map(|node| Name::read(tree, node)).collect();
    match parts.next().filter(|&node| tree.is_list(node)) {
        Some(inner) => (Some(Sub { is_final, supertypes }), inner),
        None => (None, list),
    }
}

/// Checks that nothing follows a type in its list. The lowered type would replace it silently.
fn end_of_list(tree: &Tree<'_>, node: Node) -> Result<()> {
    match tree.siblings(node).next() {
        None => Ok(()),
        Some(node) => {
            let message = format!("expected `)` after the type, found {}", tree.describe(node));
            Err(Error::malformed(tree.start(node), message))
        }
    }
}

/// The start of a function or a tag: its name and its type use.
pub(crate) struct Header<'a> {
    pub name: Option<Name<'a>>,
    pub item: Item<'a>,
    /// The first node after the type use.
    pub next: Node,
}

impl<'a> Header<'a> {
    pub fn locals(&self, tree: &Tree<'_>, function: Node) -> impl Iterator<Item = Node> {
        let is_local = |node: &Node| tree.head(*node) == Some("local");
        tree.between(self.next, tree.last(function)).take_while(is_local)
    }

    /// The first node after the locals of a function.
    pub fn body(&self, tree: &Tree<'_>, function: Node) -> Node {
        self.locals(tree, function).last().map_or(self.next, |local| tree.last(local) + 1)
    }

    /// `(func $x? (export ..)* (import ..)? (type $t)? (param ..)* (result ..)* ..)`.
    pub fn read(tree: &Tree<'a>, list: Node) -> Result<Header<'a>> {
        let mut parts = tree.children(list);
        parts.next();
        let name = Name::read(tree, parts.peek());
        if name.is_some() {
            parts.next();
        }
        while matches!(tree.head(parts.peek()), Some("export" | "import")) {
            parts.next();
        }
        let (type_use, inline) = type_use(tree, &mut parts)?;
        let item = Item { type_use, inline };
        Ok(Header { name, item, next: parts.peek() })
    }
}

/// `(type $t)? (param ..)* (result ..)*`.
pub(crate) fn type_use<'a>(
    tree: &Tree<'a>,
    parts: &mut Nodes<'_, 'a>,
) -> Result<(Option<Name<'a>>, Signature<'a>)> {
    let list = Some(parts.peek()).filter(|&node| tree.head(node) == Some("type"));
    let name = list.and_then(|list| Name::read(tree, list + 2));
    if list.is_some() {
        parts.next();
    }
    Ok((name, Signature::read(tree, parts)?))
}
