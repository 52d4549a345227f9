//! The links of all documents lead to files and headings that exist.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Component, Path, PathBuf};

fn root() -> PathBuf {
    normalized(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
}

/// A path without `.` and `..`. Symbolic links are not followed.
fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// All documents below a folder, except in build output and hidden folders.
fn documents(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository") {
        let entry = entry.expect("an entry of the folder");
        let (path, kind) = (entry.path(), entry.file_type().expect("the type of the entry"));
        let name = entry.file_name();
        if kind.is_dir() && name != "target" && !name.as_encoded_bytes().starts_with(b".") {
            documents(&path, found);
        } else if kind.is_file() && path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The lines of a document outside of code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut in_code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// The targets of the links in a line, outside of code spans.
fn targets(line: &str) -> Vec<String> {
    let text: String = line.split('`').step_by(2).collect();
    let after = text.split("](").skip(1);
    after.filter_map(|rest| Some(rest.split_once(')')?.0.to_string())).collect()
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let mut pieces = heading.split("](");
    let first = pieces.next().unwrap_or_default().to_string();
    let others = pieces.map(|piece| piece.split_once(')').map_or("", |(_, rest)| rest));
    let text = others.fold(first, |text, rest| text + rest).to_lowercase();
    let kept = text.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(text).filter_map(|(_, line)| {
        let heading = line.trim_start_matches('#');
        (heading.len() < line.len()).then(|| anchor(heading))
    });
    let numbered = headings.map(|anchor| {
        let count = seen.entry(anchor.clone()).or_default();
        *count += 1;
        if *count == 1 { anchor } else { format!("{anchor}-{}", *count - 1) }
    });
    numbered.collect()
}

/// Why a link of a document leads nowhere.
fn broken(document: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = match path {
        "" => document.to_path_buf(),
        _ => normalized(&document.parent().expect("a folder").join(path)),
    };
    if !file.is_file() {
        return Some(format!("`{path}` is not a file"));
    }
    if anchor.is_empty() || file.extension().is_none_or(|extension| extension != "md") {
        return None;
    }
    let text = fs::read_to_string(&file).expect("a document");
    (!anchors(&text).contains(anchor)).then(|| format!("`{path}` has no heading `#{anchor}`"))
}

#[test]
fn links_lead_to_files_and_headings() {
    let mut found = Vec::new();
    documents(&root(), &mut found);
    assert!(found.len() > 20, "only {} documents were found", found.len());
    let mut errors = Vec::new();
    for document in found {
        let text = fs::read_to_string(&document).expect("a document");
        let name = document.strip_prefix(root()).expect("below the root").display();
        for (number, line) in prose(&text) {
            // The summary's links start at the folder of the book, which links to the others.
            let base = match document.ends_with("book/src/SUMMARY.md") {
                true => root().join("SUMMARY.md"),
                false => document.clone(),
            };
            let reasons = targets(line).into_iter().filter_map(|target| broken(&base, &target));
            errors.extend(reasons.map(|reason| format!("{name}:{number}: {reason}")));
        }
    }
    assert!(errors.is_empty(), "{} broken links:\n{}", errors.len(), errors.join("\n"));
}

#[test]
fn the_book_has_every_document() {
    let summary = fs::read_to_string(root().join("book/src/SUMMARY.md")).expect("the summary");
    let chapters: BTreeSet<String> = prose(&summary).flat_map(|(_, line)| targets(line)).collect();
    let mut found = Vec::new();
    documents(&root(), &mut found);
    for document in found {
        let name = document.strip_prefix(root()).expect("below the root").display().to_string();
        let is_chapter = chapters.contains(&name) || name == "book/src/SUMMARY.md";
        assert!(is_chapter, "{name} is not in book/src/SUMMARY.md");
    }
    for chapter in &chapters {
        let file = root().join("book/src").join(chapter);
        assert!(file.is_file(), "book/src has no link to `{chapter}`");
    }
}

#[test]
fn anchors_are_those_of_headings() {
    assert_eq!(
        anchor("A design's `fiber.mount`: [one](ONE.md) more"),
        "a-designs-fibermount-one-more"
    );
    let text = "# Top\n```text\n# code\n```\n## Copies\n## Copies\n";
    let expected = ["copies", "copies-1", "top"].map(str::to_string);
    assert_eq!(anchors(text), BTreeSet::from(expected));
}
