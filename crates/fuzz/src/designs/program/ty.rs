//! The types of values in random programs.

/// The type of a value. All references are nullable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// A number.
    I64,
    /// A vector, both of whose halves are the same number.
    V128,
    /// A struct, an array or an `i31`.
    Any,
    /// An exception.
    Exn,
    /// A continuation of the type with this number.
    Cont(usize),
    /// A stack of the bag, of the type with this number.
    Stack(usize),
    /// A task of the type with this number.
    Task(usize),
    /// A fiber.
    Fiber,
    /// A first-class stack, which is moved and never copied.
    Linear,
}

impl Ty {
    pub fn is_reference(self) -> bool {
        !matches!(self, Ty::I64 | Ty::V128)
    }
}

/// The type of a function, tag or call tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    pub params: Vec<Ty>,
    pub results: Vec<Ty>,
}

impl Signature {
    pub fn new(params: &[Ty], results: &[Ty]) -> Signature {
        Signature { params: params.to_vec(), results: results.to_vec() }
    }

    /// The signature of functions that the host calls.
    pub fn entry() -> Signature {
        Signature::new(&[Ty::I64], &[Ty::I64])
    }
}

/// The types that a program can name. Every module defines all of them, in one recursion group, so
/// they are identical.
#[derive(Clone, Debug, Default)]
pub struct Types {
    /// Continuation types, by the types of their functions.
    pub conts: Vec<Signature>,
    /// Stack types of the bag, by their parameters. The last parameter is the return stack.
    pub stacks: Vec<Vec<Ty>>,
    /// Task types: the values that they receive and give.
    pub tasks: Vec<Signature>,
    /// Whether fibers are used.
    pub fibers: bool,
    /// Whether first-class stacks are used.
    pub first_class: bool,
}

impl Types {
    pub fn function_type(&self, signature: &Signature) -> Option<usize> {
        self.conts.iter().position(|cont| cont == signature)
    }

    /// Every type of references to stacks.
    pub fn stack_references(&self) -> Vec<Ty> {
        let conts = (0..self.conts.len()).map(Ty::Cont);
        let stacks = (0..self.stacks.len()).map(Ty::Stack);
        let tasks = (0..self.tasks.len()).map(Ty::Task);
        let fibers = self.fibers.then_some(Ty::Fiber);
        conts.chain(stacks).chain(tasks).chain(fibers).collect()
    }

    /// Every type of references that a struct can wrap.
    pub fn wrapped(&self) -> Vec<Ty> {
        let linear = self.first_class.then_some(Ty::Linear);
        self.stack_references().into_iter().chain([Ty::Exn]).chain(linear).collect()
    }
}
