//! Whether what changes of a page is another than what is looked at.

/// By which a part is known to be what somebody looks at already: `seen` in the query of the address of what changes,
/// in hexadecimal digits (FNV-1a).
pub fn fingerprint(part: &str) -> u64 {
    part.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The fingerprint that a query names.
pub fn seen(query: &str) -> Option<u64> {
    let seen = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("seen="))?;
    u64::from_str_radix(seen, 16).ok()
}
