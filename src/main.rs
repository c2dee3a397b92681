//! The binary: the commands, and a demo to serve.

use std::process::ExitCode;

fn main() -> ExitCode {
    rejoinder::cli::demo(rejoinder::demo::demo())
}
