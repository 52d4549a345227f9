//! Handles that are used with a store or an engine that they do not belong to.
//!
//! [`rows`] tries every public function whose arguments must belong together, such as a handle and
//! a store. Each row passes one argument of another store. That store is of the same engine, of
//! another engine, or of an engine whose types have the same indices.
//!
//! [`signatures`] reads these functions from the sources. A new function without a row fails a
//! test.

mod engines;
mod home;
mod items;
mod lifetimes;
mod references;
mod results;
mod signatures;
mod snapshots;
mod stacks;

use home::{Home, decoy, module};
use ropewalk::*;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The outcome of a function with a foreign handle.
#[derive(Debug)]
enum Outcome {
    Accepted,
    /// `None` or `false`.
    Nothing,
    Error(Error),
}

trait IntoOutcome {
    fn outcome(self) -> Outcome;
}

impl<T> IntoOutcome for Result<T> {
    fn outcome(self) -> Outcome {
        self.map_or_else(Outcome::Error, |_| Outcome::Accepted)
    }
}

impl<T> IntoOutcome for Option<T> {
    fn outcome(self) -> Outcome {
        self.map_or(Outcome::Nothing, |_| Outcome::Accepted)
    }
}

impl IntoOutcome for bool {
    fn outcome(self) -> Outcome {
        self.then_some(()).outcome()
    }
}

/// The expected outcome.
#[derive(Clone, Copy, Debug)]
enum Expected {
    Accepted,
    Nothing,
    WrongStore,
    WrongEngine,
    UnknownType,
    Snapshot,
}

impl Expected {
    fn is(self, outcome: &Outcome) -> bool {
        match (self, outcome) {
            (Expected::Accepted, Outcome::Accepted) => true,
            (Expected::Nothing, Outcome::Nothing) => true,
            (Expected::WrongStore, Outcome::Error(error)) => error.is::<WrongStore>(),
            (Expected::WrongEngine, Outcome::Error(error)) => error.is::<WrongEngine>(),
            (Expected::UnknownType, Outcome::Error(error)) => error.is::<UnknownType>(),
            (Expected::Snapshot, Outcome::Error(error)) => error.is::<SnapshotError>(),
            _ => false,
        }
    }
}

/// Calls a function of my store with a handle of theirs.
type Try = Box<dyn Fn(&mut Home, &mut Home) -> Outcome>;

struct Row {
    function: &'static str,
    /// The outcome if the other store is of the same engine.
    same_engine: Expected,
    /// The outcome if it is of another engine.
    other_engine: Expected,
    tried: Try,
}

/// Rows, each `"function" EXPECTED, name = value => body`. The body calls the function of my store
/// `m` with a handle of theirs, `t`. It may use named values, which are made before.
macro_rules! table {
    ($m:ident, $t:ident: $(
        $function:literal $expected:ident $(, $name:pat = $value:expr)* => $body:expr;
    )*) => {
        vec![$(row($function, $expected, move |$m, $t| {
            $(let $name = $value;)*
            $body
        })),*]
    };
}
use table;

fn row<A: IntoOutcome>(
    function: &'static str,
    [same_engine, other_engine]: [Expected; 2],
    tried: impl Fn(&mut Home, &mut Home) -> A + 'static,
) -> Row {
    let tried = Box::new(move |mine: &mut Home, theirs: &mut Home| tried(mine, theirs).outcome());
    Row { function, same_engine, other_engine, tried }
}

/// Handles that belong to a store.
const STORE: [Expected; 2] = [Expected::WrongStore; 2];
/// The same, where the function returns an option.
const NOTHING: [Expected; 2] = [Expected::Nothing; 2];
/// Handles that belong to an engine.
const ENGINE: [Expected; 2] = [Expected::Accepted, Expected::WrongEngine];
/// The same, where the function returns an option.
const NOTHING_OF_ENGINE: [Expected; 2] = [Expected::Accepted, Expected::Nothing];
/// Handles of both.
const BOTH: [Expected; 2] = [Expected::WrongStore, Expected::WrongEngine];
/// Bytes of snapshots, which are compared.
const ACCEPTED: [Expected; 2] = [Expected::Accepted; 2];
const SNAPSHOT: [Expected; 2] = [Expected::Snapshot; 2];
const SNAPSHOT_OF_ENGINE: [Expected; 2] = [Expected::Accepted, Expected::Snapshot];
/// A type that names a defined type of an engine.
const TYPE: [Expected; 2] = [Expected::Accepted, Expected::UnknownType];

fn rows() -> Vec<Row> {
    let stores = [items::rows(), references::rows(), stacks::rows(), results::rows()];
    let engines = [engines::rows(), snapshots::rows()];
    stores.into_iter().chain(engines).flatten().collect()
}

/// Functions that need no row, and why.
const EXEMPT: &[(&str, &str)] = &[
    ("Caller::get_module_export", "it is `Instance::get_module_export` of the calling instance"),
    ("Engine::same", "it compares engines"),
    ("Module::same", "it compares modules"),
    ("Store::core_dump", "a list of stacks is a report, which names no handles"),
    ("StoreContext::core_dump", "a list of stacks is a report, which names no handles"),
];

#[test]
fn every_exported_type_is_known_to_belong_somewhere_or_nowhere() {
    let exported = signatures::exported();
    let [belongs, free] = [signatures::BELONGS, signatures::FREE]
        .map(|names| names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>());
    let known: BTreeSet<String> = belongs.union(&free).cloned().collect();
    let (new, gone): (Vec<_>, Vec<_>) =
        (exported.difference(&known).collect(), known.difference(&exported).collect());
    assert!(
        new.is_empty(),
        "add these exported names to `BELONGS` in signatures.rs if they belong to a store or an \
         engine, or hold what does, and otherwise to `FREE`: {new:?}"
    );
    assert!(gone.is_empty(), "the library does not export these names of signatures.rs: {gone:?}");
    assert!(belongs.is_disjoint(&free), "a name is in both lists of signatures.rs");
}

#[test]
fn every_public_function_that_takes_two_handles_has_a_row() {
    let functions = signatures::functions();
    let exempt: BTreeSet<String> = EXEMPT.iter().map(|(name, _)| name.to_string()).collect();
    let mut rows: BTreeMap<String, usize> = BTreeMap::new();
    for row in self::rows() {
        *rows.entry(row.function.to_string()).or_default() += 1;
    }
    // One parameter names the store or engine. Each other parameter may be foreign.
    let missing: Vec<String> = functions
        .iter()
        .filter(|(name, _)| !exempt.contains(*name))
        .map(|(name, parameters)| (name, parameters - 1, rows.get(name).copied().unwrap_or(0)))
        .filter(|(_, expected, found)| found < expected)
        .map(|(name, expected, found)| format!("{name}: {expected} needed, {found} found"))
        .collect();
    assert!(
        missing.is_empty(),
        "these functions take things that must belong to the same store or engine; \
         tests/foreign_handles needs rows that give them one of another store, for each parameter \
         but one, or a reason in `EXEMPT` why not: {missing:#?}"
    );
    let [functions, rows] = [functions, rows].map(|map| map.into_keys().collect::<BTreeSet<_>>());
    let stale = &(&rows | &exempt) - &functions;
    let stale: Vec<_> = stale.iter().filter(|name| !name.starts_with("a host function")).collect();
    assert!(stale.is_empty(), "rows or exemptions of functions that do not exist: {stale:#?}");
    let both: Vec<_> = rows.intersection(&exempt).collect();
    assert!(both.is_empty(), "functions with a row and an exemption: {both:#?}");
}

/// An engine whose stores check their stacks.
fn checked_engine() -> Engine {
    let mut config = Config::new();
    config.snapshots(true).interruption(true).stress(|stress| stress.check_stacks = true);
    Engine::new(&config).unwrap()
}

/// Two engines with the module. The second engine had other types first.
fn two_engines() -> [(Engine, Module); 2] {
    let engines = [(); 2].map(|()| checked_engine());
    Module::new(&engines[1], decoy()).unwrap();
    engines.map(with_module)
}

/// The same, but the type indices of one engine are those of other types of the same kinds in the
/// other.
fn engines_with_equal_numbers() -> [(Engine, Module); 2] {
    let [one, other] = [(); 2].map(|()| checked_engine());
    let first = number(&StructType::new(&other, []).unwrap());
    let fields = |count: u32| {
        let wide = (0..u32::BITS).map(move |bit| count >> bit & 1 == 1);
        wide.map(|wide| FieldType::new(if wide { ValType::I64 } else { ValType::I32 }, true))
    };
    let mut types = (0..).map(|count| number(&StructType::new(&one, fields(count)).unwrap()));
    assert!(types.any(|number| number == first), "the numbers of the other engine come later");
    Module::new(&other, decoy()).unwrap();
    [one, other].map(with_module)
}

fn with_module(engine: Engine) -> (Engine, Module) {
    let module = Module::new(&engine, module()).unwrap();
    (engine, module)
}

/// The index of a type.
fn number(ty: &StructType) -> u32 {
    match HeapType::from(ty) {
        HeapType::Concrete(number) => number,
        other => panic!("a defined type has a number: {other}"),
    }
}

/// Tries rows with the handles of a second home. Returns the unexpected outcomes.
fn failures<'a>(
    rows: impl IntoIterator<Item = &'a Row>,
    [mine, theirs]: [&(Engine, Module); 2],
) -> Vec<String> {
    let is_same = Engine::same(&mine.0, &theirs.0);
    let tried = rows.into_iter().filter_map(|row| {
        let expected = if is_same { row.same_engine } else { row.other_engine };
        let [mut mine, mut theirs] =
            [mine, theirs].map(|(engine, module)| Home::new(engine, module));
        let outcome = catch_unwind(AssertUnwindSafe(|| (row.tried)(&mut mine, &mut theirs)));
        mine.check_whole();
        theirs.check_whole();
        let whose = if is_same { "the same engine" } else { "another engine" };
        match outcome {
            Ok(outcome) if expected.is(&outcome) => None,
            Ok(outcome) => Some(format!(
                "{}, of {whose}: expected {expected:?}, found {outcome:?}",
                row.function
            )),
            Err(_) => {
                Some(format!("{}, of {whose}: expected {expected:?}, panicked", row.function))
            }
        }
    });
    tried.collect()
}

#[test]
fn a_handle_of_another_store_is_refused() {
    let [one, other] = two_engines();
    let rows = rows();
    let found = [[&one, &one], [&one, &other], [&other, &one]].map(|homes| failures(&rows, homes));
    assert!(found.concat().is_empty(), "{}", found.concat().join("\n"));
}

#[test]
fn a_handle_is_refused_where_the_other_engine_has_the_same_number_for_another_type() {
    let [one, other] = engines_with_equal_numbers();
    let mut rows = rows();
    // A type knows its engine only by its index.
    rows.retain(|row| matches!(row.other_engine, Expected::WrongStore | Expected::WrongEngine));
    let found = [[&one, &other], [&other, &one]].map(|homes| failures(&rows, homes));
    assert!(found.concat().is_empty(), "{}", found.concat().join("\n"));
}
