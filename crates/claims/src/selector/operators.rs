//! How deep an expression may be at most, from its text: what parses it, bounds its steps and evaluates it goes
//! as deep on the stack as there are operators within each other.

/// How many operators, selections and brackets a text has outside of its strings and comments, by the lexical
/// rules of CEL; at least as many where it breaks them.
pub fn count(text: &str) -> usize {
    let (mut rest, mut count) = (text, 0);
    while let Some(c) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
            continue;
        }
        let word = rest.find(|c: char| !is_of_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(word);
        if after.starts_with(['"', '\'']) && is_prefix(word) {
            match string(after, word.contains(['r', 'R'])) {
                Some(end) => rest = &after[end..],
                // From here on nobody knows what is a string.
                None => return count + all(after),
            }
        } else if !word.is_empty() {
            count += usize::from(word == "in");
            rest = after;
        } else if c == '`' {
            let name = rest[1..].find(|c: char| !is_of_word(c) && !"./- ".contains(c));
            match name.filter(|end| rest[1 + end..].starts_with('`')) {
                Some(end) => rest = &rest[2 + end..],
                None => return count + all(rest),
            }
        } else {
            count += usize::from(is_operator(c));
            rest = &rest[c.len_utf8()..];
        }
    }
    count
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_operator(c: char) -> bool {
    "([{+-*/%!?.&|<>=".contains(c)
}

/// What may stand before the quotes of a string.
fn is_prefix(word: &str) -> bool {
    matches!(word, "" | "r" | "R" | "b" | "B" | "br" | "bR" | "Br" | "BR")
}

/// Operators of a text in which there are no strings.
fn all(text: &str) -> usize {
    let words = text.split(|c: char| !is_of_word(c));
    let words = words.filter(|word| *word == "in").count();
    words + text.chars().filter(|c| is_operator(*c)).count()
}

/// Where a string ends that begins with its quotes; `None` if it is none.
fn string(text: &str, raw: bool) -> Option<usize> {
    let quote = &text[..1];
    let triple = quote.repeat(3);
    let is_long = text.starts_with(&triple);
    let end = if is_long { triple.as_str() } else { quote };
    let mut at = end.len();
    loop {
        let rest = &text[at..];
        if rest.starts_with(end) {
            return Some(at + end.len());
        }
        at += match rest.chars().next()? {
            '\\' if !raw => escape(&rest[1..])? + 1,
            '\n' | '\r' if !is_long => return None,
            c => c.len_utf8(),
        };
    }
}

/// How long an escape is, after its backslash; `None` if it is none.
fn escape(text: &str) -> Option<usize> {
    let digits = |number: usize, is_digit: fn(&char) -> bool| {
        let found = text.chars().skip(1).take(number).filter(is_digit).count();
        (found == number).then_some(1 + number)
    };
    match text.chars().next()? {
        'a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '`' | '\\' | '?' => Some(1),
        'x' | 'X' => digits(2, char::is_ascii_hexdigit),
        'u' => digits(4, char::is_ascii_hexdigit),
        'U' => digits(8, char::is_ascii_hexdigit),
        '0'..='3' => digits(2, |c| ('0'..='7').contains(c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn operators_are_counted_outside_of_strings_and_comments() {
        for (text, expected) in [
            ("a.b.c", 2),
            ("'a.b' + \"c.d\"", 1),
            (r"'a\'.b' + 'c'", 1),
            (r"r'\' + 'c.d'", 1),
            (r#"R"\" + b'.' + br'\'"#, 2),
            ("'''a'.\n''' + '.'", 1),
            (r#"r"""\"""" + 'a.b'"#, 2),
            ("// '\na.b.c", 2),
            ("'//' + a.b", 2),
            ("a in b in ['in']", 3),
            ("inn.`a//b`.c", 2),
            // What is none of these hides nothing.
            ("'\na.b.c'", 2),
            (r"'\q' + 'a.b.c'", 3),
            ("`'` + 'a.b'", 2),
            ("'", 0),
            ("", 0),
        ] {
            assert_eq!(count(text), expected, "{text}");
        }
    }
}
