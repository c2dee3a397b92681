//! The reference app as a program: what scenarios talk to (`rejoinder::fixture::reference`).
//!
//! `CHAINLIT_AUTH_SECRET=… cargo run --example reference -- serve --port 8001`; any name, password `pw`. With
//! `REFERENCE_WITHOUT_RESUME=1` it is the app that cannot resume threads.

use std::process::ExitCode;

fn main() -> ExitCode {
    rejoinder::cli::main(rejoinder::fixture::reference())
}
