//! What a byte of a binary belongs to: a section, an item, a part of the item.

/// A part of a binary that has a counterpart in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BinaryLocation {
    pub section: Section,
    /// The index of the item in its section.
    pub item: usize,
    pub part: LocationPart,
}

impl BinaryLocation {
    /// The location of a clause of this step.
    pub fn of_clause(self, clause: usize) -> BinaryLocation {
        match self.part {
            LocationPart::Step(step) => {
                BinaryLocation { part: LocationPart::Clause { step, clause }, ..self }
            }
            _ => self,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LocationPart {
    Whole,
    /// The n-th local that a function declares.
    Local(usize),
    /// The n-th step of the item: a type of a recursion group, an import of a group of imports, an
    /// operator of a function or of a constant expression (every `end` included), or an index of an
    /// element segment.
    Step(usize),
    /// A clause of a step: its label, or else its tag.
    Clause {
        step: usize,
        clause: usize,
    },
}

/// A section whose items are fields of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Type,
    Import,
    Function,
    Table,
    Memory,
    Global,
    Export,
    Start,
    Element,
    Code,
    Data,
    Tag,
}

impl Section {
    pub const COUNT: usize = Section::Tag as usize + 1;

    /// The section with an id. Custom sections and the data count correspond to no field.
    pub fn from_id(id: u8) -> Option<Section> {
        Some(match id {
            1 => Section::Type,
            2 => Section::Import,
            3 => Section::Function,
            4 => Section::Table,
            5 => Section::Memory,
            6 => Section::Global,
            7 => Section::Export,
            8 => Section::Start,
            9 => Section::Element,
            10 => Section::Code,
            11 => Section::Data,
            13 => Section::Tag,
            _ => return None,
        })
    }
}
