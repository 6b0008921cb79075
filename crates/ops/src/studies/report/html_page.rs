//! A report as one HTML file: no external resources, readable on a phone, in light and in dark.

use rlxp_draw::font_faces;

use super::document::{Block, Document};
use crate::html::{Html, Table};

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1f2933;--soft:#5b6773;--line:#e1e5ea;--ground:#f5f7fa;--paper:#fff;--good:#0b6e4f;--bad:#b03a00;--open:#7a5600;--link:#00557f}
@media (prefers-color-scheme:dark){:root{--ink:#e4e8ec;--soft:#9aa7b4;--line:#333c46;--ground:#14181d;--paper:#1c2229;--good:#5cc9a0;--bad:#ff9a6b;--open:#e2bd5b;--link:#7cc4ee}
figure svg{filter:invert(.9) hue-rotate(180deg)}}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--ink);font:15px/1.55 'DejaVu Sans',system-ui,sans-serif;overflow-wrap:anywhere}
main{max-width:1180px;margin:0 auto;padding:32px 20px 64px}
h1{font-size:26px;line-height:1.25;margin:0 0 4px}h2{font-size:18px;margin:36px 0 12px}
p{margin:0 0 12px}.sub,.soft,figcaption{color:var(--soft);font-size:13px}
.lead{font-size:16.5px;background:var(--paper);border:1px solid var(--line);border-left:6px solid var(--link);border-radius:10px;padding:14px 18px;margin:18px 0}
.card{background:var(--paper);border:1px solid var(--line);border-radius:10px;padding:12px 16px;margin:0 0 14px}
figure{margin:0 0 14px;overflow-x:auto}figure svg{width:100%;min-width:520px;height:auto;display:block}figcaption{margin-top:8px}
table{border-collapse:collapse;width:100%;font-size:13px}.scroll{overflow-x:auto}
th,td{text-align:left;padding:6px 9px;border-bottom:1px solid var(--line);vertical-align:top}
th{color:var(--soft);font-weight:700;white-space:nowrap}tbody tr:last-child td{border-bottom:0}
td{min-width:3.5em;overflow-wrap:break-word;word-break:normal}
td.long{min-width:10.5em}
.good{color:var(--good);font-weight:700}.bad{color:var(--bad);font-weight:700}.open{color:var(--open);font-weight:700}
pre{font:13px/1.5 ui-monospace,'DejaVu Sans Mono',monospace;background:var(--paper);border:1px solid var(--line);border-radius:8px;padding:10px 12px;overflow-x:auto;margin:0 0 12px}
ul{margin:0 0 12px;padding-left:1.3em}li{margin:0 0 4px}details summary{cursor:pointer;font-weight:700}details .scroll{margin-top:10px}
@media (max-width:640px){main{padding:20px 12px 48px}h1{font-size:21px}.card{padding:10px 12px}
table,tbody{display:block}thead{display:none}tr{display:block;padding:8px 0;border-bottom:1px solid var(--line)}tbody tr:last-child{border-bottom:0}
td,td.long{display:grid;grid-template-columns:7.5em 1fr;gap:8px;border:0;padding:2px 0;text-align:left;white-space:normal;min-width:0}
td::before{content:attr(data-label);color:var(--soft);font-weight:400}td:empty{display:none}}
@media print{body{background:#fff}.card,figure{break-inside:avoid}}
";

pub(super) fn render(document: &Document) -> String {
    let mut html = Html::default();
    html.markup("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    html.markup("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    // Nothing outside this file is ever loaded, whatever it contains.
    html.markup("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; font-src data:; img-src data:\">");
    html.element("<title>", &document.title, "</title>");
    html.markup("<style>").picture(&font_faces(true)).markup(STYLE).markup("</style></head><body><main>");
    html.element("<h1>", &document.title, "</h1>").element("<p class=\"sub\">", &document.subtitle, "</p>");
    document.blocks.iter().for_each(|block| put(&mut html, block));
    html.markup("</main></body></html>\n");
    html.finish()
}

fn put(html: &mut Html, block: &Block) {
    match block {
        Block::Heading(heading) => html.element("<h2>", heading, "</h2>"),
        Block::Text(text) => html.element("<p>", text, "</p>"),
        Block::Lead(text) => html.element("<p class=\"lead\">", text, "</p>"),
        Block::Table(one) => {
            html.markup("<div class=\"card\">");
            table(html, one);
            html.markup("</div>")
        }
        Block::Folded { summary, table: one } => {
            html.markup("<details class=\"card\">").element("<summary>", summary, "</summary>");
            table(html, one);
            html.markup("</details>")
        }
        Block::List(items) => {
            html.markup("<ul>");
            for item in items {
                html.element("<li>", item, "</li>");
            }
            html.markup("</ul>")
        }
        Block::Command(command) => html.element("<pre>", command, "</pre>"),
        Block::Picture { scene, caption } => {
            html.markup("<figure class=\"card\">").picture(&scene.to_svg_element());
            html.element("<figcaption>", caption, "</figcaption></figure>")
        }
    };
}

/// A table that becomes one block per row where there is little room: each cell carries the name of its column.
fn table(html: &mut Html, table: &Table) {
    html.markup("<div class=\"scroll\"><table><thead><tr>");
    for head in &table.head {
        html.element("<th>", head, "</th>");
    }
    html.markup("</tr></thead><tbody>");
    for row in &table.rows {
        html.markup("<tr>");
        for (cell, head) in row.iter().zip(&table.head) {
            html.markup(class(cell)).text(head).markup("\">").text(cell).markup("</td>");
        }
        html.markup("</tr>");
    }
    html.markup("</tbody></table></div>");
}

/// The opening of a cell, up to the name of its column. Colours only emphasise what the words say.
fn class(cell: &str) -> &'static str {
    let first = cell.split([',', ':']).next().unwrap_or_default();
    match first {
        "accepted" | "yes" if cell == first => "<td class=\"good\" data-label=\"",
        "accepted" => "<td class=\"open long\" data-label=\"",
        "rejected" => "<td class=\"bad\" data-label=\"",
        "inconclusive" | "debug" | "not shown" => "<td class=\"open\" data-label=\"",
        _ if cell.chars().count() > 24 => "<td class=\"long\" data-label=\"",
        _ => "<td data-label=\"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_table_becomes_markup() {
        let evil = "\" onmouseover=\"x\" <img src=x> \u{202e}";
        let mut one = Table::new(&[evil]);
        one.row([evil.to_owned()]);
        let blocks = vec![Block::Table(one), Block::List(vec![evil.into()]), Block::Command(evil.into())];
        let page = render(&Document { title: evil.into(), subtitle: evil.into(), blocks });
        let body = &page[page.find("</style>").unwrap()..];
        assert!(
            !body.contains("<img") && !body.contains("\" onmouseover") && !body.contains('\u{202e}'),
            "{body}"
        );
        // As heading and subtitle, in the table as name, label and cell, in the list and the command.
        assert_eq!(body.matches("&lt;img src=x&gt;").count(), 7);
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        let page = render(&Document { title: "x".into(), subtitle: String::new(), blocks: Vec::new() });
        for outside in ["http://", "https://", "src=\"", "@import"] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}
