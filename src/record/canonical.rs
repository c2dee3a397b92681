//! The one spelling of a record's content, its hash, and the cleaning that comes before both.

use std::fmt::Write as _;

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

use super::{Fact, Record};
use crate::protocol::Step;

/// What a record says, ready to be stored and compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The attributes as canonical JSON.
    pub attributes: String,
    /// SHA-256 of the canonical JSON of type, source, execution, entity and attributes: it tells a retry from a
    /// conflict without comparing documents.
    pub hash: [u8; 32],
}

impl Record {
    /// The record's content in its one spelling. Costs a serialisation.
    #[must_use]
    pub fn content(&self) -> Content {
        self.content_of(canonical(&self.fact.attributes()))
    }

    /// Cleans the record and gives its content. Whether there was anything to clean comes with it.
    #[must_use]
    pub fn clean_content(&mut self) -> (Content, bool) {
        let attributes = canonical(&self.fact.attributes());
        // How a NUL is spelled there; a text that merely looks so costs a second look.
        if attributes.contains("\\u0000")
            && let Some(fact) = cleaned(&self.fact)
        {
            self.fact = fact;
            return (self.content(), true);
        }
        (self.content_of(attributes), false)
    }

    fn content_of(&self, attributes: String) -> Content {
        let execution = self.execution.as_ref().map(|id| id.as_str());
        let hash =
            content_hash(self.fact.record_type(), self.source.as_str(), execution, self.fact.entity(), &attributes);
        Content { attributes, hash }
    }
}

/// The content hash over already canonical attributes, for whoever verifies stored rows.
#[must_use]
pub fn content_hash(
    record_type: &str,
    source: &str,
    execution: Option<&str>,
    entity: Option<&str>,
    attributes: &str,
) -> [u8; 32] {
    let mut head = String::from("[");
    for text in [Some(record_type), Some(source), execution, entity] {
        match text {
            Some(text) => write_text(text, &mut head),
            None => head.push_str("null"),
        }
        head.push(',');
    }
    let mut hasher = Sha256::new();
    hasher.update(head.as_bytes());
    hasher.update(attributes.as_bytes());
    hasher.update(b"]");
    hasher.finalize().into()
}

/// JSON with sorted keys and without spaces. A database that normalises numbers (jsonb) gives the same text again.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut out = String::with_capacity(256);
    write_value(value, &mut out);
    out
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            // A map sorts its keys unless somebody's dependency turned on `preserve_order`.
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (i, (key, item)) in entries.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write_value(item, out);
            }
            out.push('}');
        }
    }
}

fn write_number(number: &Number, out: &mut String) {
    // jsonb knows neither an exponent nor a negative zero; whole numbers below 2^64 come back as such.
    const SPELLED_OUT: f64 = 18_446_744_073_709_551_615.0;
    let _ = match number.as_f64() {
        Some(0.0) if number.is_f64() => write!(out, "0.0"),
        Some(float) if number.is_f64() && (1e15..SPELLED_OUT).contains(&float.abs()) && float.fract() == 0.0 => {
            #[expect(clippy::cast_possible_truncation, reason = "whole and within the range of 64 bits")]
            let whole = float as i128;
            write!(out, "{whole}")
        }
        _ => write!(out, "{number}"),
    };
}

fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut plain = 0;
    for (i, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[plain..i]);
        plain = i + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
    }
    out.push_str(&text[plain..]);
    out.push('"');
}

/// The fact with U+0000 replaced by U+FFFD in every text and key: PostgreSQL takes no NUL, and both databases must
/// hold the same. `None` when there was nothing to clean. (A lone surrogate cannot be in a Rust text.)
#[must_use]
pub fn cleaned(fact: &Fact) -> Option<Fact> {
    let attributes = fact.attributes();
    if !has_nul(&attributes) {
        return None;
    }
    Fact::from_parts(fact.record_type(), &clean_value(attributes)).ok()
}

/// The step with U+0000 replaced, for partial rows.
#[must_use]
pub fn cleaned_step(step: &Step) -> Option<Step> {
    let value = serde_json::to_value(step).ok()?;
    if !has_nul(&value) {
        return None;
    }
    serde_json::from_value(clean_value(value)).ok()
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(map) => map.iter().any(|(key, item)| key.contains('\0') || has_nul(item)),
    }
}

fn clean_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean_text(text)),
        Value::Array(items) => Value::Array(items.into_iter().map(clean_value).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, item)| (clean_text(key), clean_value(item))).collect())
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

fn clean_text(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_spelling_whatever_the_order_and_the_kind_of_number() {
        let value = json!({ "b": [1, 1.0, 100.5, -0.0, 1e16, 1e300], "a": "x\n\u{1}\"\\ä" });
        assert_eq!(
            canonical(&value),
            "{\"a\":\"x\\n\\u0001\\\"\\\\ä\",\"b\":[1,1.0,100.5,0.0,10000000000000000,1e+300]}"
        );
    }

    #[test]
    fn canonical_text_is_the_same_json() {
        let value = json!({ "k": "tab\t\u{1f}\u{7f} é", "n": null, "t": [true, false, {}] });
        assert_eq!(serde_json::from_str::<Value>(&canonical(&value)).unwrap(), value);
    }
}
