//! The C interface of sparsight, for C, C++, Fortran, Julia and whatever else calls C: plans, prepared matrices and products behind
//! opaque handles, status codes, the text of the last error of each thread.
//!
//! ```text
//! what C gives      pointers, sizes, numbers of types     checked: arguments, arrays
//! what C holds      handles                               profile, device, plan, product, epilogue
//!                   the library sparsight
//! what C gets       codes, words                          status, failure, error; no panic leaves here
//! ```
//! `include/sparsight.h` is what cbindgen makes of this crate, its comments included: comments of what is public are written for
//! people who read C.
//!
//! Deliberately absent: matrices that lie on the GPU already, `A^T`, several candidates tried in turn, calibration of the processor,
//! the vendor's routines. The library and the Python package have them.

// In the order of the header, which is that of the modules.
mod status;

mod error;

mod profile;

mod device;

mod plan;

mod product;

mod epilogue;

mod arguments;
mod arrays;
mod failure;
mod threads;

pub use device::{DeviceHandle, ss_device_free, ss_device_open};
pub use epilogue::{
    EpilogueHandle, ss_epilogue_free, ss_epilogue_multiply, ss_epilogue_multiply_host, ss_epilogue_prepare,
};
pub use error::{ss_last_error, ss_last_hint};
pub use plan::{
    PlanHandle, ss_plan_count, ss_plan_csr, ss_plan_free, ss_plan_id, ss_plan_memory_bytes,
    ss_plan_predicted_s,
};
pub use product::{
    OpHandle, ss_memory_bytes, ss_multiply, ss_multiply_host, ss_op_free, ss_prepare, ss_update_values,
    ss_update_values_host,
};
pub use profile::{ProfileHandle, ss_profile_free, ss_profile_open};
pub use status::{
    SS_BAD_ARGUMENT, SS_BAD_MATRIX, SS_DEVICE, SS_F32, SS_F64, SS_I32, SS_I64, SS_INFEASIBLE, SS_NO_GPU,
    SS_NO_PROFILE, SS_OK, SS_PANIC, ss_version,
};
