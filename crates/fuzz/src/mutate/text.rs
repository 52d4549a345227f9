//! Mutates text.

use super::corpus;
use super::token;
use arbitrary::{Result, Unstructured};
use std::sync::LazyLock;

/// Mutates a text in a few places.
pub fn changed(mut text: String, u: &mut Unstructured<'_>) -> Result<String> {
    for _ in 0..u.int_in_range(1..=5)? {
        if text.len() > LONGEST {
            break;
        }
        text = match u.int_in_range(0..=15)? {
            0..6 => change_token(&text, u)?,
            6..11 => change_form(&text, u)?,
            11 | 12 => change_character(&text, u)?,
            13 => nest(&text, u)?,
            14 => lengthen(&text, u)?,
            _ => text + "\n" + corpus::module(u)?,
        };
    }
    Ok(text)
}

/// Longer texts are not mutated further.
const LONGEST: usize = 300_000;

/// Words at a limit, or of another design.
static WORDS: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let words = "0 | -1 | 4294967295 | 4294967296 | 18446744073709551615 | 0x1p1024 | nan:0x0 | inf | \
        0x_1 | \"\" | \"\\ff\\u{110000}\" | $ | $\"a b\" | $x | ( | ) | (; | ;) | ;; | \
        (@custom \"a\") | i32 | i64 | v128 | funcref | exnref | contref | stackref | fiberref | \
        (ref null stack) | (ref null fiber) | (ref null $t) | param | result | local | type | \
        func | cont | task | stack | event | rout | call_tag | rec | sub | final | mut | tag | \
        on | switch | try | catch | catch_all_ref | block | loop | if | then | else | end | \
        answer | stack.redirect | stack.redirect_to | then | call_stack | stack.start | \
        stack.extend | stack.switch_call | stack.new | stack.bind | return_switch | \
        switch_throw | task.new | task.switchto | fiber.new | fiber.mount_new | \
        fiber.switch_new | local.get_clear | local.set_cleared | table.get_clear | drop | \
        unreachable | select | call_ref | br_table | import | export | quote | binary | \
        definition | assert_return | assert_trap | assert_malformed | invoke | either | \
        ref.null | i32.const | v128.const | i8x16 | \u{202e} | \u{7f} | é";
    words.split(" | ").collect()
});

fn change_token(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let tokens = token::tokens(text);
    if tokens.is_empty() {
        return Ok(u.choose(&WORDS)?.to_string());
    }
    let range = u.choose(&tokens)?.clone();
    let token = &text[range.clone()];
    let new = match u.int_in_range(0..=4)? {
        0 => String::new(),
        1 => format!("{token} {token}"),
        2 => text[u.choose(&tokens)?.clone()].to_string(),
        3 => format!("{token} {}", u.choose(&WORDS)?),
        _ => u.choose(&WORDS)?.to_string(),
    };
    Ok(format!("{}{new}{}", &text[..range.start], &text[range.end..]))
}

fn change_form(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let forms = token::nested(text);
    if forms.is_empty() {
        return Ok(text.to_string());
    }
    let (_, range) = u.choose(&forms)?.clone();
    let form = &text[range.clone()];
    let new = match u.int_in_range(0..=4)? {
        0 => String::new(),
        1 => format!("{form} {form}"),
        2 => text[u.choose(&forms)?.1.clone()].to_string(),
        // Replaces a form by its contents.
        3 => form.trim_start_matches('(').trim_end_matches(')').to_string(),
        _ => {
            let other = corpus::module(u)?;
            let forms = token::nested(other);
            other[u.choose(&forms)?.1.clone()].to_string()
        }
    };
    Ok(format!("{}{new}{}", &text[..range.start], &text[range.end..]))
}

fn change_character(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if places.is_empty() {
        return Ok(text.to_string());
    }
    let at = *u.choose(&places)?;
    let new: char = match u.int_in_range(0..=2)? {
        0 => u.arbitrary()?,
        1 => u.int_in_range(b' '..=b'~')?.into(),
        _ => {
            return Ok(format!(
                "{}{}",
                &text[..at],
                text[at..].chars().skip(1).collect::<String>()
            ));
        }
    };
    Ok(format!("{}{new}{}", &text[..at], &text[at..]))
}

/// Opens many forms in one place, and may close them.
fn nest(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let opening = *u.choose(&[
        "(block ",
        "(if (i32.const 0) (then ",
        "(i32.eqz ",
        "(",
        "(rec ",
        "(try ",
        "(answer $x ",
        "block ",
        "(ref null ",
        "(; ",
        "(stack.redirect $x ",
        "(module ",
    ])?;
    let count = *u.choose(&[3, 50, 900, 20_000])?;
    let forms = token::nested(text);
    let range = match forms.is_empty() {
        true => 0..text.len(),
        false => u.choose(&forms)?.1.clone(),
    };
    let closing = match u.int_in_range(0..=3)? {
        0 => String::new(),
        _ => ")".repeat(opening.matches('(').count() - opening.matches(')').count()),
    };
    let (before, form, after) = (&text[..range.start], &text[range.clone()], &text[range.end..]);
    let (opening, closing) = (opening.repeat(count), closing.repeat(count));
    Ok(format!("{before}{opening}{form}{closing}{after}"))
}

/// Lengthens a token, or repeats a form.
fn lengthen(text: &str, u: &mut Unstructured<'_>) -> Result<String> {
    let count = *u.choose(&[40, 1000, 20_000])?;
    let tokens = token::tokens(text);
    if tokens.is_empty() {
        return Ok(text.to_string());
    }
    let range = u.choose(&tokens)?.clone();
    let token = &text[range.clone()];
    let most = (LONGEST / (token.len() + 1)).max(1);
    let separator = *u.choose(&["", " ", "\n"])?;
    let new = vec![token; count.min(most)].join(separator);
    Ok(format!("{}{new}{}", &text[..range.start], &text[range.end..]))
}
