//! Dialects: lowering, errors and positions.

mod bag;
mod copies;
mod errors;
mod fiber_errors;
mod fibers;
mod first_class;
mod first_class_errors;
mod first_class_robust;
mod robust;
mod scripts;
mod task_errors;
mod tasks;
