//! Makes small workbooks (XLSX), as spreadsheets save them.

// Each test program uses a part of it, and helpers of tests may fail loudly as tests may.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::{Cursor, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const TYPES: &str = r#"<?xml version="1.0"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>
<Default Extension="xml" ContentType="application/xml"/>
<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>
</Types>"#;
const ROOT: &str = r#"<?xml version="1.0"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/>
</Relationships>"#;
const BOOK: &str = r#"<?xml version="1.0"?>
<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">
<sheets><sheet name="票" sheetId="1" r:id="rId1"/></sheets></workbook>"#;
const BOOK_PARTS: &str = r#"<?xml version="1.0"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/>
<Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings" Target="sharedStrings.xml"/>
<Relationship Id="rId3" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles" Target="styles.xml"/>
</Relationships>"#;
const STYLES: &str = r#"<?xml version="1.0"?>
<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="22" applyNumberFormat="1"/></cellXfs></styleSheet>"#;

/// A workbook of one sheet. Of a cell, the first character says what it is: `#` a number, `@` a
/// date as a spreadsheet counts it, `?` true or false, `!` an error; others are texts. An empty
/// one is not there.
pub fn workbook(rows: &[&[&str]]) -> Vec<u8> {
    let mut texts = String::new();
    let mut count = 0;
    let mut sheet = String::new();
    for (row, cells) in rows.iter().enumerate() {
        sheet += &format!("<row r=\"{}\">", row + 1);
        for (at, cell) in cells.iter().enumerate() {
            let place = format!(
                "{}{}",
                char::from(b'A' + u8::try_from(at).unwrap()),
                row + 1
            );
            sheet += &match cell.chars().next() {
                None => String::new(),
                Some('#') => format!("<c r=\"{place}\"><v>{}</v></c>", &cell[1..]),
                Some('@') => format!("<c r=\"{place}\" s=\"1\"><v>{}</v></c>", &cell[1..]),
                Some('?') => format!("<c r=\"{place}\" t=\"b\"><v>1</v></c>"),
                Some('!') => format!("<c r=\"{place}\" t=\"e\"><v>#N/A</v></c>"),
                Some(_) => {
                    texts += &format!("<si><t>{cell}</t></si>");
                    count += 1;
                    format!("<c r=\"{place}\" t=\"s\"><v>{}</v></c>", count - 1)
                }
            };
        }
        sheet += "</row>";
    }
    of_parts(&sheet, &texts)
}

/// A workbook of this markup of rows and of texts.
pub fn of_parts(rows: &str, texts: &str) -> Vec<u8> {
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let sheet = format!("<worksheet xmlns=\"{main}\"><sheetData>{rows}</sheetData></worksheet>");
    let texts = format!("<sst xmlns=\"{main}\">{texts}</sst>");
    archive(&[
        ("[Content_Types].xml", TYPES),
        ("_rels/.rels", ROOT),
        ("xl/workbook.xml", BOOK),
        ("xl/_rels/workbook.xml.rels", BOOK_PARTS),
        ("xl/styles.xml", STYLES),
        ("xl/sharedStrings.xml", &texts),
        ("xl/worksheets/sheet1.xml", &sheet),
    ])
}

/// A ZIP archive.
pub fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}
