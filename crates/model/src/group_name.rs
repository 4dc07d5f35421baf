//! Names of PodGroups: controllers call that of a Job by its name, a dash and its UID.

/// The name without the UID that a controller put behind it, if it did.
pub fn without_uid(name: &str) -> &str {
    let lengths = [12, 4, 4, 4, 8];
    let mut rest = name;
    for length in lengths {
        match rest.rsplit_once('-') {
            Some((before, part)) if part.len() == length && is_hexadecimal(part) => rest = before,
            _ => return name,
        }
    }
    rest
}

fn is_hexadecimal(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::without_uid;

    #[test]
    fn what_is_no_uid_in_its_usual_form_is_part_of_the_name() {
        for (name, expected) in [
            ("train-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f", "train"),
            ("a-7-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f", "a-7"),
            (
                "train-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5",
                "train-0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5",
            ),
            (
                "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f",
                "0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f",
            ),
            ("train-7", "train-7"),
            ("", ""),
        ] {
            assert_eq!(without_uid(name), expected);
        }
    }
}
