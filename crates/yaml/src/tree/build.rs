//! Parser events of one document to a node, aliases and merge keys included.

use std::collections::HashMap;

use granit_parser::{Event, Marker, ScalarStyle, Span, Tag};

use super::{Budget, TreeError, TreeErrorKind};
use crate::node::{Data, Location, MapEntry, Style, YamlNode};

/// What an event led to.
pub(super) enum BuildStep<'a> {
    /// The document goes on.
    More,
    /// The document is complete.
    Done(YamlNode<'a>),
}

/// An open collection.
struct Frame<'a> {
    node: YamlNode<'a>,
    anchor: usize,
    /// The key whose value is awaited, in a map.
    key: Option<YamlNode<'a>>,
    /// What had been spent when the collection was opened.
    spent_before: Spent,
}

#[derive(Clone, Copy, Default)]
struct Spent {
    nodes: usize,
    text_bytes: usize,
}

/// A complete anchored value and its size.
struct AnchoredValue<'a> {
    node: YamlNode<'a>,
    size: Spent,
}

pub(super) struct Builder<'a> {
    budget: Budget,
    shift: usize,
    spent: Spent,
    open: Vec<Frame<'a>>,
    anchors: HashMap<usize, AnchoredValue<'a>>,
    root: Option<YamlNode<'a>>,
}

/// A parser position as a location; `shift` bytes were cut off before parsing.
pub(super) fn location(marker: &Marker, shift: usize) -> Location {
    Location {
        line: u32::try_from(marker.line()).unwrap_or(u32::MAX),
        column: u32::try_from(marker.col() + 1).unwrap_or(u32::MAX),
        offset: marker.byte_offset().unwrap_or_default() + shift,
    }
}

impl<'a> Builder<'a> {
    pub(super) fn new(budget: Budget, shift: usize) -> Self {
        Self {
            budget,
            shift,
            spent: Spent::default(),
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
        }
    }

    pub(super) fn nodes(&self) -> usize {
        self.spent.nodes
    }

    pub(super) fn take(
        &mut self,
        event: Event<'a>,
        span: Span,
    ) -> Result<BuildStep<'a>, TreeError> {
        let at = location(&span.start, self.shift);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let before = self.spent;
                self.spend(at, 1, text.len())?;
                let data = Data::Scalar {
                    text,
                    style: style_of(style),
                };
                let mut node = new_node(at, tag.as_deref(), data);
                node.end = location(&span.end, self.shift).offset;
                self.complete(node, anchor, before)?;
            }
            Event::SequenceStart(_, anchor, tag) => {
                self.open(new_node(at, tag.as_deref(), Data::List(Vec::new())), anchor)?;
            }
            Event::MappingStart(_, anchor, tag) => {
                self.open(new_node(at, tag.as_deref(), Data::Map(Vec::new())), anchor)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close()?,
            Event::Alias(id) => self.expand(id, at)?,
            Event::DocumentEnd => {
                if let Some(root) = self.root.take() {
                    return Ok(BuildStep::Done(root));
                }
            }
            _ => {}
        }
        Ok(BuildStep::More)
    }

    fn spend(&mut self, at: Location, nodes: usize, text_bytes: usize) -> Result<(), TreeError> {
        self.spent.nodes = self.spent.nodes.saturating_add(nodes);
        self.spent.text_bytes = self.spent.text_bytes.saturating_add(text_bytes);
        let kind = if self.spent.nodes > self.budget.nodes {
            TreeErrorKind::TooManyNodes(self.budget.nodes)
        } else if self.spent.text_bytes > self.budget.text_bytes {
            TreeErrorKind::TooMuchText(self.budget.text_bytes)
        } else {
            return Ok(());
        };
        Err(TreeError { location: at, kind })
    }

    fn open(&mut self, node: YamlNode<'a>, anchor: usize) -> Result<(), TreeError> {
        let spent_before = self.spent;
        self.spend(node.location, 1, 0)?;
        if self.open.len() >= self.budget.depth {
            let kind = TreeErrorKind::TooDeep(self.budget.depth);
            return Err(TreeError {
                location: node.location,
                kind,
            });
        }
        self.open.push(Frame {
            node,
            anchor,
            key: None,
            spent_before,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), TreeError> {
        let Some(mut frame) = self.open.pop() else {
            return Ok(());
        };
        if let Data::Map(entries) = &mut frame.node.data
            && entries.iter().any(|entry| is_merge(&entry.key))
        {
            *entries = merge(std::mem::take(entries))?;
        }
        self.complete(frame.node, frame.anchor, frame.spent_before)
    }

    fn expand(&mut self, id: usize, at: Location) -> Result<(), TreeError> {
        let Some(AnchoredValue { size, .. }) = self.anchors.get(&id) else {
            return Err(TreeError {
                location: at,
                kind: TreeErrorKind::RecursiveAlias,
            });
        };
        let (size, before) = (*size, self.spent);
        self.spend(at, size.nodes, size.text_bytes)?;
        match self.anchors.get(&id).map(|anchored| anchored.node.clone()) {
            Some(node) => self.complete(node, 0, before),
            None => Ok(()),
        }
    }

    /// Hands a complete node to its anchor and its parent.
    fn complete(
        &mut self,
        node: YamlNode<'a>,
        anchor: usize,
        before: Spent,
    ) -> Result<(), TreeError> {
        if anchor != 0 {
            let size = Spent {
                nodes: self.spent.nodes - before.nodes,
                text_bytes: self.spent.text_bytes - before.text_bytes,
            };
            // The copy kept for aliases is memory too.
            self.spend(node.location, size.nodes, size.text_bytes)?;
            self.anchors.insert(
                anchor,
                AnchoredValue {
                    node: node.clone(),
                    size,
                },
            );
        }
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut parent.node.data {
            Data::List(items) => items.push(node),
            Data::Map(entries) => match parent.key.take() {
                None => parent.key = Some(node),
                Some(key) => entries.push(MapEntry {
                    key,
                    value: node,
                    merged: false,
                }),
            },
            Data::Scalar { .. } => {}
        }
        Ok(())
    }
}

fn new_node<'a>(location: Location, tag: Option<&Tag>, data: Data<'a>) -> YamlNode<'a> {
    let tag = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()).into_boxed_str());
    YamlNode {
        location,
        end: location.offset,
        tag,
        data,
    }
}

fn style_of(style: ScalarStyle) -> Style {
    match style {
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::SingleQuoted,
        ScalarStyle::DoubleQuoted => Style::DoubleQuoted,
        ScalarStyle::Literal => Style::Literal,
        ScalarStyle::Folded => Style::Folded,
    }
}

fn is_merge(key: &YamlNode<'_>) -> bool {
    let plain = matches!(&key.data, Data::Scalar { text, style: Style::Plain } if text == "<<");
    plain
        && key
            .tag
            .as_deref()
            .is_none_or(|tag| tag == "tag:yaml.org,2002:merge")
}

/// Puts the entries of merged maps before the map's own, so that the own ones win.
fn merge(entries: Vec<MapEntry<'_>>) -> Result<Vec<MapEntry<'_>>, TreeError> {
    let mut own = Vec::with_capacity(entries.len());
    let mut merged = Vec::new();
    for entry in entries {
        if !is_merge(&entry.key) {
            own.push(entry);
            continue;
        }
        let at = entry.value.location;
        let maps = match entry.value.data {
            Data::Map(map) => vec![map],
            // The first map of the list has the highest rank, so it goes last.
            Data::List(items) => items
                .into_iter()
                .rev()
                .map(map_entries)
                .collect::<Result<_, _>>()?,
            Data::Scalar { .. } => {
                return Err(TreeError {
                    location: at,
                    kind: TreeErrorKind::BadMerge,
                });
            }
        };
        merged.extend(maps.into_iter().flatten());
    }
    merged.iter_mut().for_each(|entry| entry.merged = true);
    merged.append(&mut own);
    Ok(merged)
}

fn map_entries(node: YamlNode<'_>) -> Result<Vec<MapEntry<'_>>, TreeError> {
    match node.data {
        Data::Map(entries) => Ok(entries),
        _ => Err(TreeError {
            location: node.location,
            kind: TreeErrorKind::BadMerge,
        }),
    }
}
