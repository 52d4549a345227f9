//! Fetches and calls toolchains.
//!
//! Each toolchain is fetched by the client of its registry, in the version given here, into its
//! own folder below `target/programs/tools`. The folder gets its final name when it is complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::progress::Progress;

const WASMTIME: &str = "48.0.0";
const ZIG: &str = "0.17.0";
const BINARYEN: &str = "132.0.0";

/// The dependencies of the Kotlin compiler with other version numbers.
const KOTLIN_NEEDS: [&str; 2] = [
    "org.jetbrains.kotlin:kotlin-reflect:1.6.10",
    "org.jetbrains.kotlinx:kotlinx-coroutines-core-jvm:1.8.0",
];

/// The parts of the Kotlin compiler.
const KOTLIN_PARTS: [&str; 4] = [
    "kotlin-compiler-embeddable",
    "kotlin-daemon-embeddable",
    "kotlin-script-runtime",
    "kotlin-stdlib",
];

/// The folders in which toolchains are fetched and programs are built.
pub(crate) struct Toolchains<'a> {
    /// `target/programs`
    root: PathBuf,
    /// The folder of this package.
    sources: PathBuf,
    progress: &'a Progress,
}

impl<'a> Toolchains<'a> {
    pub(crate) fn new(progress: &'a Progress) -> Result<Toolchains<'a>> {
        let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        // The command is in `target/PROFILE/`.
        let command = std::env::current_exe()?;
        let target =
            command.ancestors().nth(2).context("this command is not in a target folder")?;
        Ok(Toolchains { root: target.join("programs"), sources, progress })
    }

    /// A folder below `target/programs`, which is created if necessary.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.root.join(name);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A file of this package.
    pub(crate) fn source(&self, path: &str) -> PathBuf {
        self.sources.join(path)
    }

    /// The binary of a program.
    pub(crate) fn product(&self, name: &str) -> Result<PathBuf> {
        Ok(self.folder("built")?.join(name))
    }

    /// Fetches a tool unless it exists.
    fn fetch(&self, name: &str, get: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let tools = self.folder("tools")?;
        let folder = tools.join(name);
        if folder.exists() {
            return Ok(folder);
        }
        self.progress.say(name, "fetching");
        let unfinished = tools.join(format!("{name}.unfinished"));
        if unfinished.exists() {
            fs::remove_dir_all(&unfinished)?;
        }
        fs::create_dir(&unfinished)?;
        get(&unfinished).with_context(|| format!("{name} cannot be had"))?;
        fs::rename(&unfinished, &folder)?;
        Ok(folder)
    }

    /// A package of PyPI, unpacked.
    pub(crate) fn python_package(&self, name: &str, version: &str) -> Result<PathBuf> {
        self.fetch(&format!("{name}-{version}"), |folder| {
            let mut pip = Command::new("python3");
            pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]).arg(folder);
            call(pip.arg(format!("{name}=={version}")))
        })
    }

    /// The sources of a crate.
    pub(crate) fn crate_sources(&self, name: &str, version: &str) -> Result<PathBuf> {
        let folder = self.fetch(&format!("{name}-{version}"), |folder| {
            let manifest = format!(
                "[package]\nname = \"sources\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
                 [dependencies]\n{name} = \"={version}\"\n[workspace]\n"
            );
            fs::write(folder.join("Cargo.toml"), manifest)?;
            fs::write(folder.join("lib.rs"), "")?;
            let mut cargo = Command::new("cargo");
            cargo.args(["vendor", "--quiet", "vendor"]).current_dir(folder);
            call(&mut cargo)
        })?;
        Ok(folder.join("vendor").join(name))
    }

    /// A command of Binaryen, such as `wasm-opt`.
    pub(crate) fn binaryen(&self, tool: &str) -> Result<Command> {
        let folder = self.fetch(&format!("binaryen-{BINARYEN}"), |folder| {
            let mut npm = Command::new("npm");
            npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(folder);
            call(npm.arg(format!("binaryen@{BINARYEN}")))
        })?;
        Ok(Command::new(folder.join("node_modules/.bin").join(tool)))
    }

    /// A folder with artifacts of Maven Central, each with its kind unless it is `jar`.
    fn artifacts(&self, name: &str, artifacts: &[String]) -> Result<PathBuf> {
        self.fetch(name, |folder| {
            for artifact in artifacts {
                let mut mvn = Command::new("mvn");
                mvn.args([
                    "-q",
                    "-B",
                    "-Dstyle.color=never",
                    "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy",
                ]);
                mvn.arg(format!("-Dartifact={artifact}"));
                mvn.arg(format!("-DoutputDirectory={}", folder.display())).current_dir(folder);
                call(&mut mvn)?;
            }
            Ok(())
        })
    }

    /// The script that runs Wasmtime, and the folder of its package.
    pub(crate) fn wasmtime(&self) -> Result<[PathBuf; 2]> {
        let package = self.python_package("wasmtime", WASMTIME)?;
        Ok([self.source("src/wasmtime.py"), package])
    }

    /// A C compiler for WASI.
    pub(crate) fn c_compiler(&self) -> Result<Command> {
        let package = self.python_package("ziglang", ZIG)?;
        let mut zig = Command::new(package.join("ziglang/zig"));
        zig.args(["cc", "-target", "wasm32-wasi", "-O2", "-w"]);
        zig.env("ZIG_GLOBAL_CACHE_DIR", self.folder("cache/zig")?);
        zig.env("ZIG_LOCAL_CACHE_DIR", self.folder("cache/zig")?);
        Ok(zig)
    }

    /// Builds a Go program from one file.
    pub(crate) fn go(&self, source: &Path, product: &Path) -> Result<()> {
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(product).arg(source);
        go.env("GOOS", "wasip1").env("GOARCH", "wasm");
        call(go.env("GOCACHE", self.folder("cache/go")?))
    }

    /// A version of Kotlin: the compiler, and the standard library for WASI.
    fn kotlin_parts(&self, version: &str) -> Result<PathBuf> {
        let own = |part: &str| format!("org.jetbrains.kotlin:{part}:{version}");
        let mut artifacts = vec![own("kotlin-stdlib-wasm-wasi") + ":klib"];
        artifacts.extend(KOTLIN_PARTS.map(own));
        artifacts.extend(KOTLIN_NEEDS.map(str::to_owned));
        self.artifacts(&format!("kotlin-{version}"), &artifacts)
    }

    /// Builds a Kotlin program from one file: first a library, then the binary.
    pub(crate) fn kotlin(
        &self,
        version: &str,
        source: &Path,
        product: &Path,
        options: &[&str],
    ) -> Result<()> {
        let folder = self.kotlin_parts(version)?;
        let library = folder.join(format!("kotlin-stdlib-wasm-wasi-{version}.klib"));
        let stem = product.file_stem().context("a product without a name")?;
        let out = product.with_extension("kotlin");
        let compiler = || {
            let mut java = Command::new("java");
            java.arg("-cp").arg(format!("{}/*", folder.display()));
            java.arg("org.jetbrains.kotlin.cli.js.KotlinWasmCompiler");
            java.args(["-Xwasm-target=wasm-wasi", "-libraries"]).arg(&library);
            java.arg("-ir-output-dir").arg(&out).arg("-ir-output-name").arg(stem);
            java
        };
        call(compiler().arg("-Xir-produce-klib-file").arg(source))?;
        let mut klib = "-Xinclude=".to_owned();
        klib.push_str(&out.join(stem).with_extension("klib").to_string_lossy());
        call(compiler().arg("-Xir-produce-js").arg(klib).args(options))?;
        fs::copy(out.join(stem).with_extension("wasm"), product)?;
        Ok(())
    }
}

/// Whether a file exists and is newer than its sources.
pub(crate) fn is_fresh(product: &Path, sources: &[PathBuf]) -> bool {
    let changed = |path: &Path| -> Option<SystemTime> { fs::metadata(path).ok()?.modified().ok() };
    let Some(built) = changed(product) else { return false };
    sources.iter().all(|source| changed(source).is_some_and(|changed| changed < built))
}

/// Runs a tool. If it fails, its output is the error.
pub(crate) fn call(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("`{program}` is missing"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    bail!("`{program}` failed: {}", lines[..lines.len().min(2)].join(" / "));
}
