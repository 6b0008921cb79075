//! `rlx report`: one self-contained HTML file, opened in a real browser.

use crate::project::Project;

/// What every page has.
fn parts(html: &str) -> [bool; 6] {
    [
        html.contains("<h2>Curves and scores</h2>"),
        html.contains("<h2>Diagnosis</h2>"),
        html.contains("<h2>Evaluations</h2>"),
        html.contains("<h2>Videos</h2>"),
        html.contains("data:video/mp4;base64,"),
        html.contains("<h2>Runs</h2>"),
    ]
}

/// Everything that the page would fetch, except names of XML namespaces.
fn addresses(html: &str) -> Vec<&str> {
    let ours = ["http://www.w3.org/2000/svg"];
    html.match_indices("http")
        .map(|(at, _)| &html[at..(at + 60).min(html.len())])
        .filter(|found| {
            (found.starts_with("http://") || found.starts_with("https://"))
                && !ours.iter().any(|own| found.starts_with(own))
        })
        .collect()
}

#[test]
fn a_report_stands_alone_and_says_everything() {
    let project = Project::new();
    project.rlx("train tiny.yaml --set seeds=5").expect(0);
    project
        .rlx_with(&["train", "tiny.yaml", "--set", "seeds=5", "--set", "algo.learning_rate=0.0001"])
        .expect(0);
    let made = project.rlx("report tiny_001 tiny_002 --output report.html --json").expect(0).json();
    assert_eq!(made["schema"], "rlx.report/1");
    assert_eq!(made["videos"], 2);
    let html = std::fs::read_to_string(project.path("report.html")).unwrap();
    assert_eq!(parts(&html), [true; 6]);
    assert_eq!(addresses(&html), Vec::<&str>::new());
    assert!(html.contains("algo.learning_rate") && html.contains("What changed"));
    let word =
        ["Better", "Worse", "Cannot tell"].iter().any(|word| html.contains(&format!("\"word\">{word}<")));
    assert!(word, "the verdict is missing");
}

#[test]
fn one_seed_is_told_what_it_can_not_know() {
    let project = Project::trained();
    let ran = project.rlx("report @last --no-videos").expect(0);
    let file = ran.stdout.trim();
    assert!(file.ends_with("analysis/report_tiny_001.html"), "{file}");
    let html = std::fs::read_to_string(file).unwrap();
    assert!(html.contains("it may have been lucky") && !html.contains("<video"));
    project.rlx("report @last --output report.txt").expect(2);
    project.rlx("report @last --output nowhere/report.html").expect(2);
    project.rlx("report nothing").expect(2);
}

/// Chromium comes with `cargo xtask setup`.
#[test]
fn chromium_shows_the_report() {
    let project = Project::trained();
    project.rlx("report @last --output report.html").expect(0);
    let page = format!("file://{}", project.path("report.html").display());
    let picture = project.path("report.png");
    let profile = project.path("profile");
    let output = project
        .command("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            // `/dev/shm` is too small in many containers.
            "--disable-dev-shm-usage",
            "--disable-quic",
            "--no-first-run",
            "--hide-scrollbars",
        ])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--window-size=1100,2400".to_owned(), format!("--user-data-dir={}", profile.display())])
        .args([format!("--screenshot={}", picture.display()), page])
        .output()
        .expect("chromium is there after cargo xtask setup");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let png = std::fs::read(&picture).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    // An empty page of this size takes about 10 kB.
    assert!(png.len() > 60_000, "the picture has only {} bytes", png.len());
}
