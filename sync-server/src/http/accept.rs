//! Which of the forms that the log comes in a request accepts.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;
use mime::Mime;

use super::answer::{CSV, NDJSON};

/// The forms of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One JSON document with a piece of it.
    Json,
    /// Lines of JSON.
    Lines,
    /// CSV.
    Csv,
}

impl Form {
    /// The form that is accepted with the highest quality, named before not named, the first of
    /// several; JSON where none of them is accepted.
    pub fn accepted(headers: &HeaderMap) -> Self {
        let ranges = headers.get_all(ACCEPT).iter();
        let ranges = ranges
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|range| range.trim().parse::<Mime>().ok());
        let mut best = (0, false, Self::Json);
        for range in ranges {
            let (form, is_named) = match range.essence_str() {
                "application/json" => (Self::Json, true),
                NDJSON => (Self::Lines, true),
                CSV => (Self::Csv, true),
                "*/*" | "application/*" => (Self::Json, false),
                _ => continue,
            };
            let quality = quality(&range);
            if (quality, is_named) > (best.0, best.1) && quality > 0 {
                best = (quality, is_named, form);
            }
        }
        best.2
    }
}

/// Of 1000.
fn quality(range: &Mime) -> u16 {
    let Some(quality) = range.get_param("q") else {
        return 1000;
    };
    let quality: f32 = quality.as_str().parse().unwrap_or(0.0);
    // At most 1000, and a cast of what is no number is 0.
    (quality.clamp(0.0, 1.0) * 1000.0) as u16
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn the_form_that_is_liked_best_is_given() {
        for (accept, form) in [
            ("", Form::Json),
            ("*/*", Form::Json),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Form::Json),
            ("text/csv", Form::Csv),
            ("Text/CSV; charset=utf-8", Form::Csv),
            ("*/*, text/csv", Form::Csv),
            ("text/csv;q=0.5, application/x-ndjson;q=0.7", Form::Lines),
            ("application/json, text/csv", Form::Json),
            ("text/csv, application/json", Form::Csv),
            ("text/csv;q=0", Form::Json),
            ("text/csv;q=x, application/x-ndjson;q=0.1", Form::Lines),
            ("image/png", Form::Json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(Form::accepted(&headers), form, "{accept}");
        }
        assert_eq!(Form::accepted(&HeaderMap::new()), Form::Json);
    }
}
