//! Finds the type that a constant expression should have, and the type that it has.

use wasmparser::{
    ConstExpr, ElementItems, HeapType, Operator, Parser, Payload, RefType, Result, TableInit,
    TypeRef, UnpackedIndex, ValType,
};

use crate::explain::TypeMismatch;

/// The types that do not match, if `offset` lies in a constant expression.
pub(crate) fn mismatch(binary: &[u8], offset: u64) -> Option<TypeMismatch> {
    let mut module = Module { offset, functions: Vec::new(), globals: Vec::new(), found: None };
    for payload in Parser::new(0).parse_all(binary) {
        module.read(payload.ok()?).ok()?;
        if module.found.is_some() {
            break;
        }
    }
    module.found
}

/// The items that constant expressions refer to, as far as the module was read.
struct Module {
    offset: u64,
    /// Type indices of functions, and value types of globals.
    functions: Vec<u32>,
    globals: Vec<ValType>,
    found: Option<TypeMismatch>,
}

impl Module {
    fn read(&mut self, payload: Payload<'_>) -> Result<()> {
        match payload {
            Payload::ImportSection(imports) => {
                imports.into_imports().try_for_each(|import| {
                    self.import(import?.ty);
                    Ok(())
                })?;
            }
            Payload::FunctionSection(types) => {
                self.functions.extend(types.into_iter().collect::<Result<Vec<_>>>()?);
            }
            Payload::TableSection(tables) => {
                for table in tables {
                    let table = table?;
                    if let TableInit::Expr(init) = &table.init {
                        self.expression(init, table.ty.element_type.into())?;
                    }
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let global = global?;
                    self.expression(&global.init_expr, global.ty.content_type)?;
                    self.globals.push(global.ty.content_type);
                }
            }
            Payload::ElementSection(segments) => {
                for segment in segments {
                    if let ElementItems::Expressions(ty, items) = segment?.items {
                        items
                            .into_iter()
                            .try_for_each(|item| self.expression(&item?, ty.into()))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn import(&mut self, ty: TypeRef) {
        match ty {
            TypeRef::Func(ty) | TypeRef::FuncExact(ty) => self.functions.push(ty),
            TypeRef::Global(ty) => self.globals.push(ty.content_type),
            TypeRef::Table(_) | TypeRef::Memory(_) | TypeRef::Tag(_) => {}
        }
    }

    /// Compares the types if the expression is the one at `offset`.
    fn expression(&mut self, expression: &ConstExpr<'_>, expected: ValType) -> Result<()> {
        let range = expression.get_binary_reader().range();
        if !(range.start..=range.end).contains(&self.offset) {
            return Ok(());
        }
        let operators = expression.get_operators_reader().into_iter();
        let operators = operators.collect::<Result<Vec<_>>>()?;
        // The last one is `end`.
        let last = operators.iter().rev().nth(1);
        let found = last.and_then(|operator| self.result(operator));
        self.found = found.map(|found| TypeMismatch { found, expected });
        Ok(())
    }

    /// The type of the reference that a constant operator leaves, if it leaves one.
    fn result(&self, operator: &Operator<'_>) -> Option<ValType> {
        let (nullable, heap_type) = match *operator {
            Operator::RefNull { hty } => (true, hty),
            Operator::RefFunc { function_index } => {
                (false, defined(*self.functions.get(function_index as usize)?))
            }
            Operator::StructNew { struct_type_index: ty }
            | Operator::StructNewDefault { struct_type_index: ty }
            | Operator::ArrayNew { array_type_index: ty }
            | Operator::ArrayNewDefault { array_type_index: ty }
            | Operator::ArrayNewFixed { array_type_index: ty, .. } => (false, defined(ty)),
            Operator::GlobalGet { global_index } => {
                return self.globals.get(global_index as usize).copied();
            }
            _ => return None,
        };
        RefType::new(nullable, heap_type).map(ValType::Ref)
    }
}

fn defined(index: u32) -> HeapType {
    HeapType::Concrete(UnpackedIndex::Module(index))
}
