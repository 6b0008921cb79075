//! Kinds of returns. Effects are in standard deviations, whatever the kind.

use rlxp_types::Stream;

/// How much lower a failing run ends, in standard deviations of the others.
const LOSS: f64 = 10.0;

/// The same for failing runs that scatter, and their spread.
const SCATTERED_LOSS: f64 = 5.0;
const SCATTER: f64 = 3.0;

#[derive(Clone, Debug)]
pub(crate) enum Returns {
    /// The textbook case.
    Gaussian,
    /// Most runs end close to the best possible, some far below: a lognormal
    /// distance (sigma 1) from a ceiling.
    MirroredLognormal,
    /// Heavy tails on both sides: Student's t with 3 degrees of freedom.
    Student,
    /// This share of the runs fails and ends ten standard deviations of the
    /// others lower.
    Failing(f64),
    /// Failing runs end five lower with three times the spread of the others, so
    /// that some end among them.
    Scattered(f64),
    /// This share of the runs fails and has no score.
    Unscored(f64),
    /// Gaussian, rounded to halves.
    Rounded,
    /// Scores of real trainings, drawn with replacement.
    Real(Vec<f64>),
}

/// Every kind of the campaign tables.
pub(crate) fn all(real: Option<&[f64]>) -> Vec<Returns> {
    let mut kinds = vec![
        Returns::Gaussian,
        Returns::MirroredLognormal,
        Returns::Student,
        Returns::Failing(0.2),
        Returns::Scattered(0.2),
    ];
    kinds.extend(real.map(|scores| {
        let count = scores.len() as f64;
        let mean = scores.iter().sum::<f64>() / count;
        let deviation =
            (scores.iter().map(|score| (score - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        Returns::Real(scores.iter().map(|score| (score - mean) / deviation).collect())
    }));
    kinds
}

impl Returns {
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Gaussian => "Gaussian".to_owned(),
            Self::MirroredLognormal => "mirrored lognormal".to_owned(),
            Self::Student => "t3".to_owned(),
            Self::Failing(share) => format!("{:.0}% failing seeds", 100.0 * share),
            Self::Scattered(share) => format!("{:.0}% failing seeds, scattered", 100.0 * share),
            Self::Unscored(share) => format!("{:.0}% of seeds without a score", 100.0 * share),
            Self::Rounded => "Gaussian, rounded to halves".to_owned(),
            Self::Real(scores) => format!("real returns (pool of {})", scores.len()),
        }
    }

    /// A score of a group that is better by `shift` standard deviations. Runs
    /// that fail are as bad in every group.
    pub(crate) fn draw(&self, stream: &mut Stream, shift: f64) -> f64 {
        let (share, failing, loss) = match self {
            Self::Failing(share) => (share, 1.0, LOSS),
            Self::Scattered(share) => (share, SCATTER * SCATTER, SCATTERED_LOSS),
            _ => return self.draw_raw(stream, shift),
        };
        // Of the good and the failing within, and of their distance.
        let variance = (1.0 - share) + share * failing + loss * loss * share * (1.0 - share);
        self.draw_raw(stream, shift * variance.sqrt())
    }

    /// The same with the shift in standard deviations of the runs that don't fail.
    pub(crate) fn draw_raw(&self, stream: &mut Stream, shift: f64) -> f64 {
        let (normal, other) = stream.normal_pair();
        let centred = match self {
            Self::Gaussian => normal,
            Self::MirroredLognormal => {
                let e = std::f64::consts::E;
                (e.sqrt() - normal.exp()) / (e * (e - 1.0)).sqrt()
            }
            Self::Student => {
                let (third, fourth) = stream.normal_pair();
                let chi = (other * other + third * third + fourth * fourth) / 3.0;
                normal / chi.sqrt() / 3f64.sqrt()
            }
            Self::Failing(share) if stream.uniform() < *share => return other - LOSS,
            Self::Scattered(share) if stream.uniform() < *share => return SCATTER * other - SCATTERED_LOSS,
            Self::Unscored(share) if stream.uniform() < *share => return f64::NAN,
            Self::Failing(_) | Self::Scattered(_) | Self::Unscored(_) => normal,
            Self::Rounded => (2.0 * normal).round() / 2.0,
            Self::Real(scores) => scores[stream.below(scores.len() as u32) as usize],
        };
        centred + shift
    }
}
