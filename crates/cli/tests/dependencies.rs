//! Sources and licenses of dependencies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The allowed licenses. If a dependency has alternatives, one of them must be allowed.
const LICENSES: [&str; 9] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSL-1.0",
    "CC0-1.0",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Zlib",
];

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The packages of the lock file: names, versions, and sources except for workspace members.
fn locked() -> Vec<(String, String, Option<String>)> {
    let text = fs::read_to_string(workspace().join("Cargo.lock")).expect("the lock file");
    let packages = text.split("[[package]]").skip(1);
    let value = |package: &str, key: &str| {
        let line = package.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
        line.map(|rest| rest.trim_end_matches('"').to_string())
    };
    let package = |package: &str| {
        let [name, version] = ["name", "version"].map(|key| value(package, key).expect("a value"));
        (name, version, value(package, "source"))
    };
    packages.map(package).collect()
}

/// The folders with the sources of packages that Cargo has downloaded.
fn downloaded() -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo"))).expect("a home");
    let registries = fs::read_dir(home.join("registry/src")).into_iter().flatten();
    registries.map(|registry| registry.expect("a folder").path()).collect()
}

fn is_allowed(license: &str) -> bool {
    let license = license.replace(['(', ')'], "");
    license.split(" AND ").all(|part| {
        let part = part.replace(" / ", " OR ").replace('/', " OR ");
        part.split(" OR ").any(|one| LICENSES.contains(&one.trim()))
    })
}

#[test]
fn dependencies_come_from_the_registry() {
    let others = locked()
        .into_iter()
        .filter(|(_, _, source)| source.as_ref().is_some_and(|source| source != REGISTRY));
    assert_eq!(others.collect::<Vec<_>>(), []);
}

#[test]
fn dependencies_have_allowed_licenses() {
    let registries = downloaded();
    let mut found = BTreeMap::new();
    for (name, version, source) in locked() {
        let package = format!("{name}-{version}");
        let manifests = registries.iter().map(|path| path.join(&package).join("Cargo.toml"));
        // Packages for other platforms may not have been downloaded.
        let Some(text) = manifests.into_iter().find_map(|path| fs::read_to_string(path).ok())
        else {
            continue;
        };
        let license = text.lines().find_map(|line| line.strip_prefix("license = \""));
        let license = license.map_or("", |rest| rest.trim_end_matches('"')).to_string();
        assert!(source.is_some(), "{package} is a workspace member");
        found.insert(package, license);
    }
    assert!(found.len() > 50, "only {} packages were found", found.len());
    found.retain(|_, license| !is_allowed(license));
    assert!(found.is_empty(), "packages with other licenses: {found:?}");
}

#[test]
fn one_alternative_and_all_parts_of_a_license_must_be_allowed() {
    for license in ["MIT OR GPL-3.0", "GPL-2.0/MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert!(is_allowed(license), "{license}");
    }
    for license in ["GPL-3.0", "", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND Other"] {
        assert!(!is_allowed(license), "{license}");
    }
}
