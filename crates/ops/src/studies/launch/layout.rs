//! The folder of a run before it starts: changed code, needed files, and the order that its supervisor follows.

use rlxp_fs::FsExt;
use rlxp_govern::documents::StepName;
use rlxp_launch::order::RunOrder;

use super::ready::Ready;
use super::run_order::{self, HOOK, HOOK_FOLDER, Materials, RunSeeds};
use crate::context::Context;
use crate::failure::Outcome;
use crate::studies::files::launch_paths::RunPaths;

/// Space that is reserved for each of the last files of a run. More than the end of a run ever takes, as long as it
/// holds no output of the run itself.
const RESERVE_BYTES: usize = 32 * 1024;

/// Writes everything that a run needs into its folder, its order last.
pub(super) fn lay_out(
    context: &Context,
    ready: &Ready,
    place: &RunPaths,
    key: &str,
    seeds: RunSeeds,
) -> Outcome<RunOrder> {
    let fs = context.fs.as_ref();
    let materials = ready.materials(context)?;
    let spec = ready.opened.study.files.metric_spec.typed();
    let order = run_order::order(&materials, place, key, &ready.next.plan, seeds, spec);
    lay_out_steps(context, &materials, place, &order)?;
    for reserve in place.reserves() {
        fs.write_new_unsynced(&reserve, &[b'.'; RESERVE_BYTES])?;
    }
    rlxp_launch::crash::point("launch:laid_out");
    // Only the supervisor reads it, which a power loss ends as well.
    fs.write_new_unsynced(&place.order(), &order.to_bytes())?;
    rlxp_launch::crash::point("launch:ordered");
    Ok(order)
}

/// The folders of every step, with the files that differ from the base.
pub(super) fn lay_out_steps(
    context: &Context,
    materials: &Materials<'_>,
    place: &RunPaths,
    order: &RunOrder,
) -> Outcome<()> {
    let fs = context.fs.as_ref();
    for step in &order.steps {
        let name = StepName::ALL.into_iter().find(|name| name.as_str() == step.name);
        for folder in [&step.tree.changed, &step.tree.work, &step.tree.at, &place.step(&step.name)] {
            fs.create_dir(folder)?;
        }
        for path in &step.watched {
            let change = name.and_then(|name| materials.files_of(name).get(path));
            let text = change.and_then(|change| change.after.as_deref()).unwrap_or_default();
            let target = step.tree.changed.join(path);
            fs.create_dir_all(target.parent().expect("a file is in a folder"))?;
            fs.write_new_unsynced(&target, text.as_bytes())?;
        }
        for path in materials.inputs.large.keys() {
            let link = step.tree.changed.join(path);
            fs.create_dir_all(link.parent().expect("a file is in a folder"))?;
            fs.symlink(&materials.root.join(path), &link)?;
        }
        if !step.watched.is_empty() {
            let hook = place.step(&step.name).join(HOOK_FOLDER);
            fs.create_dir(&hook)?;
            fs.write_new_unsynced(&hook.join("sitecustomize.py"), HOOK.as_bytes())?;
        }
    }
    Ok(())
}
