//! Programs of all five designs, as data.
//!
//! A program consists of functions in several modules, and a sequence of calls from the host.
//! Operands and results of every operation are locals, so a frame has only its locals and a
//! position in its code. The [model](super::model) runs a program, and the
//! [renderer](super::render) prints it as text for the engine.

mod op;
mod ty;

pub use op::*;
pub use ty::*;

use std::rc::Rc;

/// A local of a function, by index. Parameters come first.
pub type Local = usize;
/// A function of the program, by index.
pub type FunctionId = usize;
/// A tag of the program, by index.
pub type TagId = usize;
/// A block of the program, by index.
pub type BlockId = usize;

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub types: Types,
    /// The number of modules. Module 0 is instantiated first. A module can name its own definitions
    /// and those of earlier modules.
    pub modules: usize,
    /// Tags of exceptions, suspensions and events.
    pub tags: Vec<Tag>,
    /// Call tags of first-class stacks.
    pub call_tags: Vec<Signature>,
    pub functions: Vec<Function>,
    pub blocks: Vec<Block>,
    /// The types of globals. Module 0 defines them, initially null or 0.
    pub globals: Vec<Ty>,
    /// The element types of tables with [`TABLE_LENGTH`] elements, likewise.
    pub tables: Vec<Ty>,
    /// The calls of the host, in order.
    pub calls: Vec<Call>,
    /// Numbers that the program reads one after another, in whatever function it runs.
    pub script: Vec<i64>,
    /// The limit of function entries, loop iterations and copies in one call of the host. Copies
    /// count because they can continue without entering anything.
    pub fuel: i64,
}

pub const TABLE_LENGTH: i64 = 4;

#[derive(Clone, Debug)]
pub struct Tag {
    /// The module that defines it.
    pub module: usize,
    /// Its values, and for `suspend` the values that return.
    pub signature: Signature,
}

#[derive(Clone, Debug)]
pub struct Function {
    pub module: usize,
    pub signature: Signature,
    /// The continuation type whose function type it uses.
    pub declared: Option<usize>,
    pub rout: bool,
    pub locals: Vec<Ty>,
    /// The locals with its results.
    pub results: Vec<Local>,
    pub body: BlockId,
}

/// A sequence of operations.
#[derive(Clone, Debug, Default)]
pub struct Block {
    pub ops: Vec<Rc<Op>>,
    /// Whether it is complete.
    pub closed: bool,
}

#[derive(Clone, Debug)]
pub struct Call {
    /// The function, of type [`Signature::entry`].
    pub function: FunctionId,
    pub argument: i64,
}

impl Program {
    pub fn new_block(&mut self) -> BlockId {
        self.blocks.push(Block::default());
        self.blocks.len() - 1
    }

    pub fn new_function(&mut self, module: usize, signature: Signature, rout: bool) -> FunctionId {
        let mut locals = signature.params.clone();
        locals.extend(signature.results.iter().copied());
        let results = (signature.params.len()..locals.len()).collect();
        let declared = self.types.function_type(&signature);
        let body = self.new_block();
        let function = Function { module, signature, declared, rout, locals, results, body };
        self.functions.push(function);
        self.functions.len() - 1
    }

    pub fn new_local(&mut self, function: FunctionId, ty: Ty) -> Local {
        let locals = &mut self.functions[function].locals;
        locals.push(ty);
        locals.len() - 1
    }
}
