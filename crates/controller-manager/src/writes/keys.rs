//! Pairs of SSH keys for the pods of a Job: Ed25519 (RFC 8709), the private one as OpenSSH writes it
//! (`PROTOCOL.key` of its sources).
//!
//! `ring`, which TLS brings, makes the pair. What it has no words for is the file of OpenSSH: some
//! lengths and names around the numbers, less than the crates that write it bring along.

use std::fmt::Write as _;

use k8s_openapi::ByteString;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

/// Name of the type of these keys.
const TYPE: &[u8] = b"ssh-ed25519";

/// First bytes of a private key that OpenSSH wrote.
const MAGIC: &[u8] = b"openssh-key-v1\0";

/// The private part is filled up to a multiple of this, the block of no cipher.
const BLOCK: usize = 8;

/// Characters in a line of a private key, as OpenSSH breaks them.
const LINE: usize = 70;

/// Puts a new pair of keys into the `data` of a Secret: the private key under `id_rsa` and
/// `id_ed25519`, the public one beside each and as `authorized_keys`. OpenSSH looks at what is in a
/// file, so images that name `id_rsa` go on working; others go by the name.
///
/// # Errors
/// The system gives no random numbers.
pub fn fill(secret: &mut Value) -> Result<(), String> {
    let mut random = [0; 36];
    let given = SystemRandom::new().fill(&mut random);
    given.map_err(|_| "the system gives no random numbers".to_owned())?;
    let [seed @ .., a, b, c, d] = random;
    let (private, public) = pair(&seed, [a, b, c, d])?;
    let texts = [
        ("id_rsa", &private),
        ("id_rsa.pub", &public),
        ("id_ed25519", &private),
        ("id_ed25519.pub", &public),
        ("authorized_keys", &public),
    ];
    for (name, text) in texts {
        secret["data"][name] = json!(ByteString(text.as_bytes().to_vec()));
    }
    Ok(())
}

/// The private and the public key of a seed (RFC 8032 §5.1.5), as files. The check number only tells
/// whoever decrypts a key whether the passphrase was right.
fn pair(seed: &[u8; 32], check: [u8; 4]) -> Result<(String, String), String> {
    let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|error| error.to_string())?;
    let key = pair.public_key().as_ref();
    let public = [field(TYPE), field(key)].concat();
    let mut private = [
        &check[..],
        &check,
        &public,
        &field(&[&seed[..], key].concat()),
        // No comment.
        &field(b""),
    ]
    .concat();
    for fill in (1..).take(private.len().next_multiple_of(BLOCK) - private.len()) {
        private.push(fill);
    }
    let file = [
        MAGIC,
        &field(b"none"),
        &field(b"none"),
        &field(b""),
        // One key.
        &1_u32.to_be_bytes(),
        &field(&public),
        &field(&private),
    ]
    .concat();
    let mut text = "-----BEGIN OPENSSH PRIVATE KEY-----\n".to_owned();
    let body = base64(file);
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(LINE));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
        rest = more;
    }
    text.push_str("-----END OPENSSH PRIVATE KEY-----\n");
    Ok((text, format!("ssh-ed25519 {}\n", base64(public))))
}

/// Bytes behind their length (RFC 4251 §5, `string`).
fn field(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes(), bytes].concat()
}

/// As Kubernetes encodes the values of a Secret.
fn base64(bytes: Vec<u8>) -> String {
    let text = json!(ByteString(bytes));
    text.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `ssh-keygen -t ed25519 -N '' -C ''` of OpenSSH 9.2 wrote; made for this test, it opens nothing.
    const OF_OPENSSH: &str = "\
-----BEGIN OPENSSH PRIVATE KEY-----
b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gtZW
QyNTUxOQAAACAlCZShx5AWiPMKRQrKqWGTZJRa2GsQBek7O0maf1mM2wAAAIglD93xJQ/d
8QAAAAtzc2gtZWQyNTUxOQAAACAlCZShx5AWiPMKRQrKqWGTZJRa2GsQBek7O0maf1mM2w
AAAEBKwsUO0Rr1X1K2Ik9DBlKaVeuBhB7ZXEidZr5a9VUt1iUJlKHHkBaI8wpFCsqpYZNk
lFrYaxAF6Ts7SZp/WYzbAAAAAAECAwQF
-----END OPENSSH PRIVATE KEY-----
";

    /// The seed in it.
    const SEED: [u8; 32] = [
        0x4a, 0xc2, 0xc5, 0x0e, 0xd1, 0x1a, 0xf5, 0x5f, 0x52, 0xb6, 0x22, 0x4f, 0x43, 0x06, 0x52,
        0x9a, 0x55, 0xeb, 0x81, 0x84, 0x1e, 0xd9, 0x5c, 0x48, 0x9d, 0x66, 0xbe, 0x5a, 0xf5, 0x55,
        0x2d, 0xd6,
    ];

    fn text(secret: &Value, key: &str) -> String {
        let bytes: ByteString = serde_json::from_value(secret["data"][key].clone()).expect(key);
        String::from_utf8(bytes.0).expect("text")
    }

    #[test]
    fn a_pair_is_byte_for_byte_what_ssh_keygen_writes() {
        let (private, public) = pair(&SEED, [0x25, 0x0f, 0xdd, 0xf1]).expect("a pair");
        assert_eq!(private, OF_OPENSSH);
        assert_eq!(
            public,
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICUJlKHHkBaI8wpFCsqpYZNklFrYaxAF6Ts7SZp/WYzb\n"
        );
    }

    #[test]
    fn a_secret_gets_a_pair_of_its_own_under_every_name_that_is_looked_for() {
        let [first, second] = [(); 2].map(|()| {
            let mut secret = json!({"data": {"config": "eA=="}});
            fill(&mut secret).expect("random numbers");
            secret
        });
        let private = text(&first, "id_rsa");
        assert_ne!(private, text(&second, "id_rsa"));
        assert_eq!(text(&first, "id_ed25519"), private);
        let public = text(&first, "authorized_keys");
        assert_ne!(public, text(&second, "authorized_keys"));
        assert_eq!(text(&first, "id_rsa.pub"), public);
        assert_eq!(text(&first, "id_ed25519.pub"), public);
        assert_eq!(first["data"]["config"], "eA==");
    }
}
