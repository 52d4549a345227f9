//! Programs of all five designs, as data.
//!
//! A program is what a case consists of: functions in several modules, and a
//! row of calls from the host. Operands and results of every operation are
//! locals, so that a frame is its locals and a place in its code, and nothing
//! else. The same program is run by the [model](super::model), and
//! [rendered](super::render) as text for the engine.

mod op;
mod ty;

pub use op::*;
pub use ty::*;

use std::rc::Rc;

/// The number of a local of a function; parameters come first.
pub type Local = usize;
/// The number of a function of the program.
pub type FunctionId = usize;
/// The number of a tag of the program.
pub type TagId = usize;
/// The number of a block of the program.
pub type BlockId = usize;

/// A whole program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The types that it can use.
    pub types: Types,
    /// How many modules there are. Module 0 is instantiated first, and a module
    /// can name what it and those before it define.
    pub modules: usize,
    /// Tags: for exceptions, for suspensions, for events.
    pub tags: Vec<Tag>,
    /// Call tags of first-class stacks.
    pub call_tags: Vec<Signature>,
    /// Functions and routs.
    pub functions: Vec<Function>,
    /// Code.
    pub blocks: Vec<Block>,
    /// Global variables. All are defined by module 0, and begin with null or 0.
    pub globals: Vec<Ty>,
    /// Tables of [`TABLE_LENGTH`] elements, likewise.
    pub tables: Vec<Ty>,
    /// What the host does, in this order.
    pub calls: Vec<Call>,
    /// Numbers that the program reads one after the other, whatever part of it
    /// is running.
    pub script: Vec<i64>,
    /// How often functions may be entered, loops go round and stacks be copied, in one call of
    /// the host. What is copied can go on again and again without entering anything.
    pub fuel: i64,
}

/// How many elements a table has.
pub const TABLE_LENGTH: i64 = 4;

/// A tag, with the module that defines it.
#[derive(Clone, Debug)]
pub struct Tag {
    /// The module that defines it.
    pub module: usize,
    /// What it carries, and for `suspend` what comes back.
    pub signature: Signature,
}

/// A function or a rout.
#[derive(Clone, Debug)]
pub struct Function {
    /// The module that defines it.
    pub module: usize,
    /// Its type.
    pub signature: Signature,
    /// The continuation type whose function type it is declared with.
    pub declared: Option<usize>,
    /// Whether it is a rout, which only `stack.extend` can name.
    pub rout: bool,
    /// The types of its locals, its parameters first.
    pub locals: Vec<Ty>,
    /// The locals that are its results when it ends.
    pub results: Vec<Local>,
    /// Its code.
    pub body: BlockId,
}

/// A row of operations.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The operations.
    pub ops: Vec<Rc<Op>>,
    /// Whether nothing is added to it any more.
    pub closed: bool,
}

/// A call from the host.
#[derive(Clone, Debug)]
pub struct Call {
    /// The function, of type [`Signature::entry`].
    pub function: FunctionId,
    /// Its argument.
    pub argument: i64,
}

impl Program {
    /// A new block without code.
    pub fn new_block(&mut self) -> BlockId {
        self.blocks.push(Block::default());
        self.blocks.len() - 1
    }

    /// A new function without code.
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

    /// A new local of a function.
    pub fn new_local(&mut self, function: FunctionId, ty: Ty) -> Local {
        let locals = &mut self.functions[function].locals;
        locals.push(ty);
        locals.len() - 1
    }
}
