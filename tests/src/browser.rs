//! A browser without a window, driven by its own protocol: JSON messages, each ended by a zero byte, over two pipes.
//!
//! The messages are those of the [Chrome DevTools Protocol](https://chromedevtools.github.io/devtools-protocol/).

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::backends::demanded;
use crate::folder::Folder;
use crate::programs::end_of;
use crate::skipped::skipped;

/// Environment variable that makes a missing browser a failure.
const REQUIRE: &str = "WARPPLAY_REQUIRE_BROWSER";
/// Names under which Chromium is installed.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
/// Longest wait for what a page does after a click, on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser that shows one page.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Value,
    n_sent: u64,
    /// What the page complained of: exceptions, and what its policy kept it from loading.
    pub complaints: Vec<String>,
    _profile: Folder,
}

/// Chromium on the path; where there is none, that is said.
///
/// # Panics
/// With `WARPPLAY_REQUIRE_BROWSER=1` if there is none.
pub fn chromium() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    let found = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        let names = NAMES.join(", ");
        assert!(!demanded(REQUIRE), "{REQUIRE}=1, but none of {names} is on the path");
        skipped(format!("pages in a browser: none of {names} is on the path"));
    }
    found
}

impl Browser {
    /// Starts the browser with an empty profile and a page of this size in pixels.
    ///
    /// # Panics
    /// If it does not start.
    pub fn start(program: &std::path::Path, width: u32, height: u32) -> Self {
        let profile = Folder::new();
        // The protocol is spoken on descriptors 3 and 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"]).arg(program);
        // No sandbox: containers seldom allow it, and the page is ours.
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"]);
        command.args(["--hide-scrollbars", "--remote-debugging-pipe"]);
        command.arg(format!("--user-data-dir={}", profile.folder().display()));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the browser starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let output = BufReader::new(output);
        let (complaints, session) = (Vec::new(), Value::Null);
        let mut browser = Self { child, input, output, session, n_sent: 0, complaints, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target["targetId"], "flatten": true}));
        browser.session = attached["sessionId"].clone();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser.resize(width, height);
        browser
    }

    /// Sends a command and waits for its result.
    ///
    /// # Panics
    /// If the browser refuses it, or has ended.
    #[track_caller]
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.n_sent += 1;
        let mut message = json!({"id": self.n_sent, "method": method, "params": parameters});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        let sent = self.input.write_all(format!("{message}\0").as_bytes()).and_then(|()| self.input.flush());
        sent.unwrap_or_else(|error| panic!("{method}: {error}"));
        loop {
            let mut bytes = Vec::new();
            let n_read = self.output.read_until(0, &mut bytes).expect("a message");
            assert!(n_read > 0, "the browser ended before it answered {method}");
            bytes.pop();
            let found: Value = serde_json::from_slice(&bytes).expect("JSON");
            if found["id"] == self.n_sent {
                assert!(found["error"].is_null(), "{method}: {}", found["error"]);
                return found["result"].clone();
            }
            if ["Runtime.exceptionThrown", "Log.entryAdded"].iter().any(|event| found["method"] == *event) {
                self.complaints.push(found["params"].to_string());
            }
        }
    }

    /// Sets the size of the page in pixels.
    pub fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
    }

    /// Sets which colours the reader prefers: `light`, `dark`.
    pub fn prefer(&mut self, colours: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": colours}]});
        self.call("Emulation.setEmulatedMedia", features);
    }

    /// Opens a file, and waits until `ready` holds.
    pub fn open(&mut self, file: &std::path::Path, ready: &str) {
        // What has a meaning in an address.
        let path = file.display().to_string().replace('%', "%25").replace('#', "%23").replace('?', "%3F");
        self.call("Page.navigate", json!({"url": format!("file://{path}")}));
        self.wait(ready);
    }

    /// The value of an expression of JavaScript in the page.
    ///
    /// # Panics
    /// If it throws.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let found = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(found["exceptionDetails"].is_null(), "{expression}: {}", found["exceptionDetails"]);
        found["result"]["value"].clone()
    }

    /// Waits until an expression holds.
    ///
    /// # Panics
    /// If it does not in a minute.
    #[track_caller]
    pub fn wait(&mut self, expression: &str) {
        let start = Instant::now();
        // While a page loads, it may lack what the expression names.
        let guarded = format!("(() => {{ try {{ return Boolean({expression}); }} catch {{ return false; }} }})()");
        while self.value(&guarded) != true {
            assert!(start.elapsed() < PATIENCE, "the page does not come to: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks the middle of the element that a selector names.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn click(&mut self, selector: &str) {
        let middle = self.value(&format!(
            "(() => {{ const found = document.querySelector({}); found.scrollIntoView({{block: 'nearest'}});
               const {{ left, top, width, height }} = found.getBoundingClientRect(); return [left + width / 2, top + height / 2]; }})()",
            json!(selector)
        ));
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let button = if kind == "mouseMoved" { "none" } else { "left" };
            let event = json!({"type": kind, "x": middle[0], "y": middle[1], "button": button, "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Presses and releases a key by its name, as `ArrowRight` or `1`.
    #[track_caller]
    pub fn press(&mut self, key: &str) {
        for kind in ["rawKeyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key}));
        }
    }

    /// What is seen, as a PNG.
    ///
    /// # Panics
    /// If the browser does not answer with base64.
    pub fn picture(&mut self) -> Vec<u8> {
        let found = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let text = found["data"].as_str().expect("a picture").trim_end_matches('=');
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let (mut bytes, mut bits, mut n_bits) = (Vec::new(), 0u32, 0);
        for letter in text.chars() {
            bits = bits << 6 | alphabet.find(letter).expect("base64") as u32;
            n_bits += 6;
            if n_bits >= 8 {
                n_bits -= 8;
                bytes.push((bits >> n_bits) as u8);
                bits &= (1 << n_bits) - 1;
            }
        }
        bytes
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // All its processes end with the first, which ends by itself: killed, it would leave them.
        let _ = self.input.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        if end_of(&mut self.child, Duration::from_secs(10)).is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
