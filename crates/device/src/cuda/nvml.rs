//! The clock of a GPU, and whether it was slowed down, by NVML, which comes with the driver.
//!
//! Without the library or a function the clock is unknown; nothing fails.

use super::context::named;
use crate::library::functions;
use crate::timing::Clock;
use cudarc::driver::sys;
use libloading::os::unix::Library;
use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::sync::OnceLock;

/// Below this share of the highest clock a GPU counts as slowed down, unless it gives a reason that is none: the share of
/// nvbench.
const SLOW: f64 = 0.75;

/// `NVML_CLOCK_SM`.
const CLOCK_SM: c_uint = 1;

/// Reasons of a slow clock that are a disturbance: the hardware's slowdown, heat (as software or hardware sees it), and the
/// power brake.
const DISTURBED: c_ulonglong = 0x08 | 0x20 | 0x40 | 0x80;

/// Reasons that are none: idling, a clock that was chosen (for applications, or for the display), and the power cap, which
/// may be the rule on that GPU.
const ITS_OWN: c_ulonglong = 0x01 | 0x02 | 0x04 | 0x100;

type Device = *mut c_void;

functions! {
    /// The functions that are called. The last has the name that drivers before R535 know, and later ones still do.
    Nvml {
        nvmlInit_v2: fn() -> c_int;
        nvmlDeviceGetHandleByPciBusId_v2: fn(*const c_char, *mut Device) -> c_int;
        nvmlDeviceGetClockInfo: fn(Device, c_uint, *mut c_uint) -> c_int;
        nvmlDeviceGetMaxClockInfo: fn(Device, c_uint, *mut c_uint) -> c_int;
        nvmlDeviceGetCurrentClocksThrottleReasons: fn(Device, *mut c_ulonglong) -> c_int;
    }
}

/// The library, initialised; once in the life of the program.
fn nvml() -> Option<&'static Nvml> {
    static FOUND: OnceLock<Option<Nvml>> = OnceLock::new();
    let found = || {
        // SAFETY: the driver's own library, found as the driver itself was, after the loader's path was looked at; its
        // initialisers do nothing but set up its own data. The types are those of nvml.h.
        unsafe {
            let library = Library::new("libnvidia-ml.so.1").ok()?;
            let nvml = Nvml::of(&library).ok().filter(|nvml| (nvml.nvmlInit_v2)() == 0)?;
            // Its functions stay where they are.
            std::mem::forget(library);
            Some(nvml)
        }
    };
    FOUND.get_or_init(found).as_ref()
}

/// The clock of one GPU.
#[derive(Debug)]
pub(super) struct ClockReader {
    nvml: &'static Nvml,
    /// A handle of NVML's, as a number, since it may be used from any thread.
    device: usize,
    highest_mhz: u32,
}

impl ClockReader {
    /// Opens a device of the driver's; `None` if NVML does not know it.
    pub(super) fn open(device: sys::CUdevice) -> Option<Self> {
        let mut bus_id = [0 as c_char; 32];
        // SAFETY: as many characters as there is room for.
        let asked = unsafe { sys::cuDeviceGetPCIBusId(bus_id.as_mut_ptr(), bus_id.len() as c_int, device) };
        named("cuDeviceGetPCIBusId", asked.result()).ok()?;
        let nvml = nvml()?;
        let (mut device, mut highest_mhz): (Device, c_uint) = (std::ptr::null_mut(), 0);
        // SAFETY: the name ends with a 0, and both answers have their room.
        let found = unsafe {
            (nvml.nvmlDeviceGetHandleByPciBusId_v2)(bus_id.as_ptr(), &raw mut device) == 0
                && (nvml.nvmlDeviceGetMaxClockInfo)(device, CLOCK_SM, &raw mut highest_mhz) == 0
        };
        let reader = Self { nvml, device: device as usize, highest_mhz };
        (found && reader.read().is_some()).then_some(reader)
    }

    /// The clock now.
    pub(super) fn read(&self) -> Option<Clock> {
        let device = self.device as Device;
        let (mut sm_mhz, mut reasons) = (0, 0);
        // SAFETY: the handle is NVML's, and both answers have their room.
        let answered = unsafe {
            (self.nvml.nvmlDeviceGetClockInfo)(device, CLOCK_SM, &raw mut sm_mhz) == 0
                && (self.nvml.nvmlDeviceGetCurrentClocksThrottleReasons)(device, &raw mut reasons) == 0
        };
        let is_slow = f64::from(sm_mhz) < SLOW * f64::from(self.highest_mhz);
        let is_throttled = reasons & DISTURBED != 0 || is_slow && reasons & ITS_OWN == 0;
        answered.then_some(Clock { sm_mhz, is_throttled })
    }
}
