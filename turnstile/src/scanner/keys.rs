//! What a US keyboard types: which character each key gives, alone and with Shift. Scanners are
//! set to this layout when they leave the factory. Data, and the little state that Shift needs.

use evdev::KeyCode as Key;

/// A key, its character, and its character with Shift.
type Row = (Key, u8, u8);

const LAYOUT: &[Row] = &[
    (Key::KEY_1, b'1', b'!'),
    (Key::KEY_2, b'2', b'@'),
    (Key::KEY_3, b'3', b'#'),
    (Key::KEY_4, b'4', b'$'),
    (Key::KEY_5, b'5', b'%'),
    (Key::KEY_6, b'6', b'^'),
    (Key::KEY_7, b'7', b'&'),
    (Key::KEY_8, b'8', b'*'),
    (Key::KEY_9, b'9', b'('),
    (Key::KEY_0, b'0', b')'),
    (Key::KEY_A, b'a', b'A'),
    (Key::KEY_B, b'b', b'B'),
    (Key::KEY_C, b'c', b'C'),
    (Key::KEY_D, b'd', b'D'),
    (Key::KEY_E, b'e', b'E'),
    (Key::KEY_F, b'f', b'F'),
    (Key::KEY_G, b'g', b'G'),
    (Key::KEY_H, b'h', b'H'),
    (Key::KEY_I, b'i', b'I'),
    (Key::KEY_J, b'j', b'J'),
    (Key::KEY_K, b'k', b'K'),
    (Key::KEY_L, b'l', b'L'),
    (Key::KEY_M, b'm', b'M'),
    (Key::KEY_N, b'n', b'N'),
    (Key::KEY_O, b'o', b'O'),
    (Key::KEY_P, b'p', b'P'),
    (Key::KEY_Q, b'q', b'Q'),
    (Key::KEY_R, b'r', b'R'),
    (Key::KEY_S, b's', b'S'),
    (Key::KEY_T, b't', b'T'),
    (Key::KEY_U, b'u', b'U'),
    (Key::KEY_V, b'v', b'V'),
    (Key::KEY_W, b'w', b'W'),
    (Key::KEY_X, b'x', b'X'),
    (Key::KEY_Y, b'y', b'Y'),
    (Key::KEY_Z, b'z', b'Z'),
    (Key::KEY_MINUS, b'-', b'_'),
    (Key::KEY_EQUAL, b'=', b'+'),
    (Key::KEY_LEFTBRACE, b'[', b'{'),
    (Key::KEY_RIGHTBRACE, b']', b'}'),
    (Key::KEY_BACKSLASH, b'\\', b'|'),
    (Key::KEY_SEMICOLON, b';', b':'),
    (Key::KEY_APOSTROPHE, b'\'', b'"'),
    (Key::KEY_GRAVE, b'`', b'~'),
    (Key::KEY_COMMA, b',', b'<'),
    (Key::KEY_DOT, b'.', b'>'),
    (Key::KEY_SLASH, b'/', b'?'),
    (Key::KEY_SPACE, b' ', b' '),
    (Key::KEY_KP0, b'0', b'0'),
    (Key::KEY_KP1, b'1', b'1'),
    (Key::KEY_KP2, b'2', b'2'),
    (Key::KEY_KP3, b'3', b'3'),
    (Key::KEY_KP4, b'4', b'4'),
    (Key::KEY_KP5, b'5', b'5'),
    (Key::KEY_KP6, b'6', b'6'),
    (Key::KEY_KP7, b'7', b'7'),
    (Key::KEY_KP8, b'8', b'8'),
    (Key::KEY_KP9, b'9', b'9'),
    (Key::KEY_KPMINUS, b'-', b'-'),
    (Key::KEY_KPPLUS, b'+', b'+'),
    (Key::KEY_KPDOT, b'.', b'.'),
    (Key::KEY_KPSLASH, b'/', b'/'),
    (Key::KEY_KPASTERISK, b'*', b'*'),
    // Enter and Tab end a code.
    (Key::KEY_ENTER, b'\n', b'\n'),
    (Key::KEY_KPENTER, b'\n', b'\n'),
    (Key::KEY_TAB, b'\n', b'\n'),
];

/// Value of a key event when the key goes down; 0 is up, 2 is a key held so long that it repeats,
/// which no scanner means.
const DOWN: i32 = 1;

/// Turns key events into characters.
#[derive(Debug, Default)]
pub(super) struct Keys {
    left_shift: bool,
    right_shift: bool,
}

impl Keys {
    /// The character that an event types, if it types one.
    pub fn press(&mut self, key: Key, value: i32) -> Option<u8> {
        match key {
            Key::KEY_LEFTSHIFT => self.left_shift = value != 0,
            Key::KEY_RIGHTSHIFT => self.right_shift = value != 0,
            _ if value == DOWN => {
                let row = LAYOUT.iter().find(|(of_row, _, _)| *of_row == key)?;
                let shift = self.left_shift || self.right_shift;
                return Some(if shift { row.2 } else { row.1 });
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(events: &[(Key, i32)]) -> String {
        let mut keys = Keys::default();
        let bytes = events
            .iter()
            .filter_map(|(key, value)| keys.press(*key, *value));
        String::from_utf8(bytes.collect()).unwrap()
    }

    /// The events of a US keyboard that types a text.
    fn strokes(text: &str) -> Vec<(Key, i32)> {
        let mut events = Vec::new();
        for byte in text.bytes() {
            let row = |shifted: bool| {
                let of = move |row: &&Row| byte == if shifted { row.2 } else { row.1 };
                LAYOUT.iter().find(of)
            };
            match (row(false), row(true)) {
                (Some(row), _) => events.extend([(row.0, 1), (row.0, 0)]),
                (None, Some(row)) => events.extend([
                    (Key::KEY_LEFTSHIFT, 1),
                    (row.0, 1),
                    (row.0, 0),
                    (Key::KEY_LEFTSHIFT, 0),
                ]),
                (None, None) => panic!("no key types {byte}"),
            }
        }
        events
    }

    #[test]
    fn every_printable_character_of_a_code_can_be_typed() {
        let all: String = (0x20..=0x7Eu8).map(char::from).collect();
        assert_eq!(typed(&strokes(&all)), all);
    }

    #[test]
    fn enter_keypad_enter_and_tab_end_a_code() {
        for key in [Key::KEY_ENTER, Key::KEY_KPENTER, Key::KEY_TAB] {
            assert_eq!(typed(&[(Key::KEY_A, 1), (Key::KEY_A, 0), (key, 1)]), "a\n");
        }
    }

    #[test]
    fn shift_counts_while_it_is_down_on_either_side() {
        let events = [
            (Key::KEY_LEFTSHIFT, 1),
            (Key::KEY_RIGHTSHIFT, 1),
            (Key::KEY_LEFTSHIFT, 0),
            (Key::KEY_G, 1),
            (Key::KEY_RIGHTSHIFT, 0),
            (Key::KEY_2, 1),
        ];
        assert_eq!(typed(&events), "G2");
    }

    #[test]
    fn a_key_that_repeats_types_once_and_keys_without_a_character_type_nothing() {
        let events = [
            (Key::KEY_7, 1),
            (Key::KEY_7, 2),
            (Key::KEY_7, 2),
            (Key::KEY_7, 0),
            (Key::KEY_F1, 1),
            (Key::KEY_LEFTCTRL, 1),
        ];
        assert_eq!(typed(&events), "7");
    }
}
