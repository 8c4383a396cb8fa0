//! A fault of `ptxas`: addresses computed from a register's later value; and the form of a sum in which it does not occur.
//!
//! # The fault
//! `ptxas`, and the driver's compiler of the same versions, miscompiles this:
//!
//! ```text
//!     shl.b32 %b, %i, 3;
//!     @%p bra end;               // the sum is made in another basic block than %b
//!     add.s32 %s, %b, 16;
//! loop:                          // two ways meet: one with %b as it was, one with another %b
//!     st.shared.b32 [%b], %x;
//!     add.s32 %b, %b, 128;
//!     …
//!     @%q bra loop;
//!     shl.b32 %o, %j, 2;
//!     add.s32 %a, %o, %s;
//!     ld.shared.b32 %v, [%a];    // reads %o + 16 + (%b as it is now)
//! ```
//!
//! To save an addition it makes `%a` of `%b`, and the 16 goes into the load. That needs the old `%b` longer, but the old and the new one keep their common register.
//! A branch around one assignment does the same as a loop. Chains of sums and copies are looked through. LLVM writes such texts: where a loop's pointer begins with
//! the last plain use of an address, both become one register.
//!
//! Seen in the machine code of `ptxas` 12.0, 12.4, 12.8, 12.9, 13.0 and 13.2, from `-O1` on, for `sm_75` to `sm_120`; 13.3, 13.4 and 13.5 are right. On a GPU the
//! driver's version counts, which nobody can choose here. Seen with addresses of 32 bits; those of 64 bits are treated alike as a precaution.
//!
//! # The remedy
//! Such a sum goes through an exclusive or with a zero from constant memory. The host could write another value there, so no compiler may know it, and no address takes
//! in an exclusive or. It costs an instruction where the sum is made. A copy of the base does not help: it is looked through.
//!
//! Found because a kernel, the measuring of small games in single precision, gave other values on an H200 than under `simt`.

use std::collections::{HashMap, HashSet};

use crate::{Error, Result};

/// Name of the zero in constant memory.
const ZERO: &str = "warpplay_zero";

/// A sum in a PTX text that some versions of `ptxas` recompute from the wrong value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleSum {
    /// Line of the sum, from 1.
    pub line: usize,
    /// Register of the sum.
    pub sum: String,
    /// Register from which it was computed, directly or by further sums and copies.
    pub base: String,
}

/// The sums of a register and a constant, and copies of such sums, that are used as an address after a point where, depending on the path taken, the register is either
/// unchanged or reassigned: `ptxas` 12.0 to 13.2 may use the new value for them.
///
/// # Errors
/// [`Error::Ptx`] if a function's body has no end.
///
/// # Examples
/// ```
/// let body = "mov.u32 %b, %tid.x; add.s32 %s, %b, 16; \
///     loop: add.s32 %b, %b, 128; setp.lt.u32 %p, %b, %n; @%p bra loop; \
///     add.s32 %a, %s, %o; ld.shared.b32 %v, [%a]; ret;";
/// let sums = warpplay_gpu_builder::stale_sums(&format!(".entry moves() {{ {body} }}"))?;
/// assert_eq!((sums[0].sum.as_str(), sums[0].base.as_str()), ("%s", "%b"));
/// # Ok::<(), warpplay_gpu_builder::Error>(())
/// ```
pub fn stale_sums(ptx: &str) -> Result<Vec<StaleSum>> {
    Ok(found(ptx, &blank_comments(ptx))?.into_iter().map(|found| found.sum).collect())
}

/// The text with every sum of [`stale_sums`] made opaque to `ptxas`; a text without one is not changed. The images of [`CudaBuilder`](crate::CudaBuilder) went through
/// this.
///
/// # Errors
/// As [`stale_sums`], and [`Error::Ptx`] if a text with such a sum has no `.target`.
pub fn with_opaque_sums(ptx: &str) -> Result<String> {
    let code = blank_comments(ptx);
    let found = found(ptx, &code)?;
    if found.is_empty() {
        return Ok(ptx.to_owned());
    }
    let mut result = String::with_capacity(ptx.len() + 160 * (found.len() + 1));
    let mut done = 0;
    if !code.contains(&format!(" {ZERO} ")) {
        let header = [".address_size", ".target"].into_iter().find_map(|directive| code.find(directive));
        let header = header.ok_or_else(|| Error::Ptx { line: 1, reason: "no `.target`".to_owned() })?;
        done = code[header..].find('\n').map_or(code.len(), |length| header + length);
        result.push_str(&ptx[..done]);
        result.push_str(&format!("\n.visible .const .align 8 .b64 {ZERO} = 0;"));
    }
    for Found { sum: StaleSum { sum, .. }, end, bits } in found {
        result.push_str(&ptx[done..end]);
        done = end;
        result.push_str(&format!(
            "\n\t{{ .reg .b{bits} %{ZERO}; ld.const.b{bits} %{ZERO}, [{ZERO}]; xor.b{bits} {sum}, {sum}, %{ZERO}; }}"
        ));
    }
    result.push_str(&ptx[done..]);
    Ok(result)
}

/// A stale sum, where its statement ends, and its width.
struct Found {
    sum: StaleSum,
    end: usize,
    bits: u32,
}

fn found(ptx: &str, code: &str) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    for body in bodies(code)? {
        let function = Function::new(code, body.start, body.end);
        for (at, base) in function.stale() {
            let statement = &function.statements[at];
            let line = 1 + ptx[..statement.end].matches('\n').count();
            let bits = if statement.opcode.ends_with("64") { 64 } else { 32 };
            let sum = StaleSum { line, sum: statement.writes[0].to_owned(), base: base.to_owned() };
            all.push(Found { sum, end: statement.end, bits });
        }
    }
    Ok(all)
}

/// The text with comments and quoted strings replaced by blanks; every other character keeps its offset.
fn blank_comments(ptx: &str) -> String {
    let mut code = String::with_capacity(ptx.len());
    let mut rest = ptx;
    while let Some(start) = rest.find(['/', '"']) {
        let (before, from) = rest.split_at(start);
        code.push_str(before);
        let length = if from.starts_with("//") {
            from.find('\n').unwrap_or(from.len())
        } else if from.starts_with("/*") {
            from.find("*/").map_or(from.len(), |end| end + 2)
        } else if let Some(text) = from.strip_prefix('"') {
            text.find('"').map_or(from.len(), |end| end + 2)
        } else {
            code.push('/');
            rest = &from[1..];
            continue;
        };
        // Bytes, not characters: offsets are of bytes.
        code.extend(from[..length].bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
        rest = &from[length..];
    }
    code.push_str(rest);
    code
}

/// The bodies of entries and functions, between their braces.
fn bodies(code: &str) -> Result<Vec<std::ops::Range<usize>>> {
    let mut bodies = Vec::new();
    let (mut head, mut start, mut depth) = (0, 0, 0usize);
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => {
                if depth == 0 {
                    start = at + 1;
                }
                depth += 1;
            }
            b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    let is_function =
                        code[head..start].split_whitespace().any(|word| word == ".entry" || word == ".func");
                    if is_function {
                        bodies.push(start..at);
                    }
                    head = at + 1;
                }
            }
            b';' if depth == 0 => head = at + 1,
            _ => {}
        }
    }
    if depth > 0 {
        let line = 1 + code[..start].matches('\n').count();
        return Err(Error::Ptx { line, reason: "a brace that nothing closes".to_owned() });
    }
    Ok(bodies)
}

/// Where control goes after a statement.
#[derive(Debug)]
enum Flow<'a> {
    Next,
    /// To a label.
    Branch(&'a str),
    /// To one of a table's labels.
    Table(&'a str),
    End,
}

/// One instruction.
#[derive(Debug)]
struct Statement<'a> {
    /// Offset after its semicolon.
    end: usize,
    /// Whether it has a guard, so that it may have no effect.
    guarded: bool,
    opcode: &'a str,
    operands: Vec<&'a str>,
    writes: Vec<&'a str>,
    reads: Vec<&'a str>,
    flow: Flow<'a>,
}

/// What a register holds, compared with an earlier point of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Base {
    /// No path from there is known.
    Unknown,
    Same,
    Moved,
    /// `Same` or `Moved`, depending on the path, or it was so before another write.
    Either,
}

impl Base {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, known) | (known, Self::Unknown) => known,
            _ if self == other => self,
            _ => Self::Either,
        }
    }
}

/// A function's instructions, with the analyses on them.
struct Function<'a> {
    statements: Vec<Statement<'a>>,
    /// The statement after a label.
    labels: HashMap<&'a str, usize>,
    /// Labels of a table of branches.
    tables: HashMap<&'a str, Vec<&'a str>>,
    /// Statements that write a register.
    writers: HashMap<&'a str, Vec<usize>>,
    /// Registers that addresses are computed from.
    in_addresses: HashSet<&'a str>,
    /// Statements that may directly precede and follow each.
    before: Vec<Vec<usize>>,
    behind: Vec<Vec<usize>>,
}

impl<'a> Function<'a> {
    fn new(code: &'a str, start: usize, end: usize) -> Self {
        let mut function = Self {
            statements: Vec::new(),
            labels: HashMap::new(),
            tables: HashMap::new(),
            writers: HashMap::new(),
            in_addresses: HashSet::new(),
            before: Vec::new(),
            behind: Vec::new(),
        };
        let mut at = start;
        while at < end {
            let rest = &code[at..end];
            let text = rest.trim_start();
            at += rest.len() - text.len();
            if text.starts_with(['{', '}', ';']) {
                // A scope: names in it may hide others, which at worst looks like a further assignment.
                at += 1;
            } else if text.starts_with(".loc") {
                at += text.find('\n').unwrap_or(text.len());
            } else if let Some((label, length)) = label(text) {
                function.labels.insert(label, function.statements.len());
                at += length;
                if let Some(table) = text[length..].trim_start().strip_prefix(".branchtargets") {
                    let table = &table[..table.find(';').unwrap_or(table.len())];
                    function.tables.insert(label, table.split(',').map(str::trim).collect());
                }
            } else {
                let length = text.find(';').unwrap_or(text.len());
                at = (at + length + 1).min(end);
                if !text.is_empty() && !text.starts_with('.') {
                    function.statements.push(Statement::new(&text[..length], at));
                }
            }
        }
        for (at, statement) in function.statements.iter().enumerate() {
            for register in &statement.writes {
                function.writers.entry(register).or_default().push(at);
            }
        }
        function.find_ways();
        function.find_addresses();
        function
    }

    /// The statement whose value of `register` another one reads, if it is always the same one.
    fn writer(&self, register: &str, reader: usize) -> Option<usize> {
        let writers = self.writers.get(register)?;
        if let &[alone] = writers.as_slice() {
            return Some(alone);
        }
        let mut seen = vec![false; self.statements.len()];
        let mut open = self.before[reader].clone();
        let mut only = None;
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let statement = &self.statements[at];
            if statement.writes.contains(&register) {
                if only.is_some() || statement.guarded {
                    return None;
                }
                only = Some(at);
            } else {
                open.extend(&self.before[at]);
            }
        }
        only
    }

    /// Whether an operand is a constant, or a register that holds one.
    fn is_constant(&self, operand: &str, reader: usize) -> bool {
        let is_number = |text: &str| text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        is_number(operand)
            || self.writer(operand, reader).is_some_and(|at| {
                let mov = &self.statements[at];
                stem(mov.opcode) == "mov" && mov.operands.len() == 2 && is_number(mov.operands[1])
            })
    }

    /// The register that a statement adds a constant to (`true`), or copies (`false`).
    fn base(&self, at: usize) -> Option<(&'a str, bool)> {
        let Statement { opcode, operands, writes, .. } = &self.statements[at];
        let is_whole = ["s32", "u32", "b32", "s64", "u64", "b64"].iter().any(|kind| opcode.ends_with(kind));
        if !is_whole || writes.len() != 1 {
            return None;
        }
        let (base, is_sum) = match (stem(opcode), operands.as_slice()) {
            ("add" | "sub", &[_, base, constant]) if self.is_constant(constant, at) => (base, true),
            ("add", &[_, constant, base]) if self.is_constant(constant, at) => (base, true),
            ("mov", &[_, base]) => (base, false),
            _ => return None,
        };
        // Symbols and special registers are never written.
        self.writers.contains_key(base).then_some((base, is_sum))
    }

    /// Stale sums, and copies of sums: the statement and the register whose stale value it uses.
    fn stale(&self) -> Vec<(usize, &'a str)> {
        let mut stale = Vec::new();
        for at in 0..self.statements.len() {
            let (mut link, mut has_sum) = (at, false);
            // ptxas looks through chains of sums and copies. One that is longer than the function goes round.
            for _ in 0..self.statements.len() {
                let Some((base, is_sum)) = self.base(link) else { break };
                has_sum |= is_sum;
                if has_sum && self.is_stale(at, base, link) {
                    stale.push((at, base));
                    break;
                }
                match self.writer(base, link) {
                    // Behind a sum that has become opaque nothing is seen.
                    Some(writer) if stale.iter().all(|&(opaque, _)| opaque != writer) => link = writer,
                    _ => break,
                }
            }
        }
        stale
    }

    /// Whether what `at` makes of the value that `base` has at `link` ends in an address behind a point where `base` has that value or another one, by the way
    /// that led there.
    fn is_stale(&self, at: usize, base: &str, link: usize) -> bool {
        let sum = self.statements[at].writes[0];
        let is_written_once = |register: &str| self.writers.get(register).is_some_and(|writers| writers.len() == 1);
        // Where the base is written again, the sum is made again before it is read. And a sum in its base's own register leaves no base.
        if sum == base || is_written_once(sum) && is_written_once(base) {
            return false;
        }
        let behind = match link == at {
            true => Base::Same,
            // The statements between are another register's.
            false => self.follow(link, Base::Same, base, None)[at].join(Base::Unknown),
        };
        let states = self.follow(at, behind, base, Some(sum));
        self.statements.iter().zip(states).any(|(statement, state)| {
            state == Base::Either && statement.reads.contains(&sum) && self.may_address(statement, sum)
        })
    }

    /// What `base` is before each statement that is reached from `from`, behind which it is `behind`, without passing `from` again or a statement that writes
    /// `until`.
    fn follow(&self, from: usize, behind: Base, base: &str, until: Option<&str>) -> Vec<Base> {
        let mut before = vec![Base::Unknown; self.statements.len()];
        let mut open: Vec<(usize, Base)> = self.behind[from].iter().map(|&next| (next, behind)).collect();
        while let Some((at, arrives)) = open.pop() {
            let joined = before[at].join(arrives);
            if joined == before[at] {
                continue;
            }
            before[at] = joined;
            let statement = &self.statements[at];
            let is_over = until.is_some_and(|until| statement.writes.contains(&until)) && !statement.guarded;
            if at == from || is_over {
                continue;
            }
            let behind = match statement.writes.contains(&base) {
                false => joined,
                true if statement.guarded => joined.join(Base::Moved),
                true if joined == Base::Either => Base::Either,
                true => Base::Moved,
            };
            open.extend(self.behind[at].iter().map(|&next| (next, behind)));
        }
        before
    }

    /// Whether a statement that reads `sum` accesses memory there, or adds something to it that ends in an address.
    fn may_address(&self, statement: &Statement<'_>, sum: &str) -> bool {
        let adds = ["add", "sub", "mad"].contains(&stem(statement.opcode));
        adds && statement.writes.iter().any(|register| self.in_addresses.contains(register))
            || addresses(&statement.operands).any(|register| register == sum)
    }

    /// Registers that addresses are computed from.
    fn find_addresses(&mut self) {
        let mut open: Vec<&'a str> =
            self.statements.iter().flat_map(|statement| addresses(&statement.operands)).collect();
        while let Some(register) = open.pop() {
            if !self.in_addresses.insert(register) {
                continue;
            }
            for &at in self.writers.get(register).into_iter().flatten() {
                let statement = &self.statements[at];
                // What is read from memory is another value.
                if !statement.operands.iter().any(|operand| operand.starts_with('[')) {
                    open.extend(&statement.reads);
                }
            }
        }
    }

    /// Finds the edges from statement to statement; the last one has none.
    fn find_ways(&mut self) {
        let n = self.statements.len();
        self.before = vec![Vec::new(); n];
        for (at, statement) in self.statements.iter().enumerate() {
            let mut next = Vec::new();
            if statement.guarded || matches!(statement.flow, Flow::Next) {
                next.push(at + 1);
            }
            match statement.flow {
                Flow::Next | Flow::End => {}
                Flow::Branch(label) => next.extend(self.labels.get(label)),
                Flow::Table(table) => match self.tables.get(table) {
                    Some(labels) => next.extend(labels.iter().filter_map(|label| self.labels.get(label))),
                    None => next.extend(self.labels.values()),
                },
            }
            next.retain(|&next| next < n);
            for &next in &next {
                self.before[next].push(at);
            }
            self.behind.push(next);
        }
    }
}

impl<'a> Statement<'a> {
    /// An instruction without its semicolon.
    fn new(text: &'a str, end: usize) -> Self {
        let (guard, text) = match text.strip_prefix('@') {
            Some(guarded) => {
                let (guard, text) = guarded.trim_start_matches('!').split_once(char::is_whitespace).unwrap_or_default();
                (Some(guard), text.trim_start())
            }
            None => (None, text),
        };
        let (opcode, rest) = text.split_once(char::is_whitespace).unwrap_or((text.trim_end(), ""));
        let operands = operands(rest);
        let stem = stem(opcode);
        let flow = match (stem, operands.as_slice()) {
            ("bra", [label, ..]) => Flow::Branch(label),
            ("brx", [_, table, ..]) => Flow::Table(table),
            ("ret" | "exit" | "trap", _) => Flow::End,
            _ => Flow::Next,
        };
        let first = operands.first().copied().unwrap_or_default();
        let has_result = match stem {
            "st" | "red" | "bra" | "brx" | "ret" | "exit" | "trap" | "nanosleep" | "prefetch" | "prefetchu" => false,
            "bar" | "barrier" => opcode.contains(".red."),
            "call" => first.starts_with('('),
            _ => !first.starts_with('['),
        };
        // A copy to itself changes nothing.
        let is_idle = stem == "mov" && operands.get(1) == Some(&first);
        let writes = if has_result && !is_idle { registers(first).collect() } else { Vec::new() };
        let mut reads: Vec<&str> = guard.into_iter().collect();
        // A product of a warpgroup adds to its first operand.
        let read_from = usize::from(has_result && stem != "wgmma");
        reads.extend(operands.iter().skip(read_from).flat_map(|operand| registers(operand)));
        Self { end, guarded: guard.is_some(), opcode, operands, writes, reads, flow }
    }
}

/// A label at the start of a text, and its length with the colon.
fn label(text: &str) -> Option<(&str, usize)> {
    let length = text.find(|c: char| !is_of_name(c))?;
    let colon = text[length..].trim_start();
    let is_label = length > 0 && colon.starts_with(':') && !colon.starts_with("::");
    is_label.then(|| (&text[..length], text.len() - colon.len() + 1))
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '%')
}

/// The operands of an instruction, separated by commas outside brackets.
fn operands(text: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let parts = text.split(|c: char| {
        depth += i32::from(matches!(c, '[' | '{' | '(')) - i32::from(matches!(c, ']' | '}' | ')'));
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|operand| !operand.is_empty()).collect()
}

/// An opcode up to its first point.
fn stem(opcode: &str) -> &str {
    opcode.split('.').next().unwrap_or_default()
}

/// The registers in the addresses among operands.
fn addresses<'a>(operands: &[&'a str]) -> impl Iterator<Item = &'a str> {
    operands.iter().filter(|operand| operand.starts_with('[')).flat_map(|operand| registers(operand))
}

/// The names in an operand: registers, and symbols, which nothing writes.
fn registers(operand: &str) -> impl Iterator<Item = &str> {
    operand
        .split(|c: char| !is_of_name(c))
        .filter(|word| !word.is_empty() && !word.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests;
