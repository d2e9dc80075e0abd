//! A kernel with its knobs: a name, and a look-up of everything else.

use crate::cpu::{CpuScratch, CpuTask};
use crate::families::{FAMILIES, ON_AN_UNKNOWN_CPU};
use crate::{
    DeviceFacts, DeviceKind, Family, Knobs, Recipe, Run, Strip, StripRule, StripUnit, Vendor, WarpWork,
};
use sparsight_matrix::{Elsewhere, Features, Format, Scalar, Stored, serde_as_text};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::LazyLock;

/// A kernel with its knobs, without block size and value type. Its text, `csr-vector/t8`, is stable.
///
/// Ordered as [`Kernel::all`].
#[derive(Clone, Copy)]
pub struct Kernel(&'static Variant);

struct Variant {
    family: &'static Family,
    knobs: Knobs,
    format: Format,
    /// Place in the list of all.
    place: usize,
    /// The stable text.
    id: String,
}

static ALL: LazyLock<Vec<Variant>> = LazyLock::new(|| {
    let variants =
        |family: &'static Family| (family.variants)().into_iter().map(move |knobs| (family, knobs));
    let all = FAMILIES.into_iter().flat_map(variants).enumerate();
    all.map(|(place, (family, knobs))| Variant::new(family, knobs, place)).collect()
});

static BY_ID: LazyLock<HashMap<&'static str, Kernel>> =
    LazyLock::new(|| Kernel::all().map(|kernel| (kernel.id(), kernel)).collect());

impl Variant {
    fn new(family: &'static Family, knobs: Knobs, place: usize) -> Self {
        let mut id = family.name.to_owned();
        for (knob, value) in family.knobs.iter().zip(knobs).filter(|(_, value)| *value != 0) {
            let _ = write!(id, "/{}{value}", knob.letter);
        }
        Self { family, knobs, format: (family.format)(knobs), place, id }
    }
}

impl Kernel {
    /// All of the catalogue, in the order in which tables list them.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + Clone {
        ALL.iter().map(Self)
    }

    /// A kernel that is not in the catalogue, for trying one out. It costs a little memory for ever.
    pub fn outside_the_catalogue(family: &'static Family, knobs: Knobs) -> Self {
        Self(Box::leak(Box::new(Variant::new(family, knobs, usize::MAX))))
    }

    /// The kernel of that id, of which the program itself knows that there is one.
    ///
    /// # Panics
    /// If there is none.
    pub fn known(id: &str) -> Self {
        id.parse().expect("the catalogue has the kernels that the program names")
    }

    /// Kernel of plain CSR for a processor that was not calibrated.
    pub(crate) fn on_an_unknown_cpu() -> Self {
        let (family, knobs) = ON_AN_UNKNOWN_CPU;
        let is_it = |kernel: &Self| kernel.name() == family.name && kernel.knobs() == knobs;
        Self::all().find(is_it).expect("a variant of its family")
    }

    /// Family, the same for all its variants.
    pub fn family(self) -> &'static Family {
        self.0.family
    }

    /// The values of its knobs.
    pub fn knobs(self) -> Knobs {
        self.0.knobs
    }

    /// The stable text: `csr-vector/t8`.
    pub fn id(self) -> &'static str {
        &self.0.id
    }

    /// The one name used in the `.cu` file, ids and reports, without the knobs.
    pub fn name(self) -> &'static str {
        self.0.family.name
    }

    /// Format that it reads.
    pub fn format(self) -> Format {
        self.0.format
    }

    /// Threads a block that it can be run with; 0 alone where the vendor's library decides.
    pub fn blocks(self) -> &'static [u32] {
        (self.0.family.blocks)(self.0.knobs)
    }

    /// Returns whether it is ranked on no GPU, and only run where it is named: [`Family::retired`].
    pub fn is_retired(self) -> bool {
        (self.0.family.retired)(self.0.knobs)
    }

    /// Returns whether it is ranked on devices of that kind: retired kernels are on a CPU alone.
    pub fn is_ranked_on(self, kind: DeviceKind) -> bool {
        !kind.is_gpu() || !self.is_retired()
    }

    /// Returns whether devices of that kind have it at all.
    pub fn runs_on(self, kind: DeviceKind) -> bool {
        let family = self.0.family;
        if kind.is_gpu() {
            self.vendor().is_none_or(|routine| routine.kind() == kind)
        } else {
            family.cpu.is_some() && (family.on_cpu)(self.0.knobs)
        }
    }

    /// Launches or vendor's routine with which a GPU runs it.
    pub fn run(self) -> Run {
        (self.0.family.run)(self.0.knobs)
    }

    /// Recipe of our own launches; `None` for routines of the vendor's library.
    pub fn recipe(self) -> Option<&'static Recipe> {
        match self.run() {
            Run::Launches(recipe) => Some(recipe),
            Run::Vendor(_) => None,
        }
    }

    /// The routine of the vendor's library that it is, if it is not ours.
    pub fn vendor(self) -> Option<Vendor> {
        match self.run() {
            Run::Launches(_) => None,
            Run::Vendor(routine) => Some(routine),
        }
    }

    /// Returns whether it is a routine of the vendor's library and not ours.
    pub fn is_vendors(self) -> bool {
        self.vendor().is_some()
    }

    /// Unit of a strip.
    pub fn unit(self) -> StripUnit {
        self.0.family.unit
    }

    /// Threads that work on one row; `None` where threads are given to non-zeros, or not all rows get as many.
    pub fn threads_per_row(self) -> Option<u32> {
        (self.0.family.threads_per_row)(self.0.knobs)
    }

    /// Work of warps with thread blocks of `block` threads, as models count it; `None` where threads are given to non-zeros alone.
    pub fn warp_work(self, block: u32, features: &Features) -> Option<WarpWork> {
        (self.0.family.warp_work)(self.0.knobs, block, features)
    }

    /// Thread blocks of a launch on a matrix with these features, as models count them.
    pub fn thread_blocks(self, block: u32, features: &Features) -> f64 {
        (self.0.family.thread_blocks)(self.0.knobs, block, features)
    }

    /// Returns whether it gives the same y bit by bit on every run: it does not add to y in the order in which threads come.
    pub fn is_repeatable(self) -> bool {
        (self.0.family.repeatable)(self.0.knobs)
    }

    /// Names of it, else of its format, in other libraries: at most one a library.
    pub fn elsewhere(self) -> Vec<Elsewhere> {
        let format = if self.format().stays_in_csr() { Format::csr() } else { self.format() };
        let mut all = self.0.family.elsewhere.to_vec();
        let of_format = format.family().elsewhere.iter();
        all.extend(
            of_format.filter(|one| !self.0.family.elsewhere.iter().any(|own| own.library == one.library)),
        );
        all
    }

    /// The papers' strip model that describes it.
    pub fn strip_rule(self) -> StripRule {
        self.0.family.strip_rule
    }

    /// The kernels that it consists of, on two parts of the matrix: rows of equal length, and the rest.
    pub fn parts(self) -> Option<[Self; 2]> {
        match self.strip_rule() {
            StripRule::Parts { ell, coo } => Some([ell, coo].map(Self::known)),
            _ => None,
        }
    }

    /// Returns whether the papers' strip models describe it, so that benchmark matrices are run with it.
    pub fn has_benchmark_matrices(self) -> bool {
        matches!(self.strip_rule(), StripRule::Csr | StripRule::Ell | StripRule::Coo)
    }

    /// Returns whether a thread block can work on a part of a matrix with this kernel while others of the same launch work on other
    /// parts with other kernels: all that are one launch of ours.
    pub fn shares_a_launch(self) -> bool {
        self.recipe().is_some_and(|recipe| recipe.steps.len() == 1)
    }

    /// Returns whether several thread blocks share a row of a matrix with these features: [`Family::shares_rows`].
    pub fn shares_rows(self, features: &Features) -> bool {
        (self.0.family.shares_rows)(self.0.knobs, features)
    }

    /// y = A x on this CPU, by `workers` threads of the current pool; with 1 by the calling thread, which asks no pool. `block` is that
    /// of the candidate.
    ///
    /// # Panics
    /// If `matrix` is in another format, or CPUs do not have the kernel.
    pub fn multiply_on_cpu<T: Scalar>(
        self,
        matrix: &dyn Stored<T>,
        block: u32,
        (x, y): (&[T], &mut [T]),
        scratch: &mut CpuScratch<T>,
        workers: usize,
    ) {
        let product = self.0.family.cpu.as_ref().expect("it was asked whether it runs here");
        let (knobs, block) = (self.0.knobs, block as usize);
        product.of::<T>()(&mut CpuTask { matrix, knobs, block, workers, x, y, scratch });
    }
}

/// Strip of `kernel` on the device. For HYB, that of its ELL part.
pub fn strip(kernel: Kernel, facts: &DeviceFacts) -> Strip {
    Strip::of(kernel.unit(), kernel.threads_per_row().unwrap_or(1), facts)
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

/// The name with its knobs: `csr-vector/t8`.
impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

/// Text that names no kernel of the catalogue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no kernel of the catalogue, such as csr-vector/t8")]
pub struct ParseKernelError(pub String);

impl FromStr for Kernel {
    type Err = ParseKernelError;
    fn from_str(text: &str) -> Result<Self, ParseKernelError> {
        BY_ID.get(text).copied().ok_or_else(|| ParseKernelError(text.to_owned()))
    }
}

serde_as_text!(Kernel);

impl PartialEq for Kernel {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Kernel {}

impl Ord for Kernel {
    fn cmp(&self, other: &Self) -> Ordering {
        if std::ptr::eq(self.0, other.0) {
            return Ordering::Equal;
        }
        self.0.place.cmp(&other.0.place).then_with(|| self.id().cmp(other.id()))
    }
}

impl PartialOrd for Kernel {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Kernel {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.place.hash(state);
    }
}
