//! The setup of a program: designs, types, tags, variables.

use super::entropy::Choice;
use crate::designs::program::{Program, Signature, Tag, TagId, Ty, Types};

/// The limit of function entries and loop iterations in one call of the host.
const FUEL: i64 = 160;

/// The continuation type for `switch`, and the same type with its first argument bound.
pub const SWITCHED: [usize; 2] = [5, 6];

/// The choices made before any code is written.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The designs in use: typed continuations, the bag of stacks, tasks, fibers, and first-class
    /// stacks.
    pub designs: [bool; 5],
    /// The numbers of the continuation types in use. Others only name function types.
    pub conts: &'static [usize],
    /// The numbers of the stack types in use.
    pub stacks: &'static [usize],
    /// The numbers of the task types in use.
    pub tasks: &'static [usize],
    /// The result types of all continuations.
    pub results: Vec<Ty>,
    /// Tags that are preferred, so that programs handle the same tag in several places.
    pub favorites: Vec<TagId>,
    /// The percentage of tags that are favorites.
    pub loyalty: usize,
    /// The maximum number of functions.
    pub functions: usize,
    /// The percentage of functions that are used again.
    pub reuse: usize,
    /// Whether the program is written before it runs, and then reads a script.
    pub is_scripted: bool,
}

impl Setup {
    /// The setup of programs that are written while they run.
    fn written(designs: [bool; 5]) -> Setup {
        Setup {
            designs,
            conts: &[0, 1, 2, 3, 4, 5, 6],
            stacks: &[0, 1, 2, 3, 4, 5, 6],
            tasks: &[0, 1, 2, 3],
            results: Vec::new(),
            favorites: Vec::new(),
            loyalty: 65,
            functions: 30,
            reuse: 40,
            is_scripted: false,
        }
    }

    /// The setup of scripted programs. They use few types and functions, so that the same ones
    /// meet.
    pub fn scripted(designs: [bool; 5]) -> Setup {
        Setup {
            conts: &[0, 1, 5, 6],
            stacks: &[0, 1, 2],
            tasks: &[0, 2],
            loyalty: 100,
            functions: 12,
            reuse: 80,
            is_scripted: true,
            ..Setup::written(designs)
        }
    }
}

/// Reads the setup from the first record.
pub fn setup(choice: &mut Choice) -> (Setup, Program) {
    let all = choice.below(8) == 7;
    let mut designs = [40, 30, 30, 30, 35].map(|percent| all || choice.percent(percent));
    designs[0] |= !designs.contains(&true);
    with_designs(Setup::written(designs), choice)
}

/// The rest of a setup, and a program with types, tags and variables.
pub fn with_designs(mut setup: Setup, choice: &mut Choice) -> (Setup, Program) {
    setup.results = match choice.below(4) {
        0 => vec![],
        1 => vec![Ty::I64, Ty::Any],
        _ => vec![Ty::I64],
    };
    let modules = match choice.below(4) {
        0 | 1 => 1,
        2 => 2,
        _ => 3,
    };
    let mut program = Program { modules, types: types(&setup), fuel: FUEL, ..Program::default() };
    program.tags = tags(&setup, choice, modules, &program.types);
    if program.types.first_class {
        program.call_tags = vec![
            Signature::new(&[Ty::I64], &[Ty::I64]),
            Signature::new(&[], &[Ty::I64]),
            Signature::new(&[Ty::Any, Ty::I64], &[Ty::I64, Ty::Any]),
        ];
    }
    let count = program.tags.len();
    setup.favorites = (0..2 + choice.below(3)).map(|_| choice.below(count)).collect();
    variables(&mut program);
    (setup, program)
}

fn types(setup: &Setup) -> Types {
    use Ty::{Any, Cont, I64, Stack, V128};
    let results = &setup.results[..];
    let [typed, bag, tasks, fibers, first_class] = setup.designs;
    let mut types = Types { fibers, first_class, ..Types::default() };
    if typed {
        types.conts = vec![
            Signature::new(&[], results),
            Signature::new(&[I64], results),
            Signature::new(&[I64, Any], results),
            Signature::new(&[Any], results),
            Signature::new(&[V128, Any, Cont(0), I64, Any], results),
            Signature::new(&[I64, Cont(5)], results),
            Signature::new(&[Cont(5)], results),
        ];
    }
    if bag {
        types.stacks = vec![
            vec![I64, Stack(1)],
            vec![I64, Any, Stack(0)],
            vec![Stack(2)],
            vec![Any, I64, V128, I64, Stack(0)],
            vec![Any, Stack(0)],
            vec![Stack(1)],
            vec![Stack(0)],
        ];
        // Gives names to the types of functions of stacks.
        let named = types.stacks[..3].iter().map(|params| Signature::new(params, &[]));
        types.conts.extend(named);
    }
    if tasks {
        types.tasks = vec![
            Signature::new(&[I64], &[I64]),
            Signature::new(&[Any, I64], &[I64]),
            Signature::new(&[], &[I64, Any]),
            Signature::new(&[I64, V128, Any, I64], &[I64]),
        ];
    }
    types
}

fn tags(setup: &Setup, choice: &mut Choice, modules: usize, types: &Types) -> Vec<Tag> {
    use Ty::{Any, I64, Linear, V128};
    let [typed, bag, .., first_class] = setup.designs;
    // The host throws tag 0.
    let mut signatures = vec![
        Signature::new(&[I64], &[]),
        Signature::new(&[], &[]),
        Signature::new(&[], &[]),
        Signature::new(&[I64], &[]),
        Signature::new(&[Any, I64], &[]),
        Signature::new(&[I64, V128, Any, I64], &[]),
    ];
    if typed {
        for cont in &types.conts[1..5] {
            let params = [&[][..], &[I64], &[Any, I64]][choice.below(3)];
            signatures.push(Signature::new(params, &cont.params));
        }
        let switched = Signature::new(&[], &setup.results);
        signatures.extend([switched.clone(), switched]);
    }
    if bag {
        signatures.push(Signature::new(&[I64, Ty::Stack(0)], &[]));
        signatures.push(Signature::new(&[I64, Ty::Stack(1)], &[]));
        signatures.push(Signature::new(&[Ty::Stack(2)], &[]));
    }
    if first_class {
        signatures.push(Signature::new(&[Linear], &[]));
        signatures.push(Signature::new(&[Linear], &[]));
        signatures.push(Signature::new(&[I64, Linear], &[]));
        signatures.push(Signature::new(&[I64, Any, V128, Linear], &[]));
    }
    let tags = signatures.into_iter().enumerate().map(|(number, signature)| {
        let module = if number == 0 || choice.percent(70) { 0 } else { choice.below(modules) };
        Tag { module, signature }
    });
    tags.collect()
}

/// Two globals and a table for each type of references.
fn variables(program: &mut Program) {
    let mut types = program.types.stack_references();
    types.extend([Ty::I64, Ty::Any, Ty::Exn]);
    if program.types.first_class {
        types.push(Ty::Linear);
    }
    for ty in types {
        program.globals.extend([ty, ty]);
        program.tables.push(ty);
    }
    program.tables.retain(|&ty| ty != Ty::I64);
}
