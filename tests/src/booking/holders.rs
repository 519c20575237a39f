//! Visitors' names and phones, in the mixed spellings that forms collect. Made up.

use rand::RngExt;
use rand::seq::IndexedRandom;

const SURNAMES: [&str; 48] = [
    "王", "李", "张", "刘", "陈", "杨", "赵", "黄", "周", "吴", "徐", "孙", "胡", "朱", "高", "林",
    "何", "郭", "马", "罗", "梁", "宋", "郑", "谢", "韩", "唐", "冯", "于", "董", "萧", "程", "曹",
    "袁", "邓", "许", "傅", "沈", "曾", "彭", "吕", "欧阳", "司马", "上官", "诸葛", "龘", "尉迟",
    "艾力", "扎西",
];
const GIVEN: [&str; 40] = [
    "伟", "芳", "娜", "敏", "静", "丽", "强", "磊", "军", "洋", "勇", "艳", "杰", "娟", "涛", "明",
    "超", "秀", "霞", "平", "刚", "桂", "玉", "子", "浩", "宇", "轩", "梓", "涵", "欣", "怡", "诗",
    "雨", "晨", "佳", "思", "嘉", "乐", "博", "文",
];
const LATIN_GIVEN: [&str; 20] = [
    "Zoë",
    "José",
    "Anna-Lena",
    "Søren",
    "Łukasz",
    "Maria",
    "John",
    "Priya",
    "Olena",
    "Nguyễn",
    "Aoife",
    "François",
    "Jürgen",
    "Sofía",
    "Björn",
    "Emma",
    "Liam",
    "Noah",
    "Chloé",
    "Ivan",
];
const LATIN_SURNAMES: [&str; 20] = [
    "O'Brien",
    "van der Berg",
    "Müller",
    "García",
    "Smith",
    "Kowalska",
    "Nowak",
    "Dubois",
    "Rossi",
    "Novák",
    "Jensen",
    "Costa",
    "Khan",
    "Silva",
    "Weiß",
    "Strauß, jr.",
    "D'Angelo",
    "MacLeod",
    "Ångström",
    "Popescu",
];
/// Prefixes of Chinese mobile numbers.
const MOBILE: [&str; 8] = ["138", "139", "150", "158", "177", "186", "188", "199"];

/// A holder's name: mostly Chinese, some Latin, a few left empty.
pub(super) fn name(random: &mut impl RngExt) -> String {
    let pick = |random: &mut _, from: &[&'static str]| from.choose(random).copied().unwrap_or("");
    match random.random_range(0..100) {
        0..3 => String::new(),
        3..18 => format!(
            "{} {}",
            pick(random, &LATIN_GIVEN),
            pick(random, &LATIN_SURNAMES)
        ),
        _ => {
            let second = match random.random_bool(0.7) {
                true => pick(random, &GIVEN),
                false => "",
            };
            format!(
                "{}{}{second}",
                pick(random, &SURNAMES),
                pick(random, &GIVEN)
            )
        }
    }
}

/// A phone in one of the spellings that the server must read, or none.
pub(super) fn phone(random: &mut impl RngExt) -> String {
    let prefix = MOBILE.choose(random).copied().unwrap_or("138");
    let (middle, last) = (
        random.random_range(0..10_000),
        random.random_range(0..10_000),
    );
    match random.random_range(0..20) {
        0 => String::new(),
        1 => format!("+86 {prefix}-{middle:04}-{last:04}"),
        2 => format!("+86{prefix}{middle:04}{last:04}"),
        3 => format!("{prefix} {middle:04} {last:04}"),
        4 => full_width(&format!("{prefix}{middle:04}{last:04}")),
        5 => format!("'{prefix}{middle:04}{last:04}"),
        6 => format!("{prefix}****{last:04}"),
        7 => format!("+49 30 {middle:04}{last:04}"),
        8 => format!("(010) {middle:04}-{last:04}"),
        _ => format!("{prefix}{middle:04}{last:04}"),
    }
}

/// Digits as a Chinese keyboard may give them: １３８.
fn full_width(digits: &str) -> String {
    let wide = |digit: char| char::from_u32(u32::from(digit) + 0xFEE0).unwrap_or(digit);
    digits.chars().map(wide).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_width_digits_are_those_of_a_chinese_keyboard() {
        assert_eq!(full_width("13800"), "１３８００");
    }
}
