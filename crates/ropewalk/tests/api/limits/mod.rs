//! Limits of time, memory and address space.

mod address_space;
mod async_limiter;
mod boundaries;
mod failing_allocations;
mod fuel;
mod interruption;
mod limiter;
mod maximums;
mod memory_reservation;
mod os_limits;
