//! A reader of pickles as libtorch writes them. Nothing is run: a call becomes a node that says what would be called.
//!
//! A pickle is a program for a stack machine. Of its operations those are read that `torch::save` and `torch.save` write for modules and dictionaries of tensors;
//! any other is an error. Values are nodes of one list and refer to each other by number, so an object that is filled after it was remembered is
//! filled everywhere.
//!
//! # Reference
//! Python's `pickletools`, protocols 2 to 4.

use std::collections::HashMap;

/// Most nodes of a pickle.
const MAX_NODES: usize = 1 << 20;
/// Most arguments of a call: a tensor has seven.
const MAX_ARGUMENTS: usize = 16;

/// Number of a node.
pub(super) type NodeId = usize;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// `None`, a Boolean, or a number that is not an integer; tensors need none of these.
    Other,
    Int(i64),
    Text(String),
    Tuple(Vec<NodeId>),
    List(Vec<NodeId>),
    /// Keys and values, also of an ordered dictionary.
    Dict(Vec<(NodeId, NodeId)>),
    /// Module and name of a class or function.
    Global(String),
    /// An object of any class, with the state that it was given.
    Object(Option<NodeId>),
    /// The call of a function with arguments.
    Call(String, Vec<NodeId>),
    /// An item that the archive stores under a name.
    Persistent(NodeId),
}

/// The nodes of a pickle.
#[derive(Debug)]
pub(super) struct Pickle {
    nodes: Vec<Node>,
    /// The node of the resulting value.
    pub root: NodeId,
}

impl Pickle {
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// Reads a pickle.
    ///
    /// # Errors
    /// A description of the error and its byte.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut reader =
            Reader { bytes, at: 0, nodes: Vec::new(), stack: Vec::new(), marks: Vec::new(), memo: HashMap::new() };
        loop {
            let start = reader.at;
            match reader.step() {
                Ok(None) => {}
                Ok(Some(root)) => return Ok(Self { nodes: reader.nodes, root }),
                Err(reason) => return Err(format!("byte {start}: {reason}")),
            }
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    nodes: Vec<Node>,
    stack: Vec<NodeId>,
    /// Heights of the stack at its marks.
    marks: Vec<usize>,
    memo: HashMap<u32, NodeId>,
}

/// Read of operations, in the order of `pickletools`.
impl Reader<'_> {
    /// Executes one operation; the last one returns the root.
    fn step(&mut self) -> Result<Option<NodeId>, String> {
        let operation = self.take(1)?[0];
        match operation {
            // Integers.
            b'J' => {
                let value = i32::from_le_bytes(self.array()?);
                self.push(Node::Int(value.into()))?;
            }
            b'K' => {
                let value = self.take(1)?[0];
                self.push(Node::Int(value.into()))?;
            }
            b'M' => {
                let value = u16::from_le_bytes(self.array()?);
                self.push(Node::Int(value.into()))?;
            }
            0x8A => {
                let n = usize::from(self.take(1)?[0]);
                let value = long(self.take(n)?)?;
                self.push(Node::Int(value))?;
            }
            // None, false, true, a float.
            b'N' | 0x88 | 0x89 => self.push(Node::Other)?,
            b'G' => {
                self.take(8)?;
                self.push(Node::Other)?;
            }
            // Texts.
            0x8C => {
                let n = usize::from(self.take(1)?[0]);
                self.text(n)?;
            }
            b'X' => {
                let n = u32::from_le_bytes(self.array()?) as usize;
                self.text(n)?;
            }
            // Lists, tuples, dictionaries.
            b']' => self.push(Node::List(Vec::new()))?,
            b'a' => {
                let item = self.pop()?;
                self.append(vec![item])?;
            }
            b'e' => {
                let items = self.pop_mark()?;
                self.append(items)?;
            }
            b')' => self.push(Node::Tuple(Vec::new()))?,
            b't' => {
                let items = self.pop_mark()?;
                self.push(Node::Tuple(items))?;
            }
            0x85..=0x87 => {
                let mut items = Vec::new();
                for _ in 0..operation - 0x84 {
                    items.insert(0, self.pop()?);
                }
                self.push(Node::Tuple(items))?;
            }
            b'}' => self.push(Node::Dict(Vec::new()))?,
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.set(&[key, value])?;
            }
            b'u' => {
                let items = self.pop_mark()?;
                self.set(&items)?;
            }
            b'(' => self.marks.push(self.stack.len()),
            // Remembered values.
            b'h' => {
                let key = self.take(1)?[0].into();
                self.recall(key)?;
            }
            b'j' => {
                let key = u32::from_le_bytes(self.array()?);
                self.recall(key)?;
            }
            b'q' => {
                let key = self.take(1)?[0].into();
                self.remember(key)?;
            }
            b'r' => {
                let key = u32::from_le_bytes(self.array()?);
                self.remember(key)?;
            }
            0x94 => self.remember(self.memo.len() as u32)?,
            // Classes, functions, objects.
            b'c' => {
                let (module, name) = (self.line()?, self.line()?);
                self.push(Node::Global(format!("{module}.{name}")))?;
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let (Node::Text(module), Node::Text(name)) = (&self.nodes[module], &self.nodes[name]) else {
                    return Err("a class without a name".into());
                };
                let global = format!("{module}.{name}");
                self.push(Node::Global(global))?;
            }
            b'R' => self.call()?,
            0x81 => {
                let (_, class) = (self.pop()?, self.pop()?);
                match &self.nodes[class] {
                    Node::Global(class) if class.starts_with("__torch__.") => self.push(Node::Object(None))?,
                    Node::Global(class) => return Err(format!("an object of {class}, expected tensors by name")),
                    _ => return Err("an object without a class".into()),
                }
            }
            b'b' => {
                let (state, object) = (self.pop()?, self.last()?);
                match &mut self.nodes[object] {
                    Node::Object(kept) => *kept = Some(state),
                    // Attributes of a dictionary are not its items.
                    Node::Dict(_) => {}
                    _ => return Err("a state for an object without one".into()),
                }
            }
            b'Q' => {
                let id = self.pop()?;
                self.push(Node::Persistent(id))?;
            }
            // Protocol, frame, end.
            0x80 => match self.take(1)?[0] {
                2..=5 => {}
                protocol => return Err(format!("protocol {protocol}, 2 to 5 are supported")),
            },
            0x95 => {
                self.take(8)?;
            }
            b'.' => return self.pop().map(Some),
            _ => return Err(format!("operation {operation:#04x} is not supported")),
        }
        Ok(None)
    }

    fn take(&mut self, n: usize) -> Result<&[u8], String> {
        let end = self.at.checked_add(n).filter(|&end| end <= self.bytes.len()).ok_or("the end comes too early")?;
        let bytes = &self.bytes[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let bytes = self.take(N)?;
        Ok(std::array::from_fn(|at| bytes[at]))
    }

    fn line(&mut self) -> Result<String, String> {
        let n = self.bytes[self.at..].iter().position(|&byte| byte == b'\n').ok_or("the end comes too early")?;
        let line = utf8(self.take(n)?)?;
        self.take(1)?;
        Ok(line)
    }

    fn text(&mut self, n: usize) -> Result<(), String> {
        let text = utf8(self.take(n)?)?;
        self.push(Node::Text(text))
    }

    fn push(&mut self, node: Node) -> Result<(), String> {
        if self.nodes.len() == MAX_NODES {
            return Err(format!("more than {MAX_NODES} values"));
        }
        self.stack.push(self.nodes.len());
        self.nodes.push(node);
        Ok(())
    }

    fn last(&self) -> Result<NodeId, String> {
        match self.stack.last() {
            Some(&id) if self.marks.last().is_none_or(|&mark| mark < self.stack.len()) => Ok(id),
            _ => Err("the stack is empty".into()),
        }
    }

    fn pop(&mut self) -> Result<NodeId, String> {
        let id = self.last()?;
        self.stack.pop();
        Ok(id)
    }

    fn pop_mark(&mut self) -> Result<Vec<NodeId>, String> {
        let mark = self.marks.pop().ok_or("the stack has no mark")?;
        Ok(self.stack.split_off(mark))
    }

    fn remember(&mut self, key: u32) -> Result<(), String> {
        let id = self.last()?;
        self.memo.insert(key, id);
        Ok(())
    }

    fn recall(&mut self, key: u32) -> Result<(), String> {
        let id = *self.memo.get(&key).ok_or_else(|| format!("value {key} was never stored"))?;
        if self.stack.len() == MAX_NODES {
            return Err(format!("more than {MAX_NODES} values"));
        }
        self.stack.push(id);
        Ok(())
    }

    fn append(&mut self, items: Vec<NodeId>) -> Result<(), String> {
        let list = self.last()?;
        match &mut self.nodes[list] {
            Node::List(list) => list.extend(items),
            _ => return Err("items for something that is not a list".into()),
        }
        Ok(())
    }

    /// Inserts keys and values into the dictionary on the stack.
    fn set(&mut self, items: &[NodeId]) -> Result<(), String> {
        let dict = self.last()?;
        let (pairs, rest) = items.as_chunks::<2>();
        match &mut self.nodes[dict] {
            Node::Dict(dict) if rest.is_empty() => dict.extend(pairs.iter().map(|&[key, value]| (key, value))),
            Node::Dict(_) => return Err("a key without a value".into()),
            _ => return Err("items for something that is not a dictionary".into()),
        }
        Ok(())
    }

    fn call(&mut self) -> Result<(), String> {
        let (arguments, function) = (self.pop()?, self.pop()?);
        let (Node::Global(function), Node::Tuple(arguments)) = (&self.nodes[function], &self.nodes[arguments]) else {
            return Err("a call of something that is not a function".into());
        };
        if arguments.len() > MAX_ARGUMENTS {
            return Err(format!(
                "a call of {function} with {} arguments, at most {MAX_ARGUMENTS} are expected",
                arguments.len()
            ));
        }
        let node = match (&function[..], arguments.is_empty()) {
            ("collections.OrderedDict", true) => Node::Dict(Vec::new()),
            ("torch._utils._rebuild_tensor_v2" | "torch._utils._rebuild_parameter", _) => {
                Node::Call(function.clone(), arguments.clone())
            }
            // Lists of numbers, such as a convolution's padding.
            (name, _) if name.starts_with("torch.jit._pickle.build_") => Node::Other,
            _ => return Err(format!("a call of {function}, expected tensors by name")),
        };
        self.push(node)
    }
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text that is not UTF-8".into())
}

/// Parses an integer in two's complement of 0 to 8 bytes.
fn long(bytes: &[u8]) -> Result<i64, String> {
    if bytes.len() > 8 {
        return Err(format!("an integer of {} bytes, up to 8 are supported", bytes.len()));
    }
    let negative = bytes.last().is_some_and(|&byte| byte >= 0x80);
    let mut all = [if negative { 0xFF } else { 0 }; 8];
    all[..bytes.len()].copy_from_slice(bytes);
    Ok(i64::from_le_bytes(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_remembered_before_it_is_filled_is_filled() {
        // {"a": [1, -2]}, with the list remembered while empty.
        let bytes = b"\x80\x02}(X\x01\x00\x00\x00a]q\x07(K\x01\x8a\x01\xfeeu.";
        let pickle = Pickle::read(bytes).unwrap();
        let Node::Dict(items) = pickle.node(pickle.root) else { panic!("{pickle:?}") };
        let [(key, list)] = items[..] else { panic!("{pickle:?}") };
        assert_eq!(*pickle.node(key), Node::Text("a".into()));
        let Node::List(list) = pickle.node(list) else { panic!("{pickle:?}") };
        let items: Vec<&Node> = list.iter().map(|&id| pickle.node(id)).collect();
        assert_eq!(items, [&Node::Int(1), &Node::Int(-2)]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_offset() {
        for (bytes, text) in [
            (&b""[..], "byte 0: the end comes too early"),
            (b"\x80\x01.", "byte 0: protocol 1, 2 to 5 are supported"),
            (b"\x80\x02.", "byte 2: the stack is empty"),
            (b"(K\x01K\x02(.", "byte 6: the stack is empty"),
            (b"K\x01e", "byte 2: the stack has no mark"),
            (b"h\x01", "byte 0: value 1 was never stored"),
            (b"X\xff\xff\xff\xffa", "byte 0: the end comes too early"),
            (b"X\x01\x00\x00\x00\xff", "byte 0: a text that is not UTF-8"),
            (b"}(K\x01u", "byte 4: a key without a value"),
            (b"K\x01K\x02a", "byte 4: items for something that is not a list"),
            (b"\x8a\x09", "byte 0: the end comes too early"),
            (b"cos\nsystem\n(X\x02\x00\x00\x00lstR.", "byte 20: a call of os.system, expected tensors by name"),
            (b"cbuiltins\nobject\n)\x81.", "byte 18: an object of builtins.object, expected tensors by name"),
            (b"i", "byte 0: operation 0x69 is not supported"),
        ] {
            assert_eq!(Pickle::read(bytes).unwrap_err(), text);
        }
        let many = [&b"]"[..], &b"K\x01a".repeat(MAX_NODES), b"."].concat();
        assert!(Pickle::read(&many).unwrap_err().ends_with("more than 1048576 values"));
    }
}
