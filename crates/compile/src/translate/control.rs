//! Structured control: blocks, branches, and what cannot be reached.

use super::owned::Way;
use super::{Known, Translator, clif_type, trap};
use cranelift_codegen::ir::{self, Block, BlockArg, InstBuilder, Value};
use ropewalk_abi::signature::result_places;
use ropewalk_abi::{FuncType, TrapCode, ValType};
use std::collections::BTreeMap;
use wasmparser::{BlockType, BrTable};

/// A block, loop, if or function body that is open.
pub(crate) struct Control {
    kind: Kind,
    params: usize,
    results: usize,
    /// The height of the operand stack below its parameters.
    height: usize,
    /// Where control continues after it; its parameters are the results.
    end: Block,
    /// Whether a branch leads to `end`.
    end_used: bool,
    /// Whether its beginning could be reached.
    reachable: bool,
    /// How much of what runs is known at `end`.
    known: Known,
}

enum Kind {
    Function,
    Block,
    Loop {
        header: Block,
        /// How much of what runs is known there.
        known: Known,
    },
    Try,
    If {
        alternative: Block,
        /// The parameters, which the else arm gets too.
        operands: Vec<Value>,
        /// How much of what runs is known where it begins.
        known: Known,
        /// The fuel that is not paid there.
        unpaid: i64,
        /// Whether `else` has been seen.
        has_else: bool,
        /// Whether the end of the then arm could be reached.
        then_falls_through: bool,
    },
}

impl Control {
    /// What a branch to it goes to, with how many values.
    fn target(&self) -> (Block, usize) {
        match self.kind {
            Kind::Loop { header, .. } => (header, self.params),
            _ => (self.end, self.results),
        }
    }
}

impl Translator<'_> {
    pub fn is_reachable(&self) -> bool {
        self.reachable
    }

    /// What follows, up to the end of the enclosing block, cannot be reached.
    pub fn set_unreachable(&mut self) {
        self.reachable = false;
    }

    pub(crate) fn push_function_frame(&mut self, ty: &FuncType) {
        let end = self.block_with(ty.results());
        self.controls.push(Control {
            kind: Kind::Function,
            params: 0,
            results: ty.results().len(),
            height: 0,
            end,
            end_used: false,
            reachable: true,
            known: Known::Reference,
        });
    }

    pub fn block(&mut self, ty: BlockType) {
        self.open(Kind::Block, ty);
    }

    pub fn loop_(&mut self, ty: BlockType) {
        let (params, _) = self.block_type(ty);
        let header = self.block_with(&params);
        let operands = self.top(params.len());
        let known = self.known_in_loop();
        self.know_running(known);
        self.set_known(known);
        self.jump(header, &operands);
        self.builder.switch_to_block(header);
        let height = self.stack.len() - params.len();
        self.stack.truncate(height);
        self.stack.extend_from_slice(self.builder.block_params(header));
        self.open(Kind::Loop { header, known }, ty);
        self.check_point();
    }

    pub fn if_(&mut self, ty: BlockType) {
        let condition = self.pop();
        let (params, _) = self.block_type(ty);
        let operands = self.top(params.len());
        let consequence = self.builder.create_block();
        let alternative = self.builder.create_block();
        self.builder.ins().brif(condition, consequence, &[], alternative, &[]);
        self.enter_sealed(consequence);
        self.builder.seal_block(alternative);
        let kind = Kind::If {
            alternative,
            operands,
            known: self.known(),
            unpaid: self.unpaid(),
            has_else: false,
            then_falls_through: false,
        };
        self.open(kind, ty);
    }

    pub fn try_table(&mut self, table: &wasmparser::TryTable) {
        let (params, _) = self.block_type(table.ty);
        self.open_handlers(&table.catches, params.len());
        self.open(Kind::Try, table.ty);
    }

    /// `block`, `loop`, `if` or `try_table` in code that cannot be reached.
    pub fn open_unreachable(&mut self) {
        self.unreachable_depth += 1;
    }

    fn open(&mut self, kind: Kind, ty: BlockType) {
        let (params, results) = self.block_type(ty);
        let end = self.block_with(&results);
        self.controls.push(Control {
            kind,
            params: params.len(),
            results: results.len(),
            height: self.stack.len() - params.len(),
            end,
            end_used: false,
            reachable: true,
            known: Known::Reference,
        });
    }

    pub fn else_(&mut self) {
        if self.unreachable_depth > 0 {
            return;
        }
        let fell_through = self.reachable;
        if fell_through {
            self.jump_to_end();
        }
        let control = self.controls.last_mut().expect("validation matched else with if");
        let height = control.height;
        let Kind::If { alternative, operands, known, unpaid, has_else, then_falls_through } =
            &mut control.kind
        else {
            unreachable!("validation matched else with if");
        };
        *has_else = true;
        *then_falls_through = fell_through;
        let (alternative, known, unpaid) = (*alternative, *known, *unpaid);
        let operands = std::mem::take(operands);
        self.stack.truncate(height);
        self.stack.extend(operands);
        self.builder.switch_to_block(alternative);
        self.set_known(known);
        self.set_unpaid(unpaid);
        self.reachable = true;
    }

    pub fn end(&mut self) {
        if self.unreachable_depth > 0 {
            self.unreachable_depth -= 1;
            return;
        }
        if self.reachable {
            self.jump_to_end();
        }
        let control = self.controls.pop().expect("validation matched the ends");
        let mut end_used = control.end_used;
        let mut known = control.known;
        self.stack.truncate(control.height);
        match control.kind {
            Kind::Loop { header, .. } => self.builder.seal_block(header),
            Kind::If { alternative, operands, known: before, unpaid, has_else: false, .. } => {
                known = known.min(before);
                self.builder.switch_to_block(alternative);
                self.set_unpaid(unpaid);
                self.pay();
                self.jump(control.end, &operands);
                end_used = true;
            }
            Kind::Try => self.close_handlers(),
            Kind::Function => return self.end_function(control.end, end_used),
            Kind::If { .. } | Kind::Block => {}
        }
        self.reachable = end_used && control.reachable;
        if self.reachable {
            self.enter_sealed(control.end);
            self.set_known(known);
            self.stack.extend_from_slice(self.builder.block_params(control.end));
        } else {
            self.builder.seal_block(control.end);
        }
    }

    fn end_function(&mut self, end: Block, end_used: bool) {
        self.reachable = false;
        if !end_used {
            self.builder.seal_block(end);
            return;
        }
        self.enter_sealed(end);
        let values = self.builder.block_params(end).to_vec();
        self.return_values(&values);
    }

    // ---- branches

    pub fn br(&mut self, depth: u32) {
        self.branch_to(depth);
        self.set_unreachable();
    }

    pub fn br_if(&mut self, depth: u32) {
        let condition = self.pop();
        let way = self.way_to(depth);
        let next = self.builder.create_block();
        let args = block_args(&way.operands);
        self.builder.ins().brif(condition, way.block, &args, next, &[]);
        self.pave(&way);
        self.enter_sealed(next);
    }

    pub fn br_table(&mut self, table: &BrTable<'_>) {
        let index = self.pop();
        let depths: Vec<u32> = table
            .targets()
            .collect::<wasmparser::Result<_>>()
            .expect("validation has read the targets");
        let mut ways = BTreeMap::new();
        let is_long = depths.len() > SHORT_TABLE;
        let mut target = |this: &mut Self, depth| this.table_target(depth, is_long, &mut ways);
        let default = target(self, table.default());
        let targets: Vec<_> = depths.iter().map(|&depth| target(self, depth)).collect();
        let data = ir::JumpTableData::new(default, &targets);
        let jump_table = self.builder.create_jump_table(data);
        self.builder.ins().br_table(index, jump_table);
        ways.values().for_each(|way| self.pave(way));
        self.set_unreachable();
    }

    fn table_target(
        &mut self,
        depth: u32,
        is_apart: bool,
        ways: &mut BTreeMap<u32, Way>,
    ) -> ir::BlockCall {
        let way = ways.entry(depth).or_insert_with(|| match is_apart {
            true => self.way_apart(depth),
            false => self.way_to(depth),
        });
        self.builder.func.dfg.block_call(way.block, &block_args(&way.operands))
    }

    pub fn return_(&mut self) {
        let results = self.controls[0].results;
        self.free_below(results);
        let values = self.top(results);
        self.return_values(&values);
        self.set_unreachable();
    }

    pub fn unreachable(&mut self) {
        self.builder.ins().trap(trap(TrapCode::Unreachable));
        self.set_unreachable();
    }

    pub(crate) fn return_values(&mut self, values: &[Value]) {
        self.put_fuel_back();
        let env = self.env;
        let results = env.info.function_type(self.function_index()).results();
        if self.on_top.is_some() {
            return self.return_below(values, results);
        }
        let direct = self.transfer().scatter(values, results, result_places(results));
        self.builder.ins().return_(&direct);
    }

    pub(crate) fn function_index(&self) -> u32 {
        match &self.builder.func.name {
            ir::UserFuncName::User(name) => name.index,
            ir::UserFuncName::Testcase(_) => unreachable!("functions are named by index"),
        }
    }

    /// A branch: its block, and the operands that go along.
    pub(crate) fn branch(&mut self, depth: u32) -> (Block, Vec<Value>) {
        let index = self.controls.len() - 1 - depth as usize;
        let known = self.known();
        let control = &mut self.controls[index];
        let (block, count) = control.target();
        match control.kind {
            Kind::Loop { known: expected, .. } => {
                self.know_running(expected);
                // What follows may not come by here.
                self.set_known(known);
            }
            _ => {
                control.end_used = true;
                control.known = control.known.min(known);
            }
        }
        (block, self.top(count))
    }

    /// How many operands are left where a branch arrives, below those that go along,
    /// and how many go along.
    pub(crate) fn arrival(&self, depth: u32) -> (usize, usize) {
        let control = &self.controls[self.controls.len() - 1 - depth as usize];
        (control.height, control.target().1)
    }

    fn jump_to_end(&mut self) {
        let known = self.known();
        let control = self.controls.last_mut().expect("a function is a block");
        control.end_used = true;
        control.known = control.known.min(known);
        let (end, results) = (control.end, control.results);
        let operands = self.top(results);
        self.jump(end, &operands);
    }

    pub(crate) fn jump(&mut self, block: Block, operands: &[Value]) {
        self.builder.ins().jump(block, &block_args(operands));
    }

    // ---- helpers

    pub(crate) fn enter_sealed(&mut self, block: Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
    }

    /// The topmost operands, which stay.
    pub(crate) fn top(&self, count: usize) -> Vec<Value> {
        self.stack[self.stack.len() - count..].to_vec()
    }

    fn block_with(&mut self, types: &[ValType]) -> Block {
        let block = self.builder.create_block();
        for &ty in types {
            let param = self.builder.append_block_param(block, clif_type(ty));
            self.declare(param, ty);
        }
        block
    }

    fn block_type(&self, ty: BlockType) -> (Vec<ValType>, Vec<ValType>) {
        match ty {
            BlockType::Empty => (vec![], vec![]),
            BlockType::Type(ty) => (vec![], vec![crate::convert::val_type(ty)]),
            BlockType::FuncType(index) => {
                let ty = self.env.info.func_type(index);
                (ty.params().to_vec(), ty.results().to_vec())
            }
        }
    }

    /// `select`, of values of a type if it is given.
    pub fn select(&mut self, ty: Option<wasmparser::ValType>) {
        let (a, b, condition) = self.pop3();
        let value = self.builder.ins().select(condition, a, b);
        match ty {
            Some(ty) => self.push_typed(value, crate::convert::val_type(ty)),
            None => self.push(value),
        }
    }
}

/// Up to how many labels a table has that are branched to at once. Each value that a local
/// brings to one of them is passed once for each place of the table, all of which are looked
/// through for that. So of a longer one each label has a block of its own on the way.
const SHORT_TABLE: usize = 16;

pub(crate) fn block_args(values: &[Value]) -> Vec<BlockArg> {
    values.iter().map(|&value| BlockArg::Value(value)).collect()
}
