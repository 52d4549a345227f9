//! References, objects and exceptions.

use super::*;

pub fn rows() -> Vec<Row> {
    table! {m, t:
        "AnyRef::as_array" STORE => t.any().as_array(&m.store);
        "AnyRef::as_extern" STORE => t.any().as_extern(&m.store);
        "AnyRef::as_i31" STORE => t.any().as_i31(&m.store);
        "AnyRef::as_struct" STORE => t.any().as_struct(&m.store);
        "AnyRef::same" STORE, mine = m.any(), theirs = t.any() => mine.same(&theirs, &m.store);
        "AnyRef::same" STORE, mine = m.any(), theirs = t.any() => theirs.same(&mine, &m.store);
        "ArrayRef::get" STORE => t.row().get(&mut m.store, 0);
        "ArrayRef::is_empty" STORE => t.row().is_empty(&m.store);
        "ArrayRef::len" STORE => t.row().len(&m.store);
        "ArrayRef::new" ENGINE => ArrayRef::new(&mut m.store, &t.row_type(), &[Val::AnyRef(None)]);
        "ArrayRef::new" STORE, ty = m.row_type() => ArrayRef::new(&mut m.store, &ty, &[t.object()]);
        "ArrayRef::set" STORE => t.row().set(&mut m.store, 0, Val::AnyRef(None));
        "ArrayRef::set" STORE => m.row().set(&mut m.store, 0, t.object());
        "ArrayRef::ty" STORE => t.row().ty(&m.store);
        "StructRef::field" STORE => t.pair().field(&mut m.store, 0);
        "StructRef::len" STORE => t.pair().len(&m.store);
        "StructRef::new" ENGINE =>
            StructRef::new(&mut m.store, &t.pair_type(), &[Val::I64(1), Val::AnyRef(None)]);
        "StructRef::new" STORE, ty = m.pair_type() =>
            StructRef::new(&mut m.store, &ty, &[Val::I64(1), t.object()]);
        "StructRef::set_field" STORE => t.pair().set_field(&mut m.store, 0, Val::I64(1));
        "StructRef::set_field" STORE => m.pair().set_field(&mut m.store, 1, t.object());
        "StructRef::ty" STORE => t.pair().ty(&m.store);
        "ExternRef::data" STORE => t.external().data(&m.store).map(drop);
        "ExnRef::new" STORE => ExnRef::new(&mut m.store, t.tag("failure"), &[Val::I32(1)]);
        "ExnRef::new" STORE, tag = m.tag("holds") => ExnRef::new(&mut m.store, tag, &[t.object()]);
        "ExnRef::tag" STORE => t.exn().tag(&m.store);
        "ExnRef::values" STORE => t.exn().values(&mut m.store);
        "Exception::from_ref" STORE => Exception::from_ref(&mut m.store, t.exn());
        "Exception::new" STORE => Exception::new(&mut m.store, t.tag("failure"), &[Val::I32(1)]);
        "Exception::new" STORE, tag = m.tag("holds") =>
            Exception::new(&mut m.store, tag, &[t.object()]);
        "Exception::reference" STORE => t.exception().reference(&mut m.store);
        "Exception::tag" STORE => t.exception().tag(&mut m.store);
        "Exception::values" STORE => t.exception().values(&mut m.store);
        "Owned::get" STORE, owned = t.pair().own(&mut t.store).unwrap() => owned.get(&mut m.store);
        "Reference::own" STORE => t.pair().own(&mut m.store);
        "Reference::own" STORE => t.external().own(&mut m.store);
        "Reference::own" STORE => t.cont_ref().own(&mut m.store);
        "Val::describe" STORE => t.object().describe(&m.store);
        "Val::describe" STORE => Val::from(t.run()).describe(&m.store);
        "Val::describe" STORE => Val::from(t.cont_ref()).describe(&m.store);
    }
}
