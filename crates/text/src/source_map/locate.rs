//! Finds what an offset of a binary belongs to.
//!
//! The walk visits all parts in the order of the binary. The last part that starts at or before the
//! offset is the location. Unreadable bytes end the walk: the offset is about them.

use wasmparser::{
    BinaryReader, ConstExpr, Data, DataKind, Element, ElementItems, ElementKind, Export,
    FromReader, FunctionBody, Global, Imports, MemoryType, OperatorsReader, RecGroup, Result,
    SectionLimited, Table, TableInit, TagType,
};

use super::location::{BinaryLocation, LocationPart, Section};

/// The magic number and the version.
const PREAMBLE: usize = 8;

/// The location of the byte at `offset`, if it corresponds to something in the text.
pub(crate) fn locate(binary: &[u8], offset: u64) -> Option<BinaryLocation> {
    let mut sections = BinaryReader::new(binary, 0);
    sections.read_bytes(PREAMBLE).ok()?;
    while sections.original_position() <= offset {
        let section = Section::from_id(sections.read_u8().ok()?);
        let contents = sections.read_reader().ok()?;
        if is_inside(section, &contents, offset) {
            return Some(Walk::new(section?, offset).run(contents));
        }
    }
    None
}

/// Whether an offset belongs to a section that starts at or before it. A missing end of the last
/// item is reported where the next section starts.
fn is_inside(section: Option<Section>, contents: &BinaryReader, offset: u64) -> bool {
    let end = contents.range().end;
    offset < end || (offset == end && section.is_some())
}

struct Walk {
    offset: u64,
    place: BinaryLocation,
    /// The number of visited steps of the current item.
    steps: usize,
}

impl Walk {
    fn new(section: Section, offset: u64) -> Walk {
        Walk {
            offset,
            place: BinaryLocation { section, item: 0, part: LocationPart::Whole },
            steps: 0,
        }
    }

    fn run(mut self, contents: BinaryReader) -> BinaryLocation {
        let walked = match self.place.section {
            Section::Type => self.items(contents, Walk::types),
            Section::Import => self.items(contents, Walk::imports),
            Section::Function => self.items(contents, Walk::nothing::<u32>),
            Section::Table => self.items(contents, Walk::table),
            Section::Memory => self.items(contents, Walk::nothing::<MemoryType>),
            Section::Global => self.items(contents, Walk::global),
            Section::Export => self.items(contents, Walk::nothing::<Export>),
            Section::Start => Ok(()),
            Section::Element => self.items(contents, Walk::element),
            Section::Code => self.bodies(contents),
            Section::Data => self.items(contents, Walk::data),
            Section::Tag => self.items(contents, Walk::nothing::<TagType>),
        };
        match walked {
            // An error ends the walk early, on purpose.
            Ok(()) | Err(_) => self.place,
        }
    }

    /// Visits the items of a section and their parts.
    fn items<'a, T: FromReader<'a>>(
        &mut self,
        contents: BinaryReader<'a>,
        inside: fn(&mut Walk, T) -> Result<()>,
    ) -> Result<()> {
        let mut items = SectionLimited::<T>::new(contents)?.into_iter();
        for number in 0.. {
            let start = items.original_position();
            let Some(item) = items.next().filter(|_| start <= self.offset) else { break };
            self.enter(number);
            inside(self, item?)?;
        }
        Ok(())
    }

    /// Visits the bodies of functions. The size of a body belongs to the previous body, whose end
    /// may be missing.
    fn bodies(&mut self, contents: BinaryReader) -> Result<()> {
        for (number, body) in SectionLimited::new(contents)?.into_iter().enumerate() {
            let body: FunctionBody = body?;
            if body.range().start > self.offset {
                break;
            }
            self.enter(number);
            if self.offset <= body.range().end {
                self.body(&body)?;
            }
        }
        Ok(())
    }

    fn enter(&mut self, item: usize) {
        self.place = BinaryLocation { item, part: LocationPart::Whole, ..self.place };
        self.steps = 0;
    }

    fn visit(&mut self, start: u64, part: LocationPart) {
        if start <= self.offset {
            self.place.part = part;
        }
    }

    fn step(&mut self, start: u64) {
        self.visit(start, LocationPart::Step(self.steps));
        self.steps += 1;
    }

    /// Visits a step at the start of each item.
    fn starts<T>(&mut self, items: impl Iterator<Item = Result<(u64, T)>>) -> Result<()> {
        for item in items {
            self.step(item?.0);
        }
        Ok(())
    }

    fn nothing<T>(&mut self, _item: T) -> Result<()> {
        Ok(())
    }

    fn types(&mut self, group: RecGroup) -> Result<()> {
        group.into_types_and_offsets().for_each(|(start, _)| self.step(start));
        Ok(())
    }

    fn imports(&mut self, imports: Imports) -> Result<()> {
        self.starts(imports.into_iter())
    }

    fn table(&mut self, table: Table) -> Result<()> {
        match table.init {
            TableInit::RefNull => Ok(()),
            TableInit::Expr(expression) => self.constant(&expression),
        }
    }

    fn global(&mut self, global: Global) -> Result<()> {
        self.constant(&global.init_expr)
    }

    fn element(&mut self, element: Element) -> Result<()> {
        if let ElementKind::Active { offset_expr, .. } = &element.kind {
            self.constant(offset_expr)?;
        }
        match element.items {
            ElementItems::Functions(indices) => self.starts(indices.into_iter_with_offsets()),
            ElementItems::Expressions(_, expressions) => {
                expressions.into_iter().try_for_each(|expression| self.constant(&expression?))
            }
        }
    }

    fn data(&mut self, data: Data) -> Result<()> {
        match &data.kind {
            DataKind::Passive => Ok(()),
            DataKind::Active { offset_expr, .. } => self.constant(offset_expr),
        }
    }

    fn constant(&mut self, expression: &ConstExpr) -> Result<()> {
        self.operators(expression.get_operators_reader())
    }

    fn body(&mut self, body: &FunctionBody) -> Result<()> {
        let mut locals = body.get_locals_reader()?;
        let mut declared = 0;
        for _ in 0..locals.get_count() {
            self.visit(locals.original_position(), LocationPart::Local(declared));
            declared += locals.read()?.0 as usize;
        }
        self.operators(OperatorsReader::new(locals.get_binary_reader()))
    }

    fn operators(&mut self, mut operators: OperatorsReader) -> Result<()> {
        while !operators.eof() {
            self.step(operators.original_position());
            operators.read()?;
        }
        Ok(())
    }
}
