//! Predicates on the state of the model, to choose operations that will work.

use crate::designs::model::{CursorKind, Machine, MarkKind, Shape, StackId, StackKind, Value};
use crate::designs::program::{FirstClass, Op, TABLE_LENGTH, TagId, Ty};

impl Machine {
    /// The globals of a type, with their values.
    pub fn globals_of(&self, ty: Ty) -> Vec<(usize, Value)> {
        let globals = self.program.globals.iter().enumerate();
        let globals = globals.filter(|(_, global)| **global == ty);
        globals.map(|(id, _)| (id, self.globals.get(id).copied().unwrap_or_default())).collect()
    }

    /// The table elements of a type, with their values.
    pub fn elements_of(&self, ty: Ty) -> Vec<(usize, i64, Value)> {
        let tables = self.program.tables.iter().enumerate();
        let tables = tables.filter(|(_, table)| **table == ty);
        let places = tables.flat_map(|(id, _)| (0..TABLE_LENGTH).map(move |index| (id, index)));
        places.map(|(id, index)| (id, index, self.element(id, index))).collect()
    }

    pub fn element(&self, table: usize, index: i64) -> Value {
        let table = self.tables.get(table);
        table.and_then(|table| table.get(index as usize)).copied().unwrap_or_default()
    }

    /// The type of the reference that a struct wraps, if the value is such a struct.
    pub fn wraps(&self, value: Value) -> Option<Ty> {
        let Value::Object(object) = value else { return None };
        match self.objects[object].shape {
            Shape::Wrap(ty) => Some(ty),
            _ => None,
        }
    }

    pub fn can_go_to(&self, stack: StackId) -> bool {
        match self.stacks[stack].kind {
            StackKind::Root(call) => call == self.newest(),
            _ => true,
        }
    }

    pub fn caught_here(&self) -> Vec<TagId> {
        let chain = self.chain();
        chain.into_iter().flat_map(|stack| self.caught_on(stack)).collect()
    }

    pub fn catches_at(&self, stack: StackId) -> Vec<TagId> {
        self.caught_on(self.stacks[stack].innermost)
    }

    fn caught_on(&self, stack: StackId) -> Vec<TagId> {
        let cursors = self.stacks[stack].frames.iter().flat_map(|frame| &frame.cursors);
        let tries = cursors.filter_map(|cursor| match &cursor.kind {
            CursorKind::Try(op) => Some(op),
            _ => None,
        });
        let catches = tries.flat_map(|op| match &**op {
            Op::Try { catches, .. } => &catches[..],
            _ => &[],
        });
        catches.filter_map(|catch| catch.tag).collect()
    }

    /// The call tags that some running or reachable stack answers.
    pub fn answered(&self) -> Vec<usize> {
        let mut tags = Vec::new();
        let mut stacks = self.chain();
        let mut seen = 0;
        while let Some(&stack) = stacks.get(seen) {
            seen += 1;
            for frame in &self.stacks[stack].frames {
                for cursor in &frame.cursors {
                    let CursorKind::Mark(mark) = &cursor.kind else { continue };
                    match &mark.kind {
                        MarkKind::Answer(op) => {
                            if let Op::FirstClass(FirstClass::Answer { tag, .. }) = &**op {
                                tags.push(*tag);
                            }
                        }
                        MarkKind::Redirect(local) => {
                            let target = self.local_of(frame, *local);
                            if let Some(target) = self.valid(target) {
                                let innermost = self.stacks[target].innermost;
                                if !stacks.contains(&innermost) {
                                    stacks.push(innermost);
                                }
                            }
                        }
                        MarkKind::RedirectTo(_) => {}
                    }
                }
            }
        }
        tags
    }
}
