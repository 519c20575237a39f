//! Block letters: a verdict's word and sign, and the digits to compare, drawn from dots of our own,
//! two dots to a character cell. Read at arm's length, and told apart without colour.

use stile_core::reason::Language;

use super::acts::Sort;

/// A picture of dots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dots(Vec<Vec<bool>>);

impl Dots {
    fn of(rows: &[&str]) -> Self {
        let row = |row: &&str| row.bytes().map(|dot| dot == b'#').collect();
        Self(rows.iter().map(row).collect())
    }

    /// Pictures side by side, with empty columns between them.
    fn beside(pictures: &[Self], gap: usize) -> Self {
        let height = pictures.iter().map(|one| one.0.len()).max().unwrap_or(0);
        let mut rows = vec![Vec::new(); height];
        for (n, picture) in pictures.iter().enumerate() {
            let width = picture.width();
            for (y, row) in rows.iter_mut().enumerate() {
                if n > 0 {
                    row.resize(row.len() + gap, false);
                }
                match picture.0.get(y) {
                    Some(dots) => row.extend(dots),
                    None => row.resize(row.len() + width, false),
                }
            }
        }
        Self(rows)
    }

    /// Every dot `times` as wide and high.
    fn scaled(&self, times: usize) -> Self {
        let wide = |row: &Vec<bool>| -> Vec<bool> {
            row.iter()
                .flat_map(|dot| std::iter::repeat_n(*dot, times))
                .collect()
        };
        let rows = self.0.iter().map(wide);
        Self(
            rows.flat_map(|row| std::iter::repeat_n(row, times))
                .collect(),
        )
    }

    /// Its width in dots, which is its width in cells.
    pub fn width(&self) -> usize {
        self.0.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// The lines that draw it: two rows of dots to a line.
    pub fn lines(&self) -> Vec<String> {
        let empty = Vec::new();
        let pairs = self
            .0
            .chunks(2)
            .map(|pair| (&pair[0], pair.get(1).unwrap_or(&empty)));
        pairs
            .map(|(upper, lower)| {
                let cells = upper.iter().enumerate();
                cells
                    .map(
                        |(x, up)| match (*up, lower.get(x).copied().unwrap_or(false)) {
                            (true, true) => '█',
                            (true, false) => '▀',
                            (false, true) => '▄',
                            (false, false) => ' ',
                        },
                    )
                    .collect()
            })
            .collect()
    }
}

/// Sign and word of a verdict, `times` as large as fits 80 columns.
pub fn verdict(sort: Sort, language: Language, times: usize) -> Dots {
    let mut pictures = vec![Dots::of(sign(sort))];
    match language {
        Language::ZhCn => pictures.extend(characters(sort).iter().map(|rows| Dots::of(rows))),
        Language::En => {
            let letters = super::phrases::sort(sort).text(language).chars();
            pictures.extend(letters.map(|letter| Dots::of(letter_dots(letter)).scaled(2)));
        }
    }
    Dots::beside(&pictures, 2).scaled(times)
}

/// Digits to compare, five lines high.
pub fn digits(text: &str, times: usize) -> Dots {
    let digits = text.chars().filter_map(|digit| digit.to_digit(10));
    let pictures: Vec<_> = digits
        .filter_map(|digit| DIGITS.get(usize::try_from(digit).ok()?))
        .map(|rows| Dots::of(rows).scaled(2))
        .collect();
    Dots::beside(&pictures, 2).scaled(times)
}

fn sign(sort: Sort) -> &'static [&'static str] {
    match sort {
        Sort::Admit => TICK,
        Sort::Refuse => CROSS,
        Sort::Used => BARRED_RING,
        Sort::Repeat => EQUALS,
    }
}

fn characters(sort: Sort) -> &'static [&'static [&'static str]] {
    match sort {
        Sort::Admit => &[FANG, XING],
        Sort::Refuse => &[ZHI, BU],
        Sort::Used => &[YI, YONG],
        Sort::Repeat => &[YI, FANG, XING],
    }
}

fn letter_dots(letter: char) -> &'static [&'static str] {
    match letter {
        'A' => &[
            ".###.", "#...#", "#...#", "#####", "#...#", "#...#", "#...#",
        ],
        'D' => &[
            "####.", "#...#", "#...#", "#...#", "#...#", "#...#", "####.",
        ],
        'E' => &[
            "#####", "#....", "#....", "####.", "#....", "#....", "#####",
        ],
        'G' => &[
            ".####", "#....", "#....", "#..##", "#...#", "#...#", ".####",
        ],
        'I' => &["###", ".#.", ".#.", ".#.", ".#.", ".#.", "###"],
        'M' => &[
            "#...#", "##.##", "#.#.#", "#.#.#", "#...#", "#...#", "#...#",
        ],
        'N' => &[
            "#...#", "##..#", "##..#", "#.#.#", "#..##", "#..##", "#...#",
        ],
        'O' => &[
            ".###.", "#...#", "#...#", "#...#", "#...#", "#...#", ".###.",
        ],
        'P' => &[
            "####.", "#...#", "#...#", "####.", "#....", "#....", "#....",
        ],
        'S' => &[
            ".####", "#....", "#....", ".###.", "....#", "....#", "####.",
        ],
        'T' => &[
            "#####", "..#..", "..#..", "..#..", "..#..", "..#..", "..#..",
        ],
        'U' => &[
            "#...#", "#...#", "#...#", "#...#", "#...#", "#...#", ".###.",
        ],
        _ => &[],
    }
}

const DIGITS: [&[&str]; 10] = [
    &["###", "#.#", "#.#", "#.#", "###"],
    &[".#.", "##.", ".#.", ".#.", "###"],
    &["###", "..#", "###", "#..", "###"],
    &["###", "..#", "###", "..#", "###"],
    &["#.#", "#.#", "###", "..#", "..#"],
    &["###", "#..", "###", "..#", "###"],
    &["###", "#..", "###", "#.#", "###"],
    &["###", "..#", "..#", ".#.", ".#."],
    &["###", "#.#", "###", "#.#", "###"],
    &["###", "#.#", "###", "..#", "###"],
];

/// 放: to let.
const FANG: &[&str] = &[
    "...##....##.....",
    "....##...##.....",
    "########.##.....",
    "########.#######",
    "..##....########",
    "..##....##...##.",
    "..##...####..##.",
    "..#####.###.##..",
    "..#####...#.##..",
    "..##.##...####..",
    "..##.##....##...",
    ".##..##....##...",
    ".##..##...####..",
    "##...##..##..##.",
    "##.####.##....##",
    "#...##.##......#",
];
/// 行: pass.
const XING: &[&str] = &[
    "....##..........",
    "...##..#########",
    "..##...#########",
    ".##.............",
    "##..##..........",
    "...##...........",
    "..##..##########",
    ".###..##########",
    "####.......##...",
    "#.##.......##...",
    "..##.......##...",
    "..##.......##...",
    "..##.......##...",
    "..##.......##...",
    "..##....#####...",
    "..##.....###....",
];
/// 止: stop.
const ZHI: &[&str] = &[
    ".......##.......",
    ".......##.......",
    ".......##.......",
    ".......##.......",
    ".......##.......",
    "..##...########.",
    "..##...########.",
    "..##...##.......",
    "..##...##.......",
    "..##...##.......",
    "..##...##.......",
    "..##...##.......",
    "..##...##.......",
    "..##...##.......",
    "################",
    "################",
];
/// 步: step.
const BU: &[&str] = &[
    ".......##.......",
    "..##...########.",
    "..##...########.",
    "..##...##.......",
    "..##...##.......",
    "################",
    "################",
    ".......##.......",
    "...##..##....##.",
    "..##...##...##..",
    ".##....##..##...",
    "##..##.##.##....",
    ".....####.......",
    ".......##.......",
    "....###.........",
    ".####...........",
];
/// 已: already.
const YI: &[&str] = &[
    "................",
    ".############...",
    ".############...",
    "...........##...",
    "...........##...",
    ".##........##...",
    ".##........##...",
    ".############...",
    ".############...",
    ".##.............",
    ".##.............",
    ".##...........##",
    ".##...........##",
    ".##...........##",
    ".###############",
    "..#############.",
];
/// 用: used.
const YONG: &[&str] = &[
    "..############..",
    "..############..",
    "..##...##...##..",
    "..##...##...##..",
    "..##...##...##..",
    "..############..",
    "..############..",
    "..##...##...##..",
    "..##...##...##..",
    "..############..",
    "..############..",
    "..##...##...##..",
    "..##...##...##..",
    ".##....##...##..",
    ".##....##.####..",
    "##.....##..##...",
];
const TICK: &[&str] = &[
    "................",
    "..............##",
    ".............###",
    "............####",
    "...........####.",
    "..........####..",
    ".........####...",
    "##......####....",
    "###....####.....",
    "####..####......",
    ".########.......",
    "..######........",
    "...####.........",
    "....##..........",
    "................",
    "................",
];
const CROSS: &[&str] = &[
    "###..........###",
    "####........####",
    ".####......####.",
    "..####....####..",
    "...####..####...",
    "....########....",
    ".....######.....",
    "......####......",
    ".....######.....",
    "....########....",
    "...####..####...",
    "..####....####..",
    ".####......####.",
    "####........####",
    "###..........###",
    "................",
];
const BARRED_RING: &[&str] = &[
    ".....######.....",
    "...##########...",
    "..####....####..",
    ".###........###.",
    ".####........##.",
    "###.##.......###",
    "##...##.......##",
    "##....##......##",
    "##.....##.....##",
    "##......##....##",
    "###......##..###",
    ".##.......#####.",
    ".###.......###..",
    "..####....####..",
    "...##########...",
    ".....######.....",
];
const EQUALS: &[&str] = &[
    "................",
    "................",
    "................",
    "################",
    "################",
    "################",
    "................",
    "................",
    "................",
    "................",
    "################",
    "################",
    "################",
    "................",
    "................",
    "................",
];

#[cfg(test)]
mod tests {
    use super::*;

    const SORTS: [Sort; 4] = [Sort::Admit, Sort::Refuse, Sort::Used, Sort::Repeat];

    #[test]
    fn every_word_with_its_sign_fits_80_columns_and_8_lines() {
        for language in [Language::ZhCn, Language::En] {
            for sort in SORTS {
                let picture = verdict(sort, language, 1);
                assert!(picture.width() <= 78, "{sort:?}: {}", picture.width());
                assert_eq!(picture.lines().len(), 8, "{sort:?}");
            }
        }
    }

    #[test]
    fn every_letter_of_every_word_is_drawn() {
        for sort in SORTS {
            for letter in crate::tui::phrases::sort(sort).text(Language::En).chars() {
                assert_eq!(letter_dots(letter).len(), 7, "{letter}");
            }
        }
    }

    #[test]
    fn no_two_signs_and_no_two_words_look_alike() {
        for (n, one) in SORTS.iter().enumerate() {
            for other in &SORTS[n + 1..] {
                assert_ne!(sign(*one), sign(*other));
                assert_ne!(characters(*one), characters(*other));
            }
        }
    }

    #[test]
    fn four_digits_are_five_lines_high() {
        let picture = digits("0678", 1);
        assert_eq!((picture.width(), picture.lines().len()), (30, 5));
    }
}
