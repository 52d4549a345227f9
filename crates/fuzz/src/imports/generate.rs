//! Generates modules that use the reserved imports in any order and number, with any existing
//! references.
//!
//! Every statement consists of whole parenthesized forms, so a case can be reduced by removing
//! some.

use super::misuse::{self, Misuse};
use super::vocabulary::{self as v, EXTRA, MAGIC, Ty, params, results};
use arbitrary::{Result, Unstructured};
use std::fmt::Write;
use std::ops::RangeInclusive;

/// The maximum number of functions, besides trivial ones.
const FUNCTIONS: usize = 18;

/// The maximum number of statements.
const STATEMENTS: usize = 120;

/// The number of exported functions that the host calls.
pub const ENTRIES: usize = 4;

/// A generated module.
pub struct Case {
    pub source: String,
    /// The mode in which it runs besides the default.
    pub mode: usize,
    /// Whether routs may contain forbidden code before `start`.
    pub wild_routs: bool,
    /// The misuse that must be rejected, if there is one.
    pub misuse: Option<Misuse>,
}

pub fn case(u: &mut Unstructured<'_>, modes: usize) -> Result<Case> {
    let mode = u.int_in_range(1..=modes - 1)?;
    let mut generator = Generator::new(u)?;
    generator.bodies()?;
    let misuse = if generator.one_in(5)? { Some(misuse::choose(&mut generator)?) } else { None };
    let wild_routs = generator.wild_routs;
    Ok(Case { source: generator.module(misuse.as_ref()), mode, wild_routs, misuse })
}

/// The purpose of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Any call.
    Any,
    /// `extend` names it, so little is allowed before `start`.
    Rout,
    /// It is called on top of another stack, so it should be small.
    OnTop,
}

/// A function, perhaps without a body yet.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub name: String,
    pub role: Role,
    pub params: Vec<Ty>,
    pub results: Vec<Ty>,
    pub body: Option<String>,
}

impl Function {
    fn has(&self, role: &Role, params: &[Ty], results: &[Ty]) -> bool {
        self.role == *role && self.params == params && self.results == results
    }
}

/// A reserved import and its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub design: &'static str,
    pub name: &'static str,
    pub params: Vec<String>,
    pub results: Vec<String>,
}

pub(super) struct Generator<'a, 'b> {
    pub u: &'a mut Unstructured<'b>,
    pub imports: Vec<Import>,
    pub functions: Vec<Function>,
    /// The kinds of statements that this module may have. Without some kinds, others occur more
    /// often.
    pub kinds: u64,
    /// Whether used references stay in their place.
    pub copies: bool,
    /// Whether routs may contain any code before `start`.
    pub wild_routs: bool,
    /// The current function.
    pub current: Function,
    /// Whether the current code is before the `start` of a rout.
    pub before_start: bool,
    /// The nesting of statements.
    pub depth: usize,
    statements: usize,
    names: usize,
}

impl<'a, 'b> Generator<'a, 'b> {
    fn new(u: &'a mut Unstructured<'b>) -> Result<Self> {
        let mut kinds = u64::MAX;
        for _ in 0..u.int_in_range(0..=3)? {
            kinds &= u.arbitrary::<u64>()?;
        }
        let wild_routs = u.ratio(1, 8)?;
        let copies = u.ratio(1, 3)?;
        let entries = (0..ENTRIES).map(|i| Function {
            name: format!("$go{i}"),
            role: Role::Any,
            params: vec![],
            results: vec![],
            body: None,
        });
        let functions: Vec<Function> = entries.collect();
        let current = functions[0].clone();
        Ok(Generator {
            u,
            imports: Vec::new(),
            functions,
            kinds,
            copies,
            wild_routs,
            current,
            before_start: false,
            depth: 0,
            statements: 0,
            names: 0,
        })
    }

    pub fn one_in(&mut self, n: u8) -> Result<bool> {
        // Returns false when the bytes are used up.
        Ok(self.u.int_in_range(0..=n - 1)? == n - 1)
    }

    pub fn below(&mut self, n: usize) -> Result<usize> {
        self.u.int_in_range(0..=n - 1)
    }

    pub fn pick<T: Clone>(&mut self, from: &[T]) -> Result<T> {
        Ok(from[self.below(from.len())?].clone())
    }

    /// A unique name.
    pub fn fresh(&mut self, stem: &str) -> String {
        self.names += 1;
        format!("${stem}{}", self.names)
    }

    /// A function with a type, existing or new.
    pub fn function(&mut self, role: Role, params: &[Ty], results: &[Ty]) -> Result<String> {
        let there: Vec<String> = self
            .functions
            .iter()
            .filter(|function| function.has(&role, params, results))
            .map(|function| function.name.clone())
            .collect();
        let is_full = self.functions.len() >= FUNCTIONS;
        if !there.is_empty() && (is_full || !self.one_in(3)?) {
            return self.pick(&there);
        }
        let name = self.fresh("f");
        let (params, results) = (params.to_vec(), results.to_vec());
        self.functions.push(Function { name: name.clone(), role, params, results, body: None });
        Ok(name)
    }

    /// Adds a reserved import, and returns its name.
    pub fn import(
        &mut self,
        design: &'static str,
        name: &'static str,
        params: Vec<String>,
        results: Vec<String>,
    ) -> String {
        let import = Import { design, name, params, results };
        let index = self.imports.iter().position(|there| *there == import);
        let index = index.unwrap_or_else(|| {
            self.imports.push(import);
            self.imports.len() - 1
        });
        format!("$import{index}")
    }

    /// An expression for a value of a type.
    pub fn operand(&mut self, ty: Ty) -> Result<String> {
        Ok(match ty {
            Ty::I32 => match self.below(3)? {
                0 => format!("(i32.const {})", self.below(5)?),
                1 => "(global.get $n)".to_string(),
                _ => format!("(i32.const {})", self.pick(&["-1", "7", "0x7fffffff"])?),
            },
            Ty::I64 => format!("(i64.const {})", self.u.int_in_range(-2..=99)?),
            Ty::F64 => format!("(f64.const {})", self.below(9)?),
            Ty::V128 => format!("(v128.const i64x2 {} 7)", self.below(9)?),
            Ty::Env if self.one_in(3)? => "(global.get $env)".to_string(),
            Ty::Env => {
                let (held, stack) = (self.object(Ty::Sub)?, self.reference(Ty::Stack)?);
                format!("(struct.new $env {held} {stack})")
            }
            _ => self.reference(ty)?,
        })
    }

    pub fn operands(&mut self, types: &[Ty]) -> Result<String> {
        let operands = types.iter().map(|ty| self.operand(*ty));
        Ok(operands.collect::<Result<Vec<_>>>()?.join("\n"))
    }

    fn reference(&mut self, ty: Ty) -> Result<String> {
        // Sometimes uses a subtype.
        let from = match ty {
            Ty::Obj if self.one_in(3)? => Ty::Sub,
            Ty::Bag(5) if self.one_in(3)? => Ty::Bag(6),
            _ => ty,
        };
        let is_object = matches!(from, Ty::Obj | Ty::Sub);
        match self.below(12)? {
            0 if is_object || self.one_in(3)? => return Ok(from.null()),
            1..5 if is_object => return self.object(from),
            1..5 if self.depth > 0 && !self.before_start => {
                if let Some(new) = self.new_stack_of(from)? {
                    return Ok(new);
                }
            }
            _ => {}
        }
        let place = self.place(from)?;
        // Mostly skips the statement if the reference is null.
        let skips = !is_object && self.depth > 0 && !self.one_in(20)?;
        Ok(if skips { format!("(br_on_null $statement {place})") } else { place })
    }

    /// An expression that reads a reference from a place, and may clear a global.
    fn place(&mut self, ty: Ty) -> Result<String> {
        let name = ty.name();
        let mine: Vec<usize> =
            (0..self.current.params.len()).filter(|i| self.current.params[*i] == ty).collect();
        let env = self.current.params.first() == Some(&Ty::Env);
        Ok(match self.below(10)? {
            0..5 if env && ty == Ty::Sub => "(struct.get $env 0 (local.get 0))".to_string(),
            0..3 if env && ty == Ty::Stack => "(struct.get $env 1 (local.get 0))".to_string(),
            0..4 => {
                let global = format!("$g.{name}.{}", self.below(2)?);
                match self.copies {
                    true => format!("(global.get {global})"),
                    false => format!("(global.get {global}) (global.set {global} {})", ty.null()),
                }
            }
            4 => format!("(table.get $tab.{name} (i32.const {}))", self.below(3)?),
            5 if ty == Ty::Stack => "(struct.get $env 1 (global.get $env))".to_string(),
            5 if ty == Ty::Sub => "(struct.get $env 0 (global.get $env))".to_string(),
            6 if ty == Ty::Stack => "(struct.get $box 0 (global.get $box))".to_string(),
            5..9 if !mine.is_empty() => format!("(local.get {})", self.pick(&mine)?),
            _ => format!("(local.get $x.{name})"),
        })
    }

    fn object(&mut self, ty: Ty) -> Result<String> {
        self.names += 1;
        let id = self.names;
        Ok(match ty {
            Ty::Sub => format!(
                "(struct.new $sub (i32.const {MAGIC}) (i32.const {id}) (i64.const {EXTRA}))"
            ),
            _ => format!("(struct.new $obj (i32.const {MAGIC}) (i32.const {id}))"),
        })
    }

    /// Code that pops a value of a type.
    pub fn take(&mut self, ty: Ty) -> Result<String> {
        let name = ty.name();
        Ok(match (ty, self.below(8)?) {
            (Ty::Env, _) | (_, 0) => "(drop)".to_string(),
            (Ty::I32, 1) => "(global.set $n)".to_string(),
            (Ty::I32 | Ty::I64 | Ty::F64 | Ty::V128, _) => self.see(ty),
            (Ty::Obj | Ty::Sub, 1..5) => self.see(ty),
            (_, 1..3) => format!("(global.set $g.{name}.{})", self.below(2)?),
            (_, 3) => format!(
                "(local.set $x.{name}) (table.set $tab.{name} (i32.const {}) (local.get $x.{name}))",
                self.below(3)?
            ),
            (_, 4) => format!("(local.tee $x.{name}) (global.set $g.{name}.{})", self.below(2)?),
            (Ty::Stack, 5) => "(local.set $x.stack) \
                 (struct.set $env 1 (global.get $env) (local.get $x.stack))"
                .to_string(),
            (Ty::Stack, 6) => "(local.set $x.stack) \
                 (struct.set $box 0 (global.get $box) (local.get $x.stack))"
                .to_string(),
            (Ty::Sub, 5..8) => "(local.set $x.sub) \
                 (struct.set $env 0 (global.get $env) (local.get $x.sub))"
                .to_string(),
            _ => format!("(local.set $x.{name})"),
        })
    }

    /// Code that pops values, the last one first.
    pub fn takes(&mut self, types: &[Ty]) -> Result<String> {
        let takes = types.iter().rev().map(|ty| self.take(*ty));
        Ok(takes.collect::<Result<Vec<_>>>()?.join("\n"))
    }

    /// Checks a value, and logs it.
    fn see(&mut self, ty: Ty) -> String {
        match self.before_start {
            true => "(drop)".to_string(),
            false => format!("(call $see.{})", ty.name()),
        }
    }

    /// Generates bodies until every function has one.
    fn bodies(&mut self) -> Result<()> {
        while let Some(index) = self.functions.iter().position(|f| f.body.is_none()) {
            self.current = self.functions[index].clone();
            let body = match self.current.role.clone() {
                Role::Rout => self.rout()?,
                _ if index >= FUNCTIONS => self.small()?,
                Role::OnTop if self.one_in(2)? => self.small()?,
                _ => self.body()?,
            };
            self.functions[index].body = Some(body);
        }
        Ok(())
    }

    fn body(&mut self) -> Result<String> {
        let mut body = format!("{}\n", self.tick());
        body += &self.keep_params()?;
        let is_entry = self.current.name.starts_with("$go");
        let statements = if is_entry { self.statements(3..=8)? } else { self.statements(0..=4)? };
        // A loop lets a suspended function suspend again.
        if self.one_in(3)? {
            let label = self.fresh("again");
            let tick = self.tick();
            write!(body, "(loop {label}\n{tick}\n{statements}\n(br {label}))\n").expect("a string");
        } else {
            body += &statements;
        }
        Ok(body + "\n" + &self.operands(&self.current.results.clone())?)
    }

    /// A body with little but the results.
    fn small(&mut self) -> Result<String> {
        let params = self.keep_params()?;
        Ok(params + &self.operands(&self.current.results.clone())?)
    }

    fn rout(&mut self) -> Result<String> {
        self.before_start = !self.wild_routs;
        let before = format!("{}\n{}", self.tick(), self.statements(0..=2)?);
        let opening = self.protected_start()?;
        self.before_start = false;
        let rest = self.body()?;
        Ok(format!("{before}\n{opening}\n{rest}"))
    }

    /// Stores some of the arguments where other functions find them.
    fn keep_params(&mut self) -> Result<String> {
        let mut text = String::new();
        for (i, ty) in self.current.params.clone().into_iter().enumerate() {
            if self.one_in(2)? {
                writeln!(text, "(local.get {i}) {}", self.take(ty)?).expect("a string");
            }
        }
        Ok(text)
    }

    /// Code that ends the activation when the fuel is used up.
    pub fn tick(&self) -> String {
        "(if (i32.le_s (global.get $fuel) (i32.const 0)) (then (unreachable))) \
         (global.set $fuel (i32.sub (global.get $fuel) (i32.const 1)))"
            .to_string()
    }

    /// A number of statements.
    pub fn statements(&mut self, count: RangeInclusive<usize>) -> Result<String> {
        let count = self.u.int_in_range(count)?;
        let mut text = String::new();
        for _ in 0..count {
            if self.statements >= STATEMENTS || self.depth > 4 {
                break;
            }
            self.statements += 1;
            self.depth += 1;
            let statement = self.statement()?;
            self.depth -= 1;
            writeln!(text, "(block $statement\n{statement})").expect("a string");
        }
        Ok(text)
    }

    fn module(&self, misuse: Option<&Misuse>) -> String {
        let mut text = format!("(module{}{}{HOST}", v::TYPES, v::imports());
        for (i, import) in self.imports.iter().enumerate() {
            let Import { design, name, params, results } = import;
            let (params, results) = (params.join(" "), results.join(" "));
            let module = match *design {
                "host" => "host".to_string(),
                _ => format!("ropewalk:{design}"),
            };
            writeln!(
                text,
                "  (import \"{module}\" \"{name}\" \
                 (func $import{i} (param {params}) (result {results})))",
            )
            .expect("a string");
        }
        if let Some(misuse) = misuse {
            writeln!(text, "  {}", misuse.import).expect("a string");
        }
        for function in &self.functions {
            let Function { name, params: takes, results: gives, .. } = function;
            // A type of a recursion group differs from the same type alone.
            let ty = match (takes.as_slice(), gives.as_slice()) {
                ([Ty::Cont(2)], []) => continue,
                _ => format!("(func {} {})", params(takes), results(gives)),
            };
            writeln!(text, "  (type $type{name} {ty})").expect("a string");
        }
        text += &seers();
        for function in &self.functions {
            text += &define(function);
        }
        let names: Vec<&str> = self.functions.iter().map(|f| f.name.as_str()).collect();
        writeln!(text, "  (elem declare func {})", names.join(" ")).expect("a string");
        let called = names.iter().take(8).copied().collect::<Vec<_>>().join(" ");
        writeln!(text, "  (elem (table $funcs) (global.get $base) func {called})")
            .expect("a string");
        if let Some(misuse) = misuse {
            writeln!(text, "  {}", misuse.rest).expect("a string");
        }
        text + ")\n"
    }
}

/// The imports from the host.
const HOST: &str = r#"
  (import "host" "base" (global $base i32))
  (import "host" "log" (func $log (param i32)))
  (import "host" "confused" (func $confused (param i32)))
  (import "host" "again" (func $again (param i32)))
  (import "host" "fail" (func $fail))
  (import "host" "throw" (func $throw))
  (import "host" "pass.stack" (func $pass.stack (param (ref null $stack)) (result (ref null $stack))))
  (import "host" "pass.fiber" (func $pass.fiber (param (ref null $fiber)) (result (ref null $fiber))))
  (import "host" "pass.c0" (func $pass.c0 (param (ref null $c0)) (result (ref null $c0))))
"#;

/// Functions that check a value, and tell the host if it does not match its type.
fn seers() -> String {
    format!(
        r#"
  (type $garbage (array i8))
  (func $collect
    (drop (array.new_default $garbage (i32.const 1500000)))
    (drop (array.new_default $garbage (i32.const 1500000))))
  (func $see.i32 (param i32) (call $log (local.get 0)))
  (func $see.i64 (param i64) (call $log (i32.wrap_i64 (local.get 0))))
  (func $see.f64 (param f64) (call $log (i32.trunc_sat_f64_s (local.get 0))))
  (func $see.v128 (param v128) (call $log (i32x4.extract_lane 0 (local.get 0))))
  (func $see.obj (param (ref null $obj))
    (if (ref.is_null (local.get 0)) (then (call $log (i32.const -1)) (return)))
    (if (i32.ne (struct.get $obj $magic (local.get 0)) (i32.const {MAGIC}))
      (then (call $confused (i32.const 1))))
    (call $log (struct.get $obj $id (local.get 0))))
  (func $see.sub (param (ref null $sub))
    (if (ref.is_null (local.get 0)) (then (call $log (i32.const -2)) (return)))
    (if (i32.ne (struct.get $sub $magic (local.get 0)) (i32.const {MAGIC}))
      (then (call $confused (i32.const 2))))
    (if (i64.ne (struct.get $sub $extra (local.get 0)) (i64.const {EXTRA}))
      (then (call $confused (i32.const 3))))
    (call $log (struct.get $sub $id (local.get 0))))
"#
    )
}

/// The text of a function, with one local for each type of reference.
fn define(function: &Function) -> String {
    let Function { name, params: takes, results: gives, body, .. } = function;
    let body = body.as_deref().unwrap_or_default();
    let locals: Vec<String> = v::kept()
        .iter()
        .filter(|ty| body.contains(&format!("$x.{}", ty.name())))
        .map(|ty| format!("(local $x.{} {})", ty.name(), ty.text()))
        .collect();
    // Only calls from the host add fuel.
    let entry = match name.strip_prefix("$go") {
        Some(number) => format!(
            "  (func (export \"go{number}\") (global.set $fuel (i32.const 60)) (call {name}))\n"
        ),
        None => String::new(),
    };
    let ty = match (takes.as_slice(), gives.as_slice()) {
        ([Ty::Cont(2)], []) => "(type $k2.f)".to_string(),
        _ => format!("(type $type{name})"),
    };
    format!("{entry}  (func {name} {ty} {}\n{body})\n", locals.join(" "))
}
