//! Events of the table of stacks, for the trace recorder.

/// An event of a stack, by the number of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StackEvent {
    Freed(usize),
    Parked(usize),
    Unparked(usize),
    /// The stack grew to this many bytes.
    Grown(usize, usize),
    /// The stack got another block.
    Renewed {
        from: usize,
        to: usize,
    },
}

/// The events since the last [`take`](Self::take), if events are recorded.
#[derive(Debug, Default)]
pub(crate) struct StackEvents(Option<Vec<StackEvent>>);

impl StackEvents {
    pub fn enable(&mut self, enable: bool) {
        self.0 = enable.then(Vec::new);
    }

    pub fn add(&mut self, note: StackEvent) {
        if let Some(notes) = &mut self.0 {
            notes.push(note);
        }
    }

    pub fn take(&mut self) -> Vec<StackEvent> {
        self.0.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = &StackEvent> {
        self.0.iter().flatten()
    }

    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(Vec::is_empty)
    }
}
