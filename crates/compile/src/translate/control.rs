//! Structured control: blocks, branches, and unreachable code.

use super::owned::BranchTarget;
use super::{Cached, Translator};
use crate::emit::{clif_type, trap};
use crate::module::convert;
use cranelift_codegen::ir::{self, Block, BlockArg, InstBuilder, Value};
use ropewalk_abi::signature::result_places;
use ropewalk_abi::{FuncType, TrapCode, ValType};
use std::collections::BTreeMap;
use wasmparser::{BlockType, BrTable};

/// An open block, loop, if or function body.
pub(super) struct Control {
    kind: ControlKind,
    params: usize,
    results: usize,
    /// The height of the operand stack below its parameters.
    height: usize,
    /// The block after it, whose parameters are the results.
    end: Block,
    /// Whether a branch leads to `end`.
    end_used: bool,
    reachable: bool,
    /// Which variables of the running stack are valid at `end`.
    cached: Cached,
}

enum ControlKind {
    Function,
    Block,
    Loop {
        header: Block,
        /// Which variables of the running stack are valid there.
        cached: Cached,
    },
    Try,
    If {
        alternative: Block,
        /// The parameters, which both arms get.
        operands: Vec<Value>,
        /// Which variables of the running stack are valid at the start of an arm.
        cached: Cached,
        /// The fuel that both arms must pay.
        unpaid: i64,
        /// Whether `else` has been seen.
        has_else: bool,
        /// Whether the end of the then arm is reachable.
        then_falls_through: bool,
    },
}

impl Control {
    /// The target of a branch to it, and the number of values.
    fn target(&self) -> (Block, usize) {
        match self.kind {
            ControlKind::Loop { header, .. } => (header, self.params),
            _ => (self.end, self.results),
        }
    }
}

impl Translator<'_> {
    pub(crate) fn is_reachable(&self) -> bool {
        self.reachable
    }

    /// Marks the rest of the enclosing block as unreachable.
    pub(super) fn set_unreachable(&mut self) {
        self.reachable = false;
    }

    pub(super) fn push_function_frame(&mut self, ty: &FuncType) {
        let end = self.block_with(ty.results());
        self.controls.push(Control {
            kind: ControlKind::Function,
            params: 0,
            results: ty.results().len(),
            height: 0,
            end,
            end_used: false,
            reachable: true,
            cached: Cached::Reference,
        });
    }

    pub(super) fn block(&mut self, ty: BlockType) {
        self.open(ControlKind::Block, ty);
    }

    pub(super) fn loop_(&mut self, ty: BlockType) {
        let (params, _) = self.block_type(ty);
        let header = self.block_with(&params);
        let operands = self.top(params.len());
        let cached = self.cached_in_loop();
        self.cache_running(cached);
        self.set_cached(cached);
        self.jump(header, &operands);
        self.builder.switch_to_block(header);
        let height = self.stack.len() - params.len();
        self.stack.truncate(height);
        self.stack.extend_from_slice(self.builder.block_params(header));
        self.open(ControlKind::Loop { header, cached }, ty);
        self.poll();
    }

    pub(super) fn if_(&mut self, ty: BlockType) {
        let condition = self.pop();
        let (params, _) = self.block_type(ty);
        let operands = self.top(params.len());
        let consequence = self.builder.create_block();
        let alternative = self.builder.create_block();
        self.ins().brif(condition, consequence, &[], alternative, &[]);
        self.enter_sealed(consequence);
        self.builder.seal_block(alternative);
        let kind = ControlKind::If {
            alternative,
            operands,
            cached: self.cached(),
            unpaid: self.unpaid(),
            has_else: false,
            then_falls_through: false,
        };
        self.open(kind, ty);
    }

    pub(super) fn try_table(&mut self, table: &wasmparser::TryTable) {
        let (params, _) = self.block_type(table.ty);
        self.open_handlers(&table.catches, params.len());
        self.open(ControlKind::Try, table.ty);
    }

    /// Opens a block in unreachable code.
    pub(super) fn open_unreachable(&mut self) {
        self.unreachable_depth += 1;
    }

    /// Opens the `try_table` around a call of an operation, as a block that catches nothing.
    pub(crate) fn open_form(&mut self, ty: BlockType) {
        match self.is_reachable() {
            true => self.block(ty),
            false => self.open_unreachable(),
        }
    }

    fn open(&mut self, kind: ControlKind, ty: BlockType) {
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
            cached: Cached::Reference,
        });
    }

    pub(super) fn else_(&mut self) {
        if self.unreachable_depth > 0 {
            return;
        }
        let fell_through = self.reachable;
        if fell_through {
            self.jump_to_end();
        }
        let control = self.controls.last_mut().expect("validation matched else with if");
        let height = control.height;
        let ControlKind::If { alternative, operands, cached, unpaid, has_else, then_falls_through } =
            &mut control.kind
        else {
            unreachable!("validation matched else with if");
        };
        *has_else = true;
        *then_falls_through = fell_through;
        let (alternative, cached, unpaid) = (*alternative, *cached, *unpaid);
        let operands = std::mem::take(operands);
        self.stack.truncate(height);
        self.stack.extend(operands);
        self.builder.switch_to_block(alternative);
        self.set_cached(cached);
        self.set_unpaid(unpaid);
        self.reachable = true;
    }

    pub(super) fn end(&mut self) {
        if self.unreachable_depth > 0 {
            self.unreachable_depth -= 1;
            return;
        }
        if self.reachable {
            self.jump_to_end();
        }
        let control = self.controls.pop().expect("validation matched the ends");
        let mut end_used = control.end_used;
        let mut cached = control.cached;
        self.stack.truncate(control.height);
        match control.kind {
            ControlKind::Loop { header, .. } => self.builder.seal_block(header),
            ControlKind::If {
                alternative,
                operands,
                cached: before,
                unpaid,
                has_else: false,
                ..
            } => {
                cached = cached.min(before);
                self.builder.switch_to_block(alternative);
                self.set_unpaid(unpaid);
                self.pay();
                self.jump(control.end, &operands);
                end_used = true;
            }
            ControlKind::Try => self.close_handlers(),
            ControlKind::Function => return self.end_function(control.end, end_used),
            ControlKind::If { .. } | ControlKind::Block => {}
        }
        self.reachable = end_used && control.reachable;
        if self.reachable {
            self.enter_sealed(control.end);
            self.set_cached(cached);
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

    pub(super) fn br(&mut self, depth: u32) {
        self.branch_to(depth);
        self.set_unreachable();
    }

    pub(super) fn br_if(&mut self, depth: u32) {
        let condition = self.pop();
        let target = self.branch_target(depth);
        let next = self.builder.create_block();
        let args = block_args(&target.operands);
        self.ins().brif(condition, target.block, &args, next, &[]);
        self.emit_intermediate(&target);
        self.enter_sealed(next);
    }

    pub(super) fn br_table(&mut self, table: &BrTable<'_>) {
        let index = self.pop();
        let depths: Vec<u32> = table
            .targets()
            .collect::<wasmparser::Result<_>>()
            .expect("validation has read the targets");
        let mut targets = BTreeMap::new();
        let is_long = depths.len() > SHORT_TABLE;
        let mut target = |this: &mut Self, depth| this.table_target(depth, is_long, &mut targets);
        let default = target(self, table.default());
        let calls: Vec<_> = depths.iter().map(|&depth| target(self, depth)).collect();
        let data = ir::JumpTableData::new(default, &calls);
        let jump_table = self.builder.create_jump_table(data);
        self.ins().br_table(index, jump_table);
        targets.values().for_each(|target| self.emit_intermediate(target));
        self.set_unreachable();
    }

    fn table_target(
        &mut self,
        depth: u32,
        is_long: bool,
        targets: &mut BTreeMap<u32, BranchTarget>,
    ) -> ir::BlockCall {
        let target = targets.entry(depth).or_insert_with(|| match is_long {
            true => self.intermediate_target(depth),
            false => self.branch_target(depth),
        });
        self.builder.func.dfg.block_call(target.block, &block_args(&target.operands))
    }

    pub(super) fn return_(&mut self) {
        let results = self.controls[0].results;
        self.free_below(results);
        let values = self.top(results);
        self.return_values(&values);
        self.set_unreachable();
    }

    pub(crate) fn unreachable(&mut self) {
        self.ins().trap(trap(TrapCode::Unreachable));
        self.set_unreachable();
    }

    pub(super) fn return_values(&mut self, values: &[Value]) {
        self.write_fuel_back();
        let env = self.env;
        let results = env.info.function_type(self.function_index()).results();
        if self.on_top.is_some() {
            return self.return_below(values, results);
        }
        let direct = self.transfer().scatter(values, results, result_places(results));
        self.ins().return_(&direct);
    }

    pub(super) fn function_index(&self) -> u32 {
        match &self.builder.func.name {
            ir::UserFuncName::User(name) => name.index,
            ir::UserFuncName::Testcase(_) => unreachable!("functions are named by index"),
        }
    }

    /// The block of a branch, and the operands that it passes.
    pub(super) fn branch(&mut self, depth: u32) -> (Block, Vec<Value>) {
        let index = self.controls.len() - 1 - depth as usize;
        let cached = self.cached();
        let control = &mut self.controls[index];
        let (block, count) = control.target();
        match control.kind {
            ControlKind::Loop { cached: expected, .. } => {
                self.cache_running(expected);
                // The following code may be reached by another path.
                self.set_cached(cached);
            }
            _ => {
                control.end_used = true;
                control.cached = control.cached.min(cached);
            }
        }
        (block, self.top(count))
    }

    /// The height of the operand stack at the target of a branch, and the number of operands that
    /// the branch passes.
    pub(super) fn arrival(&self, depth: u32) -> (usize, usize) {
        let control = &self.controls[self.controls.len() - 1 - depth as usize];
        (control.height, control.target().1)
    }

    fn jump_to_end(&mut self) {
        let cached = self.cached();
        let control = self.controls.last_mut().expect("a function is a block");
        control.end_used = true;
        control.cached = control.cached.min(cached);
        let (end, results) = (control.end, control.results);
        let operands = self.top(results);
        self.jump(end, &operands);
    }

    pub(crate) fn jump(&mut self, block: Block, operands: &[Value]) {
        self.ins().jump(block, &block_args(operands));
    }

    // ---- helpers

    pub(crate) fn enter_sealed(&mut self, block: Block) {
        self.builder.switch_to_block(block);
        self.builder.seal_block(block);
    }

    /// The topmost operands, which stay.
    pub(super) fn top(&self, count: usize) -> Vec<Value> {
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
            BlockType::Type(ty) => (vec![], vec![convert::val_type(ty)]),
            BlockType::FuncType(index) => {
                let ty = self.env.info.func_type(index);
                (ty.params().to_vec(), ty.results().to_vec())
            }
        }
    }

    pub(super) fn select(&mut self, ty: Option<wasmparser::ValType>) {
        let (a, b, condition) = self.pop3();
        let value = self.ins().select(condition, a, b);
        match ty {
            Some(ty) => self.push_typed(value, convert::val_type(ty)),
            None => self.push(value),
        }
    }
}

/// A table with more labels than this branches to intermediate blocks. A value that a local passes
/// to a label is passed once for each entry of the table, and each time all entries are searched.
const SHORT_TABLE: usize = 16;

pub(super) fn block_args(values: &[Value]) -> Vec<BlockArg> {
    values.iter().map(|&value| BlockArg::Value(value)).collect()
}
