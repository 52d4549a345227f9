//! What the table of stacks tells a recorder.

/// Something that happened to a stack, by the number of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Note {
    /// It was freed.
    Freed(usize),
    /// It was parked.
    Parked(usize),
    /// It was unparked.
    Unparked(usize),
    /// It has so many bytes now.
    Grown(usize, usize),
    /// It has another block.
    Renewed {
        /// The number of the old one.
        from: usize,
        /// The number of the new one.
        to: usize,
    },
}

/// What happened since somebody looked, if somebody does.
#[derive(Debug, Default)]
pub(crate) struct Notes(Option<Vec<Note>>);

impl Notes {
    /// Has everything noted from now on, or nothing any more.
    pub fn enable(&mut self, enable: bool) {
        self.0 = enable.then(Vec::new);
    }

    /// Notes something.
    pub fn add(&mut self, note: Note) {
        if let Some(notes) = &mut self.0 {
            notes.push(note);
        }
    }

    /// What was noted since the last time.
    pub fn take(&mut self) -> Vec<Note> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// What was noted since then.
    pub fn iter(&self) -> impl Iterator<Item = &Note> {
        self.0.iter().flatten()
    }

    /// Whether nothing was.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(Vec::is_empty)
    }
}
