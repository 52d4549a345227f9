//! Templates of sources that scale with counts.
//!
//! `[...]` repeats a part `n` times. `[x:...]` repeats it as often as the count `x`, a number, or
//! the index `#` says; with `|` for `:`, all are in one line. `#` is the index of the repetition,
//! and `@` that of the repetition around it. Operations may follow, from left to right: `#+1%n` is
//! the next index, modulo `n`, and `#~n` counts from the end. An operand is a number, a count, `#` or `@`.

/// Counts by their letters.
pub type Counts<'a> = &'a [(char, usize)];

/// The source of a template.
pub fn expand(template: &str, counts: Counts) -> String {
    let mut source = String::new();
    repeat(template, counts, &mut Vec::new(), &mut source);
    source
}

fn count(name: &str, counts: Counts) -> usize {
    let found = counts.iter().find(|(letter, _)| name.chars().eq([*letter]));
    found.map_or_else(|| name.parse().expect(name), |(_, count)| *count)
}

fn repeat(mut rest: &str, counts: Counts, indices: &mut Vec<usize>, source: &mut String) {
    while let Some(at) = rest.find(['[', '#', '@']) {
        let (before, sign, after) = (&rest[..at], &rest[at..=at], &rest[at + 1..]);
        source.push_str(before);
        if sign != "[" {
            rest = number(indices, sign, after, counts, source);
            continue;
        }
        let mut depth = 1;
        let end = after.find(|c| {
            depth += i32::from(c == '[') - i32::from(c == ']');
            depth == 0
        });
        let part = &after[..end.expect("a closing bracket")];
        rest = &after[part.len() + 1..];
        let [name, separator, body] = match part.as_bytes() {
            [b'#', b':' | b'|', ..] | [_, b':' | b'|', ..] => [&part[..1], &part[1..2], &part[2..]],
            [_, _, b':' | b'|', ..] => [&part[..2], &part[2..3], &part[3..]],
            _ => ["n", ":", part],
        };
        let times = match name {
            "#" => *indices.last().expect("an index"),
            _ => count(name, counts),
        };
        for index in 0..times {
            indices.push(index);
            repeat(body, counts, indices, source);
            indices.pop();
            source.push_str(if separator == "|" { " " } else { "\n" });
        }
    }
    source.push_str(rest);
}

/// Writes an index after its operations. Returns the rest of the template.
fn number<'t>(
    indices: &[usize],
    sign: &str,
    mut rest: &'t str,
    counts: Counts,
    source: &mut String,
) -> &'t str {
    let outer = || indices[indices.len() - 2];
    let mut value = if sign == "#" { indices[indices.len() - 1] } else { outer() };
    while let Some(operation) = rest.chars().next().filter(|c| "+*%~".contains(*c)) {
        let operands = &rest[1..];
        let digits = operands.find(|c: char| !c.is_ascii_digit()).unwrap_or(operands.len());
        let (operand, after) = operands.split_at(digits.max(1));
        let operand = match operand {
            "#" => indices[indices.len() - 1],
            "@" => outer(),
            _ => count(operand, counts),
        };
        value = match operation {
            '+' => value + operand,
            '*' => value * operand,
            '%' => value % operand.max(1),
            _ => operand - 1 - value,
        };
        rest = after;
    }
    source.push_str(&value.to_string());
    rest
}

/// The names and templates of a table. A row is `name: template`, and further lines of it are
/// indented. After a row `===: template`, `$$` in that template stands for those of the next rows.
pub fn rows(table: &str) -> Vec<(String, String)> {
    let mut around = String::from("$$");
    let mut rows = Vec::new();
    for row in table.replace("\n ", "\r").lines().filter(|row| !row.is_empty()) {
        let (name, template) = row.split_once(':').expect(row);
        let template = template.replace('\r', "\n");
        match name {
            "===" => around = template,
            _ => rows.push((name.to_owned(), around.replace("$$", &template))),
        }
    }
    rows
}
