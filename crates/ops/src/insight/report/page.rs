//! The page itself: what a report contains and how it looks. One file without external resources, readable on paper
//! and in dark mode.

use rlxp_draw::{Scene, font_faces};

use crate::html::{Html, Table};
use crate::insight::diagnose::Severity;

/// The colour of a verdict; its text says the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Bad,
    Open,
}

#[derive(Clone, Debug)]
pub(super) struct VerdictCard {
    pub(super) tone: Tone,
    pub(super) word: String,
    pub(super) question: String,
    pub(super) statements: Vec<String>,
}

/// A picture with its caption.
pub(super) struct Picture {
    pub(super) scene: Scene,
    pub(super) caption: String,
}

/// What changed between two groups.
pub(super) struct ChangeCard {
    pub(super) title: String,
    pub(super) config: Table,
    pub(super) code: Table,
    pub(super) notes: Vec<String>,
}

/// One finding of a diagnosis.
pub(super) struct FindingCard {
    pub(super) severity: Severity,
    pub(super) rule: String,
    pub(super) title: String,
    pub(super) sentence: String,
    pub(super) meaning: String,
    pub(super) evidence: Table,
    pub(super) next: Option<String>,
}

/// The diagnosis of one run.
pub(super) struct DiagnosisCard {
    pub(super) run: String,
    pub(super) findings: Vec<FindingCard>,
    pub(super) summary: String,
}

/// Runs in a table, collapsed if they are those of one group.
pub(super) struct RunTable {
    /// The group and how many runs it has.
    pub(super) group: Option<String>,
    pub(super) table: Table,
}

pub(super) struct Film {
    pub(super) caption: String,
    pub(super) mp4: Vec<u8>,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// Everything that a report contains.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) verdicts: Vec<VerdictCard>,
    pub(super) pictures: Vec<Picture>,
    pub(super) changes: Vec<ChangeCard>,
    pub(super) aligned: Option<(Table, Vec<String>)>,
    pub(super) diagnoses: Vec<DiagnosisCard>,
    pub(super) evaluations: Table,
    pub(super) films: Vec<Film>,
    /// One row per group, if there are several.
    pub(super) groups: Option<Table>,
    pub(super) runs: Vec<RunTable>,
    pub(super) configs: Vec<(String, String)>,
    pub(super) warnings: Vec<String>,
    pub(super) commands: Vec<String>,
    pub(super) footer: String,
}

/// Up to this many groups, their verdicts come before the table of groups.
const MOST_WITHOUT_OVERVIEW: usize = 4;

const STYLE: &str = "
:root{color-scheme:light;--ink:#1f2933;--soft:#616e7c;--line:#e4e7eb;--ground:#f5f7fa;--paper:#fff}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 'DejaVu Sans',system-ui,sans-serif}
main{max-width:1020px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:26px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:18px;margin:36px 0 12px}h3{font-size:15px;margin:18px 0 8px;overflow-wrap:anywhere}
.sub{color:var(--soft);margin:0 0 20px}
.card{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:16px 20px;margin:0 0 14px;overflow-wrap:anywhere}
.verdict{border-left:6px solid #7b8794}.verdict.good{border-left-color:#0072b2}.verdict.bad{border-left-color:#d55e00}
.verdict .word{font-size:22px;font-weight:700}.verdict p{margin:6px 0}
.lead{font-size:16px}.soft{color:var(--soft)}
figure{margin:0;overflow-x:auto}figure svg{width:100%;min-width:620px;height:auto;display:block}figcaption{color:var(--soft);font-size:13px;margin-top:8px}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px;overflow-wrap:normal;word-break:normal}
th,td{text-align:left;padding:5px 10px;border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:600}
td.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.badge{display:inline-block;border-radius:6px;padding:1px 8px;font-size:12px;font-weight:700;border:1px solid currentColor;margin-right:8px}
.error{color:#b03a00}.warning{color:#8a5a00}.info{color:#00557f}
pre,code{font-family:ui-monospace,'DejaVu Sans Mono',monospace;font-size:12.5px}
pre{background:var(--ground);border:1px solid var(--line);border-radius:8px;padding:10px 12px;overflow-x:auto;margin:8px 0}
video{width:100%;max-width:600px;border-radius:8px;border:1px solid var(--line);display:block}
.films{display:grid;grid-template-columns:repeat(auto-fit,minmax(300px,1fr));gap:14px}
details summary{cursor:pointer}.slim{padding:8px 20px;margin:0 0 6px}.slim .scroll{margin-top:8px}footer{color:var(--soft);font-size:12.5px;margin-top:40px}
@media (max-width:600px){main{padding:20px 12px 48px}.card{padding:12px 14px}h1{font-size:21px}.films{grid-template-columns:1fr}}
@media print{body{background:#fff}.card{break-inside:avoid}}
";

impl Page {
    pub(super) fn render(&self) -> String {
        let mut html = Html::default();
        html.markup("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
        html.markup("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
        // Nothing outside this file is ever loaded, whatever it contains.
        html.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; font-src data:; media-src data:; img-src data:\">");
        html.element("<title>", &self.title, "</title>");
        html.markup("<style>").picture(&font_faces(true)).markup(STYLE).markup("</style></head><body><main>");
        html.element("<h1>", &self.title, "</h1>").element("<p class=\"sub\">", &self.subtitle, "</p>");
        // Of many groups the overview comes first, of a few the verdict.
        let many = self.groups.as_ref().is_some_and(|groups| groups.rows.len() > MOST_WITHOUT_OVERVIEW);
        if many {
            self.groups(&mut html);
            html.markup("<h2>Verdicts</h2>");
        }
        self.verdicts(&mut html);
        if !many {
            self.groups(&mut html);
        }
        if !self.pictures.is_empty() {
            html.markup("<h2>Curves and scores</h2>");
            for picture in &self.pictures {
                html.markup("<figure class=\"card\">").picture(&picture.scene.to_svg_element());
                if !picture.caption.is_empty() {
                    html.element("<figcaption>", &picture.caption, "</figcaption>");
                }
                html.markup("</figure>");
            }
        }
        self.changes(&mut html);
        self.diagnoses(&mut html);
        if !self.evaluations.rows.is_empty() {
            html.markup("<h2>Evaluations</h2><div class=\"card\">").table(&self.evaluations).markup("</div>");
        }
        self.films(&mut html);
        html.markup("<h2>Runs</h2>");
        for RunTable { group, table } in &self.runs {
            match group {
                None => html.markup("<div class=\"card\">").table(table).markup("</div>"),
                Some(group) => {
                    html.markup("<details class=\"card slim\">").element("<summary>", group, "</summary>");
                    html.table(table).markup("</details>")
                }
            };
        }
        for (name, yaml) in &self.configs {
            html.markup("<details class=\"card\"><summary>Config of <b>").text(name).markup("</b></summary>");
            html.element("<pre>", yaml, "</pre></details>");
        }
        if !self.commands.is_empty() {
            html.markup("<h2>Next steps</h2><div class=\"card\">");
            for command in &self.commands {
                html.element("<pre>", command, "</pre>");
            }
            html.markup("</div>");
        }
        html.element("<footer>", &self.footer, "</footer></main></body></html>\n");
        html.finish()
    }

    fn groups(&self, html: &mut Html) {
        if let Some(groups) = &self.groups {
            html.markup("<h2>Groups</h2><div class=\"card\">").table(groups).markup("</div>");
        }
    }

    fn verdicts(&self, html: &mut Html) {
        for card in &self.verdicts {
            html.markup(match card.tone {
                Tone::Good => "<section class=\"card verdict good\">",
                Tone::Bad => "<section class=\"card verdict bad\">",
                Tone::Open => "<section class=\"card verdict\">",
            });
            html.element("<div class=\"soft\">", &card.question, "</div>");
            html.element("<div class=\"word\">", &card.word, "</div>");
            for (index, statement) in card.statements.iter().enumerate() {
                html.element(if index == 0 { "<p class=\"lead\">" } else { "<p>" }, statement, "</p>");
            }
            html.markup("</section>");
        }
        for warning in &self.warnings {
            html.markup("<section class=\"card\"><span class=\"badge warning\">note</span>");
            html.text(warning).markup("</section>");
        }
    }

    fn changes(&self, html: &mut Html) {
        if self.changes.is_empty() && self.aligned.is_none() {
            return;
        }
        html.markup("<h2>What changed</h2>");
        for card in &self.changes {
            html.markup("<div class=\"card\">").element("<h3>", &card.title, "</h3>");
            if card.config.rows.is_empty() {
                html.markup("<p>No config key differs.</p>");
            } else {
                html.table(&card.config);
            }
            if !card.code.rows.is_empty() {
                html.markup("<h3>Code and machine</h3>").table(&card.code);
            }
            for note in &card.notes {
                html.element("<p class=\"soft\">", note, "</p>");
            }
            html.markup("</div>");
        }
        if let Some((aligned, how_read)) = &self.aligned {
            html.markup("<h3>Metrics at common steps</h3><div class=\"card\">").table(aligned);
            for sentence in how_read {
                html.element("<p class=\"soft\">", sentence, "</p>");
            }
            html.markup("</div>");
        }
    }

    fn diagnoses(&self, html: &mut Html) {
        if self.diagnoses.is_empty() {
            return;
        }
        html.markup("<h2>Diagnosis</h2>");
        for card in &self.diagnoses {
            html.markup("<div class=\"card\">").element("<h3>", &card.run, "</h3>");
            let (minor, major): (Vec<_>, Vec<_>) =
                card.findings.iter().partition(|finding| finding.severity == Severity::Info);
            major.into_iter().for_each(|finding| finding.render(html));
            if !minor.is_empty() {
                let notes = if minor.len() == 1 { " note</summary>" } else { " notes</summary>" };
                html.markup("<details><summary>").value(minor.len());
                html.markup(notes);
                minor.into_iter().for_each(|finding| finding.render(html));
                html.markup("</details>");
            }
            html.element("<p class=\"soft\">", &card.summary, "</p></div>");
        }
    }

    fn films(&self, html: &mut Html) {
        if self.films.is_empty() {
            return;
        }
        html.markup("<h2>Videos</h2><div class=\"films\">");
        for film in &self.films {
            html.markup(
                "<figure class=\"card\"><video controls muted loop playsinline preload=\"auto\" width=\"",
            );
            html.value(film.width).markup("\" height=\"").value(film.height);
            html.markup("\" src=\"data:video/mp4;base64,").base64(&film.mp4).markup("\"></video>");
            html.element("<figcaption>", &film.caption, "</figcaption></figure>");
        }
        html.markup("</div>");
    }
}

impl FindingCard {
    fn render(&self, html: &mut Html) {
        html.markup(match self.severity {
            Severity::Error => "<p><span class=\"badge error\">",
            Severity::Warning => "<p><span class=\"badge warning\">",
            Severity::Info => "<p><span class=\"badge info\">",
        });
        html.text(self.severity.word()).markup("</span><b>").text(&self.rule).text(" ");
        html.text(&self.title).markup("</b><br>").text(&self.sentence).markup("</p>");
        html.element("<p class=\"soft\">", &self.meaning, "</p>");
        if !self.evidence.rows.is_empty() {
            html.markup("<details><summary>Evidence</summary>").table(&self.evidence).markup("</details>");
        }
        if let Some(next) = &self.next {
            html.element("<pre>", next, "</pre>");
        }
    }
}
