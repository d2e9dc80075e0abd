//! Products on every device: this processor, a GPU where there is one, and a GPU that this processor plays.

mod compiles_for_amd;
mod cuda_device;
mod distributed_products;
mod emulator;
mod epilogues;
mod every_kernel_matches_the_reference;
mod every_variant_compiles;
mod gpu;
mod hip_on_a_stand_in;
mod kernels_are_as_measured;
mod kernels_on_emulated_warps;
mod own_kernels;
mod partitions_match_the_reference;
mod planted_libraries;
mod products_at_once;
mod products_in_place;
mod reordered_products;
mod support;
mod toy;
mod values_and_residents;
