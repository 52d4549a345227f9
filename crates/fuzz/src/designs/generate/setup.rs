//! The setup of a program: designs, types, tags, variables.

use super::entropy::Choice;
use crate::designs::program::{Program, Signature, Tag, TagId, Ty, Types};

/// The limit of function entries and loop iterations in one call of the host.
const FUEL: i64 = 160;

/// The choices made before any code is written.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Whether typed continuations are used.
    pub typed: bool,
    /// Whether the bag of stacks is used.
    pub bag: bool,
    /// Whether tasks are used.
    pub tasks: bool,
    /// Whether fibers are used.
    pub fibers: bool,
    /// Whether first-class stacks are used.
    pub first_class: bool,
    /// The result types of all continuations.
    pub results: Vec<Ty>,
    /// The continuation type for `switch`, and the same type with its first argument bound.
    pub switched: [usize; 2],
    /// Tags that are preferred, so that programs handle the same tag in several places.
    pub favourites: Vec<TagId>,
}

/// Reads the setup from the first record.
pub fn setup(choice: &mut Choice) -> (Setup, Program) {
    let designs = designs(choice);
    with_designs(designs, choice)
}

/// Like `setup`, with given designs.
pub fn with_designs(mut setup: Setup, choice: &mut Choice) -> (Setup, Program) {
    setup.results = match choice.below(4) {
        0 => vec![],
        1 => vec![Ty::I64, Ty::Any],
        _ => vec![Ty::I64],
    };
    setup.switched = [5, 6];
    let modules = match choice.below(4) {
        0 | 1 => 1,
        2 => 2,
        _ => 3,
    };
    let mut program = Program { modules, types: types(&setup), fuel: FUEL, ..Program::default() };
    program.tags = tags(&setup, choice, modules, &program.types);
    if setup.first_class {
        program.call_tags = vec![
            Signature::new(&[Ty::I64], &[Ty::I64]),
            Signature::new(&[], &[Ty::I64]),
            Signature::new(&[Ty::Any, Ty::I64], &[Ty::I64, Ty::Any]),
        ];
    }
    let count = program.tags.len();
    setup.favourites = (0..2 + choice.below(3)).map(|_| choice.below(count)).collect();
    variables(&mut program);
    (setup, program)
}

fn designs(choice: &mut Choice) -> Setup {
    let all = choice.below(8) == 7;
    let mut setup = Setup {
        typed: all || choice.percent(40),
        bag: all || choice.percent(30),
        tasks: all || choice.percent(30),
        fibers: all || choice.percent(30),
        first_class: all || choice.percent(35),
        ..Setup::default()
    };
    if !(setup.bag || setup.tasks || setup.fibers || setup.first_class) {
        setup.typed = true;
    }
    setup
}

fn types(setup: &Setup) -> Types {
    use Ty::{Any, Cont, I64, Stack, V128};
    let results = &setup.results[..];
    let mut types = Types::default();
    if setup.typed {
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
    if setup.bag {
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
    if setup.tasks {
        types.tasks = vec![
            Signature::new(&[I64], &[I64]),
            Signature::new(&[Any, I64], &[I64]),
            Signature::new(&[], &[I64, Any]),
            Signature::new(&[I64, V128, Any, I64], &[I64]),
        ];
    }
    types.fibers = setup.fibers;
    types.first_class = setup.first_class;
    types
}

fn tags(setup: &Setup, choice: &mut Choice, modules: usize, types: &Types) -> Vec<Tag> {
    use Ty::{Any, I64, Linear, V128};
    // The host throws tag 0.
    let mut signatures = vec![
        Signature::new(&[I64], &[]),
        Signature::new(&[], &[]),
        Signature::new(&[], &[]),
        Signature::new(&[I64], &[]),
        Signature::new(&[Any, I64], &[]),
        Signature::new(&[I64, V128, Any, I64], &[]),
    ];
    if setup.typed {
        for cont in &types.conts[1..5] {
            let params = [&[][..], &[I64], &[Any, I64]][choice.below(3)];
            signatures.push(Signature::new(params, &cont.params));
        }
        let switched = Signature::new(&[], &setup.results);
        signatures.extend([switched.clone(), switched]);
    }
    if setup.bag {
        signatures.push(Signature::new(&[I64, Ty::Stack(0)], &[]));
        signatures.push(Signature::new(&[I64, Ty::Stack(1)], &[]));
        signatures.push(Signature::new(&[Ty::Stack(2)], &[]));
    }
    if setup.first_class {
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
