//! The page for those who run a server, in two languages: the Chinese one leaves nothing out, and both
//! keep what is typed, and what is looked for in a log, as it is.

use std::fs;
use std::path::Path;

/// A section from its heading to the next, by what a translation leaves alone.
#[derive(Default)]
struct Section {
    /// The heading with its `#`s; empty before the first.
    heading: String,
    /// Fenced blocks, each with its fences and indentation.
    blocks: Vec<String>,
    /// Lines of tables, head and rule among them.
    rows: usize,
    /// All lines but those of the blocks.
    prose: String,
}

impl Section {
    fn level(&self) -> usize {
        self.heading.chars().take_while(|c| *c == '#').count()
    }

    fn title(&self) -> &str {
        self.heading.trim_start_matches('#').trim()
    }

    /// What stands between backticks. It may go on in the next line.
    fn code(&self) -> Vec<String> {
        let parts: Vec<&str> = self.prose.split('`').collect();
        assert!(
            parts.len() % 2 == 1,
            "`{}` has an odd backtick",
            self.heading
        );
        let code = parts.iter().skip(1).step_by(2);
        code.map(|code| code.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect()
    }

    /// Where GitHub lets a link lead to it.
    fn anchor(&self) -> String {
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let title: String = self.title().chars().filter(kept).collect();
        title.to_lowercase().replace(' ', "-")
    }
}

fn page(name: &str) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    fs::read_to_string(docs.join(name)).unwrap()
}

fn sections(page: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let mut in_block = false;
    for line in page.lines() {
        let is_fence = line.trim_start().starts_with("```");
        if !in_block && line.starts_with('#') {
            sections.push(Section {
                heading: line.to_owned(),
                ..Section::default()
            });
        }
        let section = sections.last_mut().unwrap();
        if is_fence && !in_block {
            section.blocks.push(String::new());
        }
        if is_fence || in_block {
            let block = section.blocks.last_mut().unwrap();
            *block += line;
            *block += "\n";
            in_block ^= is_fence;
            continue;
        }
        section.rows += usize::from(line.trim_start().starts_with('|'));
        section.prose += line;
        section.prose += "\n";
    }
    sections
}

/// What is in `these` more often than in `those`.
fn beyond(these: &[String], those: &[String]) -> Vec<String> {
    let mut rest = these.to_vec();
    for that in those {
        if let Some(at) = rest.iter().position(|this| this == that) {
            rest.remove(at);
        }
    }
    rest
}

#[test]
fn the_chinese_page_has_the_sections_commands_and_alerts_of_the_english_one() {
    let english = sections(&page("operations.md"));
    let chinese = sections(&page("operations.zh-CN.md"));
    for (english, chinese) in english.iter().zip(&chinese) {
        let pair = format!("`{}` and `{}`", english.heading, chinese.heading);
        assert_eq!(english.level(), chinese.level(), "levels of {pair}");
        if [english, chinese]
            .iter()
            .any(|section| section.title().starts_with("Stile"))
        {
            assert_eq!(english.title(), chinese.title(), "names of an alert");
        }
        assert_eq!(english.blocks, chinese.blocks, "code blocks of {pair}");
        assert_eq!(english.rows, chinese.rows, "lines of tables of {pair}");
        let code = [english.code(), chinese.code()];
        let lacks = beyond(&code[0], &code[1]);
        assert!(
            lacks.is_empty(),
            "{pair}: the Chinese one lacks the code {lacks:?}"
        );
        let adds = beyond(&code[1], &code[0]);
        assert!(
            adds.is_empty(),
            "{pair}: the Chinese one adds the code {adds:?}"
        );
    }
    let shorter = english.len().min(chinese.len());
    let mut further = english[shorter..].iter().chain(&chinese[shorter..]);
    if let Some(section) = further.next() {
        panic!("`{}` stands on one page alone", section.heading);
    }
}

#[test]
fn a_link_within_a_page_leads_to_a_section() {
    for name in ["operations.md", "operations.zh-CN.md"] {
        let page = page(name);
        let anchors: Vec<String> = sections(&page).iter().map(Section::anchor).collect();
        for rest in page.split("](#").skip(1) {
            let to = rest.split(')').next().unwrap();
            assert!(
                anchors.iter().any(|anchor| anchor == to),
                "{name}: no section is #{to}"
            );
        }
    }
}
