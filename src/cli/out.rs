//! What a command says. Whoever reads standard output may close it at any time (`| head`): then nobody is told the rest,
//! and the command goes on.

use std::fmt::Display;
use std::io::Write;

/// Says a line.
pub(super) fn say(line: impl Display) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
