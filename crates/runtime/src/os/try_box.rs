//! Boxes whose allocation can fail.

use ropewalk_abi::TrapCode;

/// Allocates a box. Fails if there is no memory for it.
pub fn try_box<T>(value: T) -> Result<Box<T>, TrapCode> {
    let mut one = Vec::new();
    one.try_reserve_exact(1).map_err(|_| TrapCode::OutOfMemory)?;
    one.push(value);
    let one: Box<[T; 1]> = one.try_into().unwrap_or_else(|_| unreachable!("it has one element"));
    // SAFETY: an array of one element has the layout of the element.
    Ok(unsafe { Box::from_raw(Box::into_raw(one).cast::<T>()) })
}
