//! `sparsight evaluate DIR --from PROFILE`: transferred times held against measured ones.

mod tables;

use super::Evaluate;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use sparsight::profile::ProfileFolder;
use sparsight_lab::answer::EvaluateTransferAnswer;
use sparsight_lab::evaluate::evaluate_transfer;
use sparsight_lab::transfer::{Reference, TransferProfile};
use tables::TransferTables;

impl Evaluate {
    /// The transfer from the profile called `from`. The target needs no models.
    pub(super) fn transfer(&self, from: &str, context: &Context) -> Result<Exit, Failure> {
        let target = TransferProfile::load(&self.folder)?;
        let corpus = self.corpus(&ProfileFolder::open(&self.folder)?, context)?;
        let reference = Reference::find(from)?;
        let evaluation = evaluate_transfer(&reference, &target, &corpus, self.worst())?;
        let (from, test) = (&reference.profile, self.test.clone());
        let answer = EvaluateTransferAnswer::of(from, &target, test, &evaluation);
        context.printer.answer(&answer, || {
            let (devices, by, out) = ([from, &target], self.by(), self.output(context));
            TransferTables { evaluation: &evaluation, devices, by, out }.print()
        })?;
        Ok(Exit::Done)
    }
}
