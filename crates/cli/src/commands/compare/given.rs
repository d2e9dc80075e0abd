//! Numbers that are given for devices: prices and watts.

use crate::device_choice::DeviceName;
use crate::failure::Failure;
use std::ffi::OsStr;
use std::path::Path;
use std::str::FromStr;

/// A number that is given for one device: `nvidia-h200=30000`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given {
    device: DeviceName,
    number: f64,
}

impl Given {
    /// Returns whether the path, however it is written, is that of the device.
    fn is_path_of(&self, device: &DeviceName) -> bool {
        let path = |device: &DeviceName| device.path()?.canonicalize().ok();
        self.device == *device || path(&self.device).is_some_and(|own| path(device) == Some(own))
    }

    /// Returns whether it is the name of that folder or data sheet in answers.
    fn is_name_of(&self, device: &DeviceName) -> bool {
        let (DeviceName::Profile(name), DeviceName::Profile(path)) = (&self.device, device) else {
            return false;
        };
        let called = Path::new(path).file_name().and_then(OsStr::to_str).unwrap_or_default();
        called.strip_suffix(".toml").unwrap_or(called) == name
    }
}

impl FromStr for Given {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is no device with a number from 1e-100 to 1e100 such as nvidia-h200=700");
        let (device, number) = text.rsplit_once('=').ok_or_else(wrong)?;
        let number: f64 = number.parse().map_err(|_| wrong())?;
        // What is divided by it, and quotients of that, stay finite.
        if !(1e-100..=1e100).contains(&number) {
            return Err(wrong());
        }
        Ok(Self { device: device.parse()?, number })
    }
}

/// Numbers of the devices, where given with that flag; of several the last, as with other flags. A device is meant by its path, or
/// by the name that it alone has.
pub(super) fn for_devices(
    flag: &str,
    given: &[Given],
    devices: &[DeviceName],
) -> Result<Vec<Option<f64>>, Failure> {
    let mut numbers = vec![None; devices.len()];
    for one in given {
        let indexes = |is: fn(&Given, &DeviceName) -> bool| -> Vec<usize> {
            (0..devices.len()).filter(|&index| is(one, &devices[index])).collect()
        };
        let mut meant = indexes(Given::is_path_of);
        if meant.is_empty() {
            meant = indexes(Given::is_name_of);
            let names = |all: &[&DeviceName], between: &str| {
                all.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
            };
            if meant.is_empty() {
                let text = format!("{flag} is given for {}, which is not compared", one.device);
                let compared = names(&devices.iter().collect::<Vec<_>>(), ", ");
                return Err(Failure::input(text).hinted(format!("compared are {compared}")));
            }
            if meant.len() > 1 {
                let alike: Vec<&DeviceName> = meant.iter().map(|&index| &devices[index]).collect();
                let alike = names(&alike, " and ");
                let text = format!("{flag} is given for {}, and {alike} are called so", one.device);
                return Err(Failure::input(text).hinted("give the path of one"));
            }
        }
        for index in meant {
            numbers[index] = Some(one.number);
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparsight::calibrate::CalibrationTarget;

    #[test]
    fn a_number_is_given_for_a_device_and_gives_finite_quotients() {
        let given: Given = "nvidia-h200=30000".parse().unwrap();
        assert_eq!(given, Given { device: "nvidia-h200".parse().unwrap(), number: 30000.0 });
        assert_eq!("cuda=7e2".parse::<Given>().unwrap().device, DeviceName::Here(CalibrationTarget::Gpu(0)));
        for wrong in ["nvidia-h200", "a=", "a=0", "a=-1", "a=inf", "a=nan", "a=1e-320", "a=1e300", "a=much"] {
            assert!(wrong.parse::<Given>().is_err(), "{wrong}");
        }
    }
}
