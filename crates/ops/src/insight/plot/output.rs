//! Where a picture is written.
//!
//! A picture of one run belongs to it and is stored in its `plots/`; one of several in the project's `analysis/`.
//! Both are made from the record and never part of it, so they are replaced without asking.

use std::path::{Path, PathBuf};

use rlxp_draw::Scene;
use rlxp_draw::chart::LineChart;
use rlxp_store::Run;
use rlxp_types::Digest;
use rlxp_types::text::shell_word;

use super::{PlotOptions, PlotReport, PlotRequest, Target, XAxis};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::insight::run_data::Group;
use crate::output_file;
use crate::select::project;

/// Largest side of a picture in pixels.
const MOST_PIXELS: f32 = 16_384.0;
/// Pixels of a PNG for each unit, unless said otherwise.
const USUAL_SCALE: f32 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Svg,
    Png,
}

/// Says no before anything is read.
pub(super) fn check(request: &PlotRequest) -> Outcome<()> {
    let PlotOptions { width, height, .. } = request.options;
    if let Some((name, value)) = request.options.baselines.iter().find(|(_, value)| !value.is_finite()) {
        let message = format!("--baseline {name} is {value}: it must be a finite number");
        return Err(Failure::usage("out_of_range", message));
    }
    check_picture(&request.target, (width, height), request.scale)
}

/// Fails for a picture that can't be drawn, before anything is read.
pub(crate) fn check_picture(target: &Target, (width, height): (f32, f32), scale: f32) -> Outcome<()> {
    let wrong = |message: String| Err(Failure::usage("out_of_range", message));
    for (name, side, least) in [("--width", width, 200.0), ("--height", height, 150.0)] {
        if !(least..=8000.0).contains(&side) {
            return wrong(format!("{name} is {side}: it must be between {least} and 8000"));
        }
    }
    let scale = usual_scale(scale);
    if !(0.25..=16.0).contains(&scale) {
        return wrong(format!("--scale is {scale}: it must be between 0.25 and 16"));
    }
    let Target::File(path) = target else { return Ok(()) };
    let format = format_of(path)?;
    if format == Format::Png && width.max(height) * scale > MOST_PIXELS {
        let message = format!("{width} × {height} at scale {scale} exceeds {MOST_PIXELS} pixels per side");
        return Err(Failure::usage("out_of_range", message).hint("lower --scale, or write an .svg"));
    }
    Ok(())
}

fn usual_scale(scale: f32) -> f32 {
    if scale == 0.0 { USUAL_SCALE } else { scale }
}

fn format_of(path: &Path) -> Outcome<Format> {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("svg") => Ok(Format::Svg),
        Some("png") => Ok(Format::Png),
        _ => Err(Failure::usage(
            "unknown_format",
            format!("{}: unsupported format; use .svg or .png", path.display()),
        )
        .hint(format!("--output {}", shell_word(&path.with_extension("svg").display().to_string())))),
    }
}

/// Where a picture was written.
#[derive(Debug, Default)]
pub(crate) struct Written {
    pub(crate) path: Option<PathBuf>,
    /// Why its usual place could not be written.
    pub(crate) why_not: Option<String>,
}

/// Writes the picture and notes down where.
pub(super) fn write(
    context: &Context,
    request: &PlotRequest,
    groups: &[Group],
    chart: &LineChart,
    report: &mut PlotReport,
) -> Outcome<()> {
    let by = match report.x {
        XAxis::Steps => "",
        XAxis::Time => "_by_time",
        XAxis::Episodes => "_by_episodes",
        XAxis::Updates => "_by_updates",
    };
    let name = format!("{}_{}{by}", report.metric.kind, report.metric.name);
    let written = write_picture(context, &request.target, request.scale, groups, &name, || chart.to_scene())?;
    (report.written, report.not_written) = (written.path, written.why_not);
    Ok(())
}

/// Writes a picture of the groups: where the user said, or in its usual place under a name that starts with `name`.
pub(crate) fn write_picture(
    context: &Context,
    target: &Target,
    scale: f32,
    groups: &[Group],
    name: &str,
    scene: impl FnOnce() -> Scene,
) -> Outcome<Written> {
    let (run, path, format) = match target {
        Target::Nowhere => return Ok(Written::default()),
        Target::File(path) => (None, context.folder.join(path), format_of(path)?),
        Target::Usual => {
            let (run, path) = usual(context, groups, &safe(name))?;
            (run, path, Format::Svg)
        }
    };
    let scene = scene();
    let bytes = match format {
        Format::Svg => scene.to_svg().into_bytes(),
        Format::Png => scene.to_png(usual_scale(scale)),
    };
    let written = match run {
        Some(run) => run.write_output(&path, &bytes).map_err(Failure::from),
        None => output_file::write(context, &path, &bytes),
    };
    match written {
        Ok(()) => Ok(Written { path: Some(path), why_not: None }),
        // The user didn't ask for this very file: the chart can still be shown.
        Err(error) if *target == Target::Usual => Ok(Written { path: None, why_not: Some(error.message) }),
        Err(error) => Err(error),
    }
}

/// Where the picture goes without `--output`: into the run, if there is only one.
fn usual<'g>(context: &Context, groups: &'g [Group], name: &str) -> Outcome<(Option<&'g Run>, PathBuf)> {
    let mut runs: Vec<_> = groups.iter().flat_map(|group| &group.runs).collect();
    runs.dedup_by(|a, b| a.run.path() == b.run.path());
    if let [only] = runs.as_slice() {
        return Ok((Some(&only.run), only.run.path().join("plots").join(format!("{name}.svg"))));
    }
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let which = match names.as_slice() {
        [a, b] if a.len() + b.len() < 80 => format!("{a}_{b}"),
        // Other runs are another picture, however many there are.
        all => format!("{}_runs_{}", all.len(), &Digest::hash(all.join("\n").as_bytes()).to_string()[..8]),
    };
    let folder = project(context)?.root().join("analysis");
    Ok((None, folder.join(format!("{name}_{}.svg", safe(&which)))))
}

/// A name that every file system takes.
fn safe(name: &str) -> String {
    let kept = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let name: String = name.chars().map(|c| if kept(c) { c } else { '_' }).take(100).collect();
    if name.starts_with('.') { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ending_says_the_format() {
        assert_eq!(format_of(Path::new("a/b.svg")).ok(), Some(Format::Svg));
        assert_eq!(format_of(Path::new("B.PNG")).ok(), Some(Format::Png));
        let failure = format_of(Path::new("a.jpg")).expect_err("no such format");
        assert_eq!(
            (failure.code, failure.hints.as_slice()),
            ("unknown_format", &["--output a.svg".to_owned()][..])
        );
        assert!(format_of(Path::new("a")).is_err());
    }

    #[test]
    fn sizes_that_can_not_be_drawn_are_refused() {
        let check = |change: fn(&mut PlotRequest)| {
            let mut request = PlotRequest::default();
            change(&mut request);
            super::check(&request).err().map(|failure| failure.message)
        };
        assert_eq!(check(|_| ()), None);
        assert!(check(|request| request.options.width = 10.0).is_some_and(|m| m.contains("--width is 10")));
        assert!(check(|request| request.options.height = f32::NAN).is_some());
        assert!(check(|request| request.scale = 99.0).is_some());
        assert!(check(|request| request.options.baselines = vec![("x".into(), f64::NAN)]).is_some());
        let large = check(|request| {
            request.options.width = 8000.0;
            request.scale = 4.0;
            request.target = Target::File("a.png".into());
        });
        assert!(large.is_some_and(|message| message.contains("pixels")));
    }

    #[test]
    fn names_of_files_are_tame() {
        assert_eq!(safe("eval_mean_return"), "eval_mean_return");
        assert_eq!(safe("a/../b c"), "a_.._b_c");
        assert_eq!(safe(".hidden"), "_.hidden");
        assert_eq!(safe("größe"), "größe");
    }
}
