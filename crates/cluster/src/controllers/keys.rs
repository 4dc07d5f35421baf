//! Pairs of SSH keys for the pods of a Job.

use k8s_openapi::ByteString;
use rsa::RsaPrivateKey;
use rsa::pkcs1::{EncodeRsaPrivateKey as _, LineEnding};
use rsa::rand_core::OsRng;
use rsa::traits::PublicKeyParts as _;
use serde_json::{Value, json};

/// Bits of a key, as in Volcano.
const BITS: usize = 2048;

/// Puts a new pair of keys into the `data` of a Secret: `id_rsa` in PEM (PKCS#1, which every ssh
/// reads), `id_rsa.pub` and `authorized_keys` in one line. Takes a good part of a second.
///
/// # Errors
/// The system gives no random numbers.
pub fn fill(secret: &mut Value) -> Result<(), String> {
    let key = RsaPrivateKey::new(&mut OsRng, BITS).map_err(|error| error.to_string())?;
    let private = key.to_pkcs1_pem(LineEnding::LF);
    let private = private.map_err(|error| error.to_string())?;
    let public = public_line(&key.n().to_bytes_be(), &key.e().to_bytes_be());
    let texts = [
        ("id_rsa", private.as_bytes()),
        ("id_rsa.pub", public.as_bytes()),
        ("authorized_keys", public.as_bytes()),
    ];
    for (name, text) in texts {
        secret["data"][name] = json!(ByteString(text.to_vec()));
    }
    Ok(())
}

/// A public key as `authorized_keys` has it (RFC 4253 §6.6): type, exponent, modulus.
fn public_line(modulus: &[u8], exponent: &[u8]) -> String {
    let mut blob = Vec::new();
    put(&mut blob, b"ssh-rsa");
    put_number(&mut blob, exponent);
    put_number(&mut blob, modulus);
    // The only thing that is encoded as base64 here is what Kubernetes encodes so.
    let text = json!(ByteString(blob));
    format!("ssh-rsa {}\n", text.as_str().unwrap_or_default())
}

fn put(blob: &mut Vec<u8>, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    blob.extend(length.to_be_bytes());
    blob.extend(bytes);
}

/// A positive number: a first bit that is set would make it negative.
fn put_number(blob: &mut Vec<u8>, bytes: &[u8]) {
    match bytes.first() {
        Some(first) if first & 0x80 != 0 => put(blob, &[&[0], bytes].concat()),
        _ => put(blob, bytes),
    }
}

#[cfg(test)]
mod tests {
    use rsa::pkcs1::DecodeRsaPrivateKey as _;

    use super::*;

    fn text(secret: &Value, key: &str) -> String {
        let bytes: ByteString = serde_json::from_value(secret["data"][key].clone()).expect(key);
        String::from_utf8(bytes.0).expect("text")
    }

    #[test]
    fn a_secret_gets_a_private_key_and_the_public_one_that_belongs_to_it() {
        let mut secret = json!({"data": {"config": "eA=="}});
        fill(&mut secret).expect("random numbers");
        let private = text(&secret, "id_rsa");
        assert!(
            private.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"),
            "{private}"
        );
        let key = RsaPrivateKey::from_pkcs1_pem(&private).expect("readable");
        assert_eq!(key.size() * 8, BITS);
        let expected = public_line(&key.n().to_bytes_be(), &key.e().to_bytes_be());
        assert_eq!(text(&secret, "id_rsa.pub"), expected);
        assert_eq!(text(&secret, "authorized_keys"), expected);
        assert!(
            expected.starts_with("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ"),
            "{expected}"
        );
        assert_eq!(secret["data"]["config"], "eA==");
    }
}
