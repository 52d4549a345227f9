//! Drives a headless browser by the WebDriver protocol: HTTP with JSON, on this machine.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

const OPTIONS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,900",
];

/// A browser that shows one page. Dropping it ends the browser.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    // Removed after the browser has ended.
    _profile: TempDir,
    pages: TempDir,
}

impl Browser {
    /// Starts the browser, or returns `None` if this machine has none. Continuous integration on
    /// Debian must have one, since `.ci/run` installs it.
    pub fn start() -> Option<Browser> {
        if !is_installed("chromium") || !is_installed("chromedriver") {
            let message = "chromium and chromium-driver are not installed: pages are not tested";
            let must = std::env::var("CI").as_deref() == Ok("true") && is_installed("apt-get");
            assert!(!must, "{message}");
            eprintln!("{message}");
            return None;
        }
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = command.spawn().unwrap();
        let port = port(&mut driver);
        let (profile, pages) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let mut options: Vec<String> = OPTIONS.map(String::from).to_vec();
        options.push(format!("--user-data-dir={}", profile.path().display()));
        let mut browser =
            Browser { driver, port, session: String::new(), _profile: profile, pages };
        let answer = browser.request(
            "POST",
            "/session",
            &json!({ "capabilities": { "alwaysMatch": {
                "browserName": "chrome",
                "goog:loggingPrefs": { "browser": "ALL" },
                "goog:chromeOptions": { "args": options },
            }}}),
        );
        browser.session = answer["sessionId"].as_str().expect("a session begins").to_owned();
        Some(browser)
    }

    /// Opens a page, and waits for its scripts to read the trace.
    pub fn open(&mut self, page: &str) {
        let path = self.pages.path().join("page.html");
        std::fs::write(&path, page).unwrap();
        self.post("/url", json!({ "url": format!("file://{}", path.display()) }));
        let ready = "return document.documentElement.dataset.ready ?? null";
        self.wait_for(|browser| !browser.run(ready).is_null());
    }

    /// Waits up to a minute until `holds` returns true.
    pub fn wait_for(&mut self, holds: impl Fn(&mut Browser) -> bool) {
        let begin = Instant::now();
        while !holds(self) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", self.complaints());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Runs a script in the page, and returns its result.
    pub fn run(&mut self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] }))
    }

    /// The text of an element.
    pub fn text(&mut self, selector: &str) -> String {
        let script = format!("return document.querySelector({}).innerText", json!(selector));
        self.run(&script).as_str().unwrap().to_owned()
    }

    /// Presses and releases keys.
    pub fn keys(&mut self, keys: &str) {
        let press = |key: char| {
            let value = key.to_string();
            [
                json!({ "type": "keyDown", "value": value }),
                json!({ "type": "keyUp", "value": value }),
            ]
        };
        let actions: Vec<Value> = keys.chars().flat_map(press).collect();
        self.act(json!({ "type": "key", "id": "keyboard", "actions": actions }));
    }

    /// Clicks at a point of the window.
    pub fn click(&mut self, x: f64, y: f64) {
        self.act(json!({
            "type": "pointer",
            "id": "mouse",
            "parameters": { "pointerType": "mouse" },
            "actions": [
                { "type": "pointerMove", "x": x.round() as i64, "y": y.round() as i64 },
                { "type": "pointerDown", "button": 0 },
                { "type": "pointerUp", "button": 0 },
            ],
        }));
    }

    /// Turns the wheel at a point of the window.
    pub fn wheel(&mut self, x: f64, y: f64, by: i64) {
        let (x, y) = (x.round() as i64, y.round() as i64);
        let turn = json!({ "type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": by });
        self.act(json!({ "type": "wheel", "id": "wheel", "actions": [turn] }));
    }

    fn act(&mut self, action: Value) {
        self.post("/actions", json!({ "actions": [action] }));
    }

    /// Emulates a user who prefers the scheme `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        let command =
            json!({ "cmd": "Emulation.setEmulatedMedia", "params": { "features": features } });
        self.post("/goog/cdp/execute", command);
    }

    /// Prints the page to a PDF, in base64.
    pub fn print(&mut self) -> String {
        let printed = self.post("/print", json!({ "background": true }));
        printed.as_str().expect("a PDF").to_owned()
    }

    /// The errors that the browser logged.
    pub fn complaints(&mut self) -> Vec<String> {
        let complaints = self.post("/se/log", json!({ "type": "browser" }));
        let complaints = complaints.as_array().cloned().unwrap_or_default();
        complaints.iter().map(|complaint| complaint["message"].to_string()).collect()
    }

    fn post(&mut self, path: &str, body: Value) -> Value {
        self.request("POST", &format!("/session/{}{path}", self.session), &body)
    }

    fn request(&mut self, method: &str, path: &str, body: &Value) -> Value {
        let value = self.send(method, path, body).unwrap();
        assert!(value["error"].is_null(), "{path}: {value}");
        value
    }

    fn send(&mut self, method: &str, path: &str, body: &Value) -> io::Result<Value> {
        let (body, port) = (body.to_string(), self.port);
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len(),
        )?;
        Ok(answer(stream)?["value"].take())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends the browser with the session. Errors are ignored, since the test may
        // already have failed.
        let _ = self.send("DELETE", &format!("/session/{}", self.session), &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Whether a program is in the path.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// The port that the driver prints when it is ready.
fn port(driver: &mut Child) -> u16 {
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, port) = line.split_once("successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    });
    // Further output must be read, or the driver blocks.
    std::thread::spawn(move || lines.for_each(drop));
    port.expect("chromedriver says its port")
}

/// Reads the JSON of a response, whose head has its length.
fn answer(stream: TcpStream) -> io::Result<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}
