//! `sparsight evaluate DIR --from PROFILE`: transferred times held against measured ones.

mod json;
mod tables;

use super::Evaluate;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::json::Document;
use json::TransferEvaluationJson;
use sparsight::profile::{ProfileFolder, TransferProfile};
use sparsight::{Reference, evaluate_transfer};
use tables::TransferTables;

impl Evaluate {
    /// The transfer from the profile called `from`. The target needs no models.
    pub(super) fn transfer(&self, from: &str, context: &Context) -> Result<Exit, Failure> {
        let target = TransferProfile::load(&self.folder)?;
        let corpus = self.corpus(&ProfileFolder::open(&self.folder)?, context)?;
        let reference = Reference::find(from)?;
        let evaluation = evaluate_transfer(&reference, &target, &corpus, self.worst)?;
        let devices = [&reference.profile, &target];
        if context.printer.is_json() {
            let body = TransferEvaluationJson::new(devices, self.test.clone(), evaluation);
            context.printer.object(&Document::new("sparsight/evaluate-transfer/1", body))?;
        } else {
            let (by, out) = (self.by, self.output(context));
            TransferTables { evaluation: &evaluation, devices, by, out }.print()?;
        }
        Ok(Exit::Done)
    }
}
