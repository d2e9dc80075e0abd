//! What the environment asks for.

use std::path::PathBuf;
use std::sync::OnceLock;

/// What is done with products.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The faster of cuSPARSE and sparsight.
    On,
    /// All by cuSPARSE.
    Off,
    /// As `On`, with a report at the end of what was seen and saved, and of what another format would bring.
    Report,
    /// Each product by both, and compared. Slow.
    Verify,
}

/// The settings of this process.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) mode: Mode,
    /// File for the report as JSON.
    pub(crate) report_file: Option<PathBuf>,
}

impl Settings {
    /// Reads `SPARSIGHT_CUSPARSE` and `SPARSIGHT_CUSPARSE_REPORT` once.
    pub(crate) fn get() -> &'static Self {
        static SETTINGS: OnceLock<Settings> = OnceLock::new();
        SETTINGS.get_or_init(|| {
            let report_file = std::env::var_os("SPARSIGHT_CUSPARSE_REPORT").filter(|name| !name.is_empty());
            let word = std::env::var("SPARSIGHT_CUSPARSE").unwrap_or_default();
            let mode = match word.as_str() {
                "" | "on" if report_file.is_some() => Mode::Report,
                "" | "on" => Mode::On,
                "off" => Mode::Off,
                "report" => Mode::Report,
                "verify" => Mode::Verify,
                other => {
                    eprintln!(
                        "sparsight: SPARSIGHT_CUSPARSE={other} is none of on, off, report, verify: all products are left to cuSPARSE"
                    );
                    Mode::Off
                }
            };
            Self { mode, report_file: report_file.map(PathBuf::from) }
        })
    }

    /// Returns whether a report is made at the end.
    pub(crate) fn reports(&self) -> bool {
        matches!(self.mode, Mode::Report | Mode::Verify)
    }
}
