//! References, objects and exceptions.

use super::*;

pub fn rows() -> Vec<Row> {
    vec![
        row("AnyRef::as_array", STORE, |m, t| t.any().as_array(&m.store)),
        row("AnyRef::as_extern", STORE, |m, t| t.any().as_extern(&m.store)),
        row("AnyRef::as_i31", STORE, |m, t| t.any().as_i31(&m.store)),
        row("AnyRef::as_struct", STORE, |m, t| t.any().as_struct(&m.store)),
        row("AnyRef::same", STORE, |m, t| {
            let (mine, theirs) = (m.any(), t.any());
            mine.same(&theirs, &m.store)
        }),
        row("AnyRef::same", STORE, |m, t| {
            let (mine, theirs) = (m.any(), t.any());
            theirs.same(&mine, &m.store)
        }),
        row("ArrayRef::get", STORE, |m, t| t.row().get(&mut m.store, 0)),
        row("ArrayRef::is_empty", STORE, |m, t| t.row().is_empty(&m.store)),
        row("ArrayRef::len", STORE, |m, t| t.row().len(&m.store)),
        row("ArrayRef::new", ENGINE, |m, t| {
            ArrayRef::new(&mut m.store, &t.row_type(), &[Val::AnyRef(None)])
        }),
        row("ArrayRef::new", STORE, |m, t| {
            let ty = m.row_type();
            ArrayRef::new(&mut m.store, &ty, &[t.object()])
        }),
        row("ArrayRef::set", STORE, |m, t| t.row().set(&mut m.store, 0, Val::AnyRef(None))),
        row("ArrayRef::set", STORE, |m, t| m.row().set(&mut m.store, 0, t.object())),
        row("ArrayRef::ty", STORE, |m, t| t.row().ty(&m.store)),
        row("StructRef::field", STORE, |m, t| t.pair().field(&mut m.store, 0)),
        row("StructRef::len", STORE, |m, t| t.pair().len(&m.store)),
        row("StructRef::new", ENGINE, |m, t| {
            StructRef::new(&mut m.store, &t.pair_type(), &[Val::I64(1), Val::AnyRef(None)])
        }),
        row("StructRef::new", STORE, |m, t| {
            let ty = m.pair_type();
            StructRef::new(&mut m.store, &ty, &[Val::I64(1), t.object()])
        }),
        row("StructRef::set_field", STORE, |m, t| t.pair().set_field(&mut m.store, 0, Val::I64(1))),
        row("StructRef::set_field", STORE, |m, t| m.pair().set_field(&mut m.store, 1, t.object())),
        row("StructRef::ty", STORE, |m, t| t.pair().ty(&m.store)),
        row("ExternRef::data", STORE, |m, t| t.external().data(&m.store).map(drop)),
        row("ExnRef::new", STORE, |m, t| {
            ExnRef::new(&mut m.store, t.tag("failure"), &[Val::I32(1)])
        }),
        row("ExnRef::new", STORE, |m, t| {
            let tag = m.tag("holds");
            ExnRef::new(&mut m.store, tag, &[t.object()])
        }),
        row("ExnRef::tag", STORE, |m, t| t.exn().tag(&m.store)),
        row("ExnRef::values", STORE, |m, t| t.exn().values(&mut m.store)),
        row("Exception::from_ref", STORE, |m, t| Exception::from_ref(&mut m.store, t.exn())),
        row("Exception::new", STORE, |m, t| {
            Exception::new(&mut m.store, t.tag("failure"), &[Val::I32(1)])
        }),
        row("Exception::new", STORE, |m, t| {
            let tag = m.tag("holds");
            Exception::new(&mut m.store, tag, &[t.object()])
        }),
        row("Exception::reference", STORE, |m, t| t.exception().reference(&mut m.store)),
        row("Exception::tag", STORE, |m, t| t.exception().tag(&mut m.store)),
        row("Exception::values", STORE, |m, t| t.exception().values(&mut m.store)),
        row("Owned::get", STORE, |m, t| {
            let owned = t.pair().own(&mut t.store).unwrap();
            owned.get(&mut m.store)
        }),
        row("Reference::own", STORE, |m, t| t.pair().own(&mut m.store)),
        row("Reference::own", STORE, |m, t| t.external().own(&mut m.store)),
        row("Reference::own", STORE, |m, t| t.cont_ref().own(&mut m.store)),
        row("Val::describe", STORE, |m, t| t.object().describe(&m.store)),
        row("Val::describe", STORE, |m, t| Val::from(t.run()).describe(&m.store)),
        row("Val::describe", STORE, |m, t| Val::from(t.cont_ref()).describe(&m.store)),
    ]
}
