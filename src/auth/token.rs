//! The token: a JWT signed by HS256, as Chainlit and whoever has its secret makes it (chat-wire 6.2).

use std::time::Duration;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::AuthError;
use crate::config::Secret;
use crate::protocol::{Timestamp, User};

/// What signs and checks tokens.
pub(super) struct Keys {
    sign: EncodingKey,
    check: DecodingKey,
    rules: Validation,
}

/// What a token says. Whatever else it says is left alone.
#[derive(Deserialize)]
struct Claims {
    identifier: String,
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default, deserialize_with = "object")]
    metadata: Map<String, Value>,
    exp: f64,
    #[serde(default)]
    nbf: Option<f64>,
}

/// Null, and whatever is no object, is an empty one: a page breaks without an object.
fn object<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Object(object) => object,
        _ => Map::new(),
    })
}

impl Keys {
    pub(super) fn new(secret: &Secret) -> Self {
        let mut rules = Validation::new(Algorithm::HS256);
        // Times are held against the server's clock, below; whom a token is for says nothing here.
        rules.validate_exp = false;
        rules.validate_aud = false;
        rules.required_spec_claims.clear();
        Self {
            sign: EncodingKey::from_secret(secret.expose().as_bytes()),
            check: DecodingKey::from_secret(secret.expose().as_bytes()),
            rules,
        }
    }

    /// A token for `user` that is good for `lifetime`.
    pub(super) fn sign(&self, user: &User, now: Timestamp, lifetime: Duration) -> String {
        let seconds = |time: Timestamp| time.as_micros() / 1_000_000;
        let claims = serde_json::json!({
            "identifier": user.identifier,
            "display_name": user.display_name,
            "metadata": user.metadata,
            "exp": seconds(now + lifetime),
            "iat": seconds(now),
        });
        // HS256 with a key in memory, over JSON that was JSON before, cannot fail; an empty token signs nobody in.
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.sign).unwrap_or_default()
    }

    /// Whom a token names.
    pub(super) fn verify(&self, token: &str, now: Timestamp) -> Result<User, AuthError> {
        let claims = jsonwebtoken::decode::<Claims>(token, &self.check, &self.rules);
        let claims = claims.map_err(|_| AuthError::Invalid)?.claims;
        #[expect(clippy::cast_precision_loss, reason = "exact until the year 2255")]
        let now = now.as_micros() as f64 / 1e6;
        if claims.exp <= now {
            return Err(AuthError::Expired);
        }
        if claims.identifier.is_empty() || claims.nbf.is_some_and(|nbf| nbf > now) {
            return Err(AuthError::Invalid);
        }
        let Claims { identifier, display_name, metadata, .. } = claims;
        Ok(User { display_name, metadata, ..User::new(identifier) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn keys() -> Keys {
        Keys::new(&Secret::from("secret"))
    }

    fn token(header: &Header, claims: &Value, secret: &str) -> String {
        jsonwebtoken::encode(header, claims, &EncodingKey::from_secret(secret.as_bytes())).unwrap()
    }

    #[test]
    fn a_token_names_whom_it_was_made_for_until_it_expires() {
        let user = User { display_name: Some("Ada L.".to_owned()), ..User::new("ada").with("role", "user") };
        let token = keys().sign(&user, NOW, Duration::from_secs(60));
        assert_eq!(keys().verify(&token, NOW).unwrap(), user);
        assert_eq!(keys().verify(&token, NOW + Duration::from_secs(59)).unwrap(), user);
        assert_eq!(keys().verify(&token, NOW + Duration::from_secs(60)), Err(AuthError::Expired));
    }

    #[test]
    fn a_token_made_elsewhere_is_taken() {
        for claims in [
            json!({"identifier": "ada", "exp": 1_700_000_060}),
            json!({"identifier": "ada", "exp": 1_700_000_060.5, "aud": "x", "iss": "y", "metadata": null}),
            json!({"identifier": "ada", "exp": 1_700_000_060, "metadata": "no object", "custom": [1]}),
        ] {
            let user = keys().verify(&token(&Header::default(), &claims, "secret"), NOW).unwrap();
            assert_eq!(user, User::new("ada"), "{claims}");
        }
    }

    #[test]
    fn other_tokens_are_refused() {
        let good = json!({"identifier": "ada", "exp": 1_800_000_000});
        let later = json!({"identifier": "ada", "exp": 1_800_000_000, "nbf": 1_790_000_000});
        let hs256 = Header::default();
        for (token, why) in [
            (token(&hs256, &good, "other"), "another secret"),
            (token(&Header::new(Algorithm::HS512), &good, "secret"), "another algorithm"),
            (token(&hs256, &json!({"identifier": "ada"}), "secret"), "no exp"),
            (token(&hs256, &json!({"exp": 1_800_000_000}), "secret"), "no identifier"),
            (token(&hs256, &json!({"identifier": "", "exp": 1_800_000_000}), "secret"), "nobody"),
            (token(&hs256, &later, "secret"), "not yet"),
            ("eyJhbGciOiJub25lIn0.eyJpZGVudGlmaWVyIjoiYWRhIiwiZXhwIjoxODAwMDAwMDAwfQ.".to_owned(), "not signed"),
            (String::new(), "nothing"),
            ("a.b.c".to_owned(), "no token"),
        ] {
            assert_eq!(keys().verify(&token, NOW), Err(AuthError::Invalid), "{why}");
        }
    }
}
