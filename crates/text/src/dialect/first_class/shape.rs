//! The shape of a function: its instructions in the order in which they run, its blocks, and its
//! parts.
//!
//! Plain and folded instructions are read in the same way. A folded instruction comes after its operands, at
//! its closing parenthesis.

use std::collections::HashMap;
use std::ops::Range;

use wast::lexer::TokenKind;

use crate::dialect::definitions::type_use;
use crate::dialect::source::{Instruction, Name, Node, Signature, Tree};
use crate::error::{Error, Result};

#[derive(Debug, Default)]
pub(super) struct Shape<'a> {
    pub steps: Vec<Step<'a>>,
    pub blocks: Vec<Block<'a>>,
    /// The function itself, then the parts that become closures. An inner part comes after its
    /// outer one.
    pub parts: Vec<FunctionPart>,
}

/// An instruction, or the start or end of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step<'a> {
    pub what: StepKind<'a>,
    pub part: usize,
    /// The number of mark-leaving blocks around it, in its part.
    pub depth: usize,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum StepKind<'a> {
    Instruction(Instruction<'a>),
    Open(usize),
    /// The start of the code of a folded `if`, after its condition.
    Begin,
    /// The `else`, `then` or `within` that divides the code of a block.
    Divide,
    Close(usize),
}

/// A part of a function that becomes a closure; the first part is the function itself.
#[derive(Debug)]
pub(super) struct FunctionPart {
    pub range: Range<usize>,
    /// Whether a block in it leaves marks.
    pub has_marks: bool,
}

/// `block`, `try`, `answer` and the like.
#[derive(Debug)]
pub(super) struct Block<'a> {
    pub kind: BlockKind,
    pub keyword: Node,
    pub list: Option<Node>,
    /// A label; the local of `stack.redirect`; the call tag of `answer`.
    pub index: Option<Name<'a>>,
    pub type_use: Option<Name<'a>>,
    pub signature: Signature<'a>,
    pub body: Node,
    pub within: Node,
    /// The parts that its code becomes.
    pub parts: Vec<usize>,
    /// The keywords of `catch $e $l`.
    pub catches: Vec<Node>,
    /// Its last token: a label after `end`, `end`, or a parenthesis.
    pub last: Node,
    /// Its part, and the number of marks around it.
    pub part: usize,
    pub depth: usize,
    /// The number of open lists inside it.
    lists: usize,
    /// Whether a block inside it leaves marks.
    pub has_marks: bool,
    /// The first use of its label.
    pub target: Option<Node>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockKind {
    Block,
    Loop,
    If,
    TryTable,
    Try,
    Redirect,
    RedirectTo,
    Answer,
}

impl BlockKind {
    fn of(word: &str) -> Option<BlockKind> {
        Some(match word {
            "block" => BlockKind::Block,
            "loop" => BlockKind::Loop,
            "if" => BlockKind::If,
            "try_table" => BlockKind::TryTable,
            "try" => BlockKind::Try,
            "stack.redirect" => BlockKind::Redirect,
            "stack.redirect_to" => BlockKind::RedirectTo,
            "answer" => BlockKind::Answer,
            _ => return None,
        })
    }

    pub fn leaves_mark(self) -> bool {
        matches!(self, BlockKind::Redirect | BlockKind::RedirectTo | BlockKind::Answer)
    }

    /// The words that divide its code.
    fn dividers(self) -> &'static [&'static str] {
        match self {
            BlockKind::RedirectTo => &["then", "within"],
            BlockKind::Answer => &["within"],
            _ => &[],
        }
    }
}

impl<'a> Shape<'a> {
    /// Reads the instructions of a function, from `first` up to the parenthesis
    /// that closes it.
    pub fn read(tree: &Tree<'a>, first: Node, end: Node) -> Result<Shape<'a>> {
        let mut reader = Reader {
            tree,
            shape: Shape::default(),
            lists: Vec::new(),
            open: Vec::new(),
            labels: HashMap::new(),
            owner: "",
            part: 0,
            depth: 0,
        };
        let range = tree.start(first)..tree.start(end);
        reader.shape.parts.push(FunctionPart { range, has_marks: false });
        let mut node = first;
        while node < end {
            node = reader.node(node)?;
        }
        match reader.open.last() {
            Some(_) => Err(expected(tree, end, "end")),
            None => Ok(reader.shape),
        }
    }
}

fn expected(tree: &Tree<'_>, node: Node, word: &str) -> Error {
    let message = format!("expected `{word}`, found {}", tree.describe(node));
    Error::malformed(tree.start(node), message)
}

fn unexpected(tree: &Tree<'_>, node: Node) -> Error {
    Error::malformed(tree.start(node), format!("unexpected {}", tree.describe(node)))
}

/// Checks that the parameters of a block, between two nodes, have no names.
fn check_params(tree: &Tree<'_>, first: Node, end: Node) -> Result<()> {
    let mut lists = tree.between(first, end);
    let named = lists.find(|&list| tree.head(list) == Some("param") && tree.is_name(list + 2));
    named.map_or(Ok(()), |list| {
        let found = tree.describe(list + 2);
        let message = format!("unexpected {found}: parameters of a block have no names");
        Err(Error::malformed(tree.start(list + 2), message))
    })
}

/// The error for the legacy `try`, which has its code in `(do ..)`.
fn legacy(tree: &Tree<'_>, list: Node) -> Error {
    let message = "unexpected `(do ..)`: the code of a `try` stands in it as in a block, and its \
                   catches name labels, `(try (..) (catch $e $l))`";
    Error::malformed(tree.start(list), message)
}

/// An open list.
#[derive(Debug)]
enum List<'a> {
    Block(usize),
    Instruction(Instruction<'a>),
    /// `(then ..)`, or a list that the standard parser reports.
    Other,
}

struct Reader<'t, 'a> {
    tree: &'t Tree<'a>,
    shape: Shape<'a>,
    lists: Vec<List<'a>>,
    /// The open blocks.
    open: Vec<usize>,
    /// The open blocks with a label, by label.
    labels: HashMap<String, Vec<usize>>,
    /// The keyword of the last instruction.
    owner: &'a str,
    part: usize,
    depth: usize,
}

impl<'a> Reader<'_, 'a> {
    /// Reads a token, and returns the node to continue with.
    fn node(&mut self, node: Node) -> Result<Node> {
        match self.tree.kind(node) {
            Some(TokenKind::LParen) => self.list(node),
            Some(TokenKind::RParen) => self.close_list(node),
            Some(TokenKind::Keyword) => self.word(node),
            _ => Ok(node + 1),
        }
    }

    fn step(&mut self, what: StepKind<'a>) {
        let (part, depth) = (self.part, self.depth);
        self.shape.steps.push(Step { what, part, depth });
    }

    /// The innermost open block, if `node` is directly in it.
    fn block_around(&self) -> Option<usize> {
        let block = *self.open.last()?;
        (self.shape.blocks[block].lists == self.lists.len()).then_some(block)
    }

    /// Whether the catches of the innermost `try` have begun.
    fn is_behind_catch(&self) -> bool {
        self.block_around().is_some_and(|block| !self.shape.blocks[block].catches.is_empty())
    }

    fn list(&mut self, list: Node) -> Result<Node> {
        let tree = self.tree;
        let head = tree.head(list);
        if self.is_behind_catch() && head != Some("catch") {
            return Err(expected(tree, list, "catch"));
        }
        match head {
            Some("catch") if self.is_in_try() => {
                let next = self.catch(list + 1)?;
                if next != tree.last(list) {
                    return Err(expected(tree, next, ")"));
                }
                Ok(next + 1)
            }
            Some("on") => {
                // The clauses of `fiber.new` name functions.
                let label = if self.owner == "fiber.new" { 0 } else { list + 3 };
                self.label(label)?;
                Ok(tree.last(list) + 1)
            }
            Some("type" | "param" | "result" | "local" | "ref") => Ok(tree.last(list) + 1),
            Some("do") => Err(legacy(tree, list)),
            Some("then" | "else") | None => {
                self.divide_if(head);
                self.lists.push(List::Other);
                Ok(list + if head.is_some() { 2 } else { 1 })
            }
            Some(word) => match BlockKind::of(word) {
                Some(kind) => self.open(kind, list + 1),
                None => {
                    let instruction = self.instruction(list + 1)?;
                    self.lists.push(List::Instruction(instruction));
                    Ok(list + 2)
                }
            },
        }
    }

    fn close_list(&mut self, node: Node) -> Result<Node> {
        match self.lists.pop() {
            Some(List::Instruction(instruction)) => self.step(StepKind::Instruction(instruction)),
            Some(List::Block(block)) => {
                if self.open.last() != Some(&block) {
                    return Err(expected(self.tree, node, "end"));
                }
                self.close(block, node, node)?;
            }
            Some(List::Other) | None => {}
        }
        Ok(node + 1)
    }

    /// A keyword that is not the head of a list.
    fn word(&mut self, node: Node) -> Result<Node> {
        let tree = self.tree;
        let word = tree.word(node).unwrap_or_default();
        if self.is_behind_catch() && !matches!(word, "catch" | "end") {
            return Err(expected(tree, node, "catch"));
        }
        match word {
            "end" => {
                let block = self.block_around().ok_or_else(|| unexpected(tree, node))?;
                let Block { list, kind, .. } = self.shape.blocks[block];
                if list.is_some() {
                    return Err(unexpected(tree, node));
                }
                let has_label = !kind.leaves_mark() && tree.is_name(node + 1);
                let last = if has_label { node + 1 } else { node };
                self.close(block, node, last)?;
                Ok(last + 1)
            }
            "within" | "then" => self.divide(node, word),
            "catch" if self.is_in_try() => self.catch(node),
            "else" => {
                self.divide_if(Some(word));
                Ok(node + 1)
            }
            _ => match BlockKind::of(word) {
                Some(kind) => self.open(kind, node),
                None => {
                    let instruction = self.instruction(node)?;
                    self.step(StepKind::Instruction(instruction));
                    Ok(node + 1)
                }
            },
        }
    }

    /// An instruction, with lookup of its labels.
    fn instruction(&mut self, keyword: Node) -> Result<Instruction<'a>> {
        let instruction = Instruction::new(self.tree, keyword);
        self.owner = instruction.word;
        match instruction.word {
            "br" | "br_if" | "br_on_null" | "br_on_non_null" | "br_on_cast" | "br_on_cast_fail" => {
                self.label(keyword + 1)?;
            }
            "br_table" => {
                let tree = self.tree;
                let labels = tree.siblings(keyword).take_while(|&node| tree.is_name(node));
                labels.into_iter().try_for_each(|label| self.label(label))?;
            }
            _ => {}
        }
        Ok(instruction)
    }

    /// Looks up a label. The standard parser reports an unknown label.
    fn label(&mut self, node: Node) -> Result<()> {
        let Some(name) = Name::read(self.tree, node) else { return Ok(()) };
        let Some(&block) = self.labels.get(&*name.key()).and_then(|blocks| blocks.last()) else {
            return Ok(());
        };
        let block = &mut self.shape.blocks[block];
        if block.part != self.part {
            let message = format!(
                "unknown label: `{}` is outside of the code of an `answer` or \
                 `stack.redirect_to`, which can use the function's locals, but not its labels",
                name.text
            );
            return Err(Error::malformed(name.at, message));
        }
        block.target.get_or_insert(node);
        Ok(())
    }

    fn open(&mut self, kind: BlockKind, keyword: Node) -> Result<Node> {
        let tree = self.tree;
        let mut head = Instruction::new(tree, keyword);
        self.owner = head.word;
        let index = match kind {
            BlockKind::Redirect => {
                let at = tree.start(head.next);
                Some(Name { text: head.index(tree, "a local")?, at })
            }
            BlockKind::Answer => Some(head.name(tree, "a call_tag")?),
            BlockKind::RedirectTo => None,
            _ => head.optional_name(tree)?,
        };
        let end = tree.parent(keyword).map_or(tree.len(), |list| tree.last(list));
        let mut nodes = tree.between(head.next, end);
        let (type_use, signature) = type_use(tree, &mut nodes)?;
        check_params(tree, head.next, nodes.peek())?;
        let is_catch = |node| tree.head(node).is_some_and(|head| head.starts_with("catch"));
        while kind == BlockKind::TryTable && is_catch(nodes.peek()) {
            if let Some(catch) = nodes.next() {
                let labels = tree.children(catch).skip(1).last();
                self.label(labels.unwrap_or(catch))?;
            }
        }
        let body = nodes.peek();
        self.step(StepKind::Open(self.shape.blocks.len()));
        self.lists.extend(head.list.map(|_| List::Block(self.shape.blocks.len())));
        let block = Block {
            kind,
            keyword,
            list: head.list,
            index,
            type_use,
            signature,
            body,
            within: body,
            parts: Vec::new(),
            catches: Vec::new(),
            last: body,
            part: self.part,
            depth: self.depth,
            lists: self.lists.len(),
            has_marks: false,
            target: None,
        };
        self.enter(block);
        Ok(body)
    }

    /// Enters a block that was opened.
    fn enter(&mut self, block: Block<'a>) {
        let number = self.shape.blocks.len();
        let (kind, body) = (block.kind, block.body);
        if !kind.leaves_mark()
            && let Some(label) = block.index
        {
            self.labels.entry(label.key().into_owned()).or_default().push(number);
        }
        self.shape.parts[self.part].has_marks |= kind.leaves_mark();
        self.shape.blocks.push(block);
        self.open.push(number);
        match kind {
            BlockKind::Redirect => self.depth += 1,
            BlockKind::RedirectTo | BlockKind::Answer => {
                self.begin_part(number, self.tree.end(body - 1))
            }
            _ => {}
        }
    }

    /// Begins a part of the function that becomes a closure.
    fn begin_part(&mut self, block: usize, start: usize) {
        self.part = self.shape.parts.len();
        self.depth = 0;
        self.shape.parts.push(FunctionPart { range: start..start, has_marks: false });
        self.shape.blocks[block].parts.push(self.part);
    }

    /// `(then ..)` or `else` of an `if`.
    fn divide_if(&mut self, word: Option<&str>) {
        let is_if = |block: usize| self.shape.blocks[block].kind == BlockKind::If;
        match word.filter(|_| self.block_around().is_some_and(is_if)) {
            Some("then") => self.step(StepKind::Begin),
            Some("else") => self.step(StepKind::Divide),
            _ => {}
        }
    }

    /// `then` or `within`, which divides the code of a block.
    fn divide(&mut self, node: Node, word: &str) -> Result<Node> {
        let tree = self.tree;
        let number = self.block_around().ok_or_else(|| unexpected(tree, node))?;
        self.step(StepKind::Divide);
        let block = &mut self.shape.blocks[number];
        let dividers = block.kind.dividers();
        let is_divided = block.within != block.body;
        match block.parts.len().checked_sub(1).and_then(|part| dividers.get(part)) {
            Some(&divider) if !is_divided && divider == word => {}
            Some(&divider) if !is_divided => return Err(expected(tree, node, divider)),
            _ => return Err(unexpected(tree, node)),
        }
        self.shape.parts[self.part].range.end = tree.start(node);
        if block.parts.len() < dividers.len() {
            self.begin_part(number, tree.end(node));
        } else {
            block.within = node + 1;
            self.part = block.part;
            self.depth = block.depth + 1;
        }
        Ok(node + 1)
    }

    fn is_in_try(&self) -> bool {
        self.block_around().is_some_and(|block| self.shape.blocks[block].kind == BlockKind::Try)
    }

    /// `catch $e $l` of a `try`. Its label is looked up outside of the `try`.
    fn catch(&mut self, keyword: Node) -> Result<Node> {
        let Some(block) = self.block_around() else { return Err(unexpected(self.tree, keyword)) };
        let mut catch = Instruction::new(self.tree, keyword);
        catch.name(self.tree, "an event")?;
        catch.name(self.tree, "a label")?;
        self.shape.blocks[block].catches.push(keyword);
        self.forget_label(block);
        self.label(keyword + 2)?;
        Ok(catch.next)
    }

    /// Removes the label of a closed block.
    fn forget_label(&mut self, number: usize) {
        let block = &self.shape.blocks[number];
        let label = block.index.filter(|_| !block.kind.leaves_mark());
        let blocks = label.and_then(|label| self.labels.get_mut(&*label.key()));
        if let Some(blocks) = blocks.filter(|blocks| blocks.last() == Some(&number)) {
            blocks.pop();
        }
    }

    fn close(&mut self, number: usize, end: Node, last: Node) -> Result<()> {
        self.open.pop();
        self.forget_label(number);
        let block = &mut self.shape.blocks[number];
        if !block.kind.dividers().is_empty() && block.within == block.body {
            let divider = block.kind.dividers()[block.parts.len() - 1];
            return Err(expected(self.tree, end, divider));
        }
        block.last = last;
        self.part = block.part;
        self.depth = block.depth;
        let has_marks = block.has_marks || block.kind.leaves_mark();
        let part = block.part;
        if let Some(&outer) = self.open.last() {
            let outer = &mut self.shape.blocks[outer];
            outer.has_marks |= has_marks && outer.part == part;
        }
        self.step(StepKind::Close(number));
        Ok(())
    }
}
