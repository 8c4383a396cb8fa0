//! The sheet of an item: tables, figures, and what is to be said beside them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Figure, Item, text};

/// A value of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// A number, written with the digits of its column.
    Number(f64),
    /// Words.
    Text(String),
    /// Nothing: not published, not measured.
    Empty,
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Number(value) } else { Self::Text(value.to_string()) }
    }
}

macro_rules! from_whole {
    ($($type:ty),+) => {
        $(impl From<$type> for Cell {
            fn from(value: $type) -> Self {
                Self::Number(value as f64)
            }
        })+
    };
}
from_whole!(u8, u16, u32, i32, u64, i64, usize);

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its head, with the unit: `GPU, ms`.
    pub name: String,
    /// Digits behind the point of its numbers; `None`: whole numbers whole, others with four significant digits.
    pub digits: Option<usize>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, each as long as there are columns.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without columns.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), columns: Vec::new(), rows: Vec::new() }
    }

    /// One more column.
    #[must_use]
    pub fn column(self, name: impl Into<String>) -> Self {
        self.column_of(name, None)
    }

    /// One more column, with so many digits behind the point.
    #[must_use]
    pub fn digits(self, name: impl Into<String>, digits: usize) -> Self {
        self.column_of(name, Some(digits))
    }

    fn column_of(mut self, name: impl Into<String>, digits: Option<usize>) -> Self {
        self.columns.push(Column { name: name.into(), digits });
        self
    }

    /// One more row; cells that are missing are empty, those too many are left out.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().take(self.columns.len()).collect();
        cells.resize(self.columns.len(), Cell::Empty);
        self.rows.push(cells);
    }

    /// As a table of Markdown.
    pub fn markdown(&self) -> String {
        text::markdown(&self.lines(), &self.left())
    }

    /// All cells as text, the head first.
    fn lines(&self) -> Vec<Vec<String>> {
        let head = self.columns.iter().map(|column| column.name.clone()).collect();
        let cell = |(cell, column): (&Cell, &Column)| match cell {
            Cell::Empty => String::new(),
            Cell::Text(text) => text.clone(),
            Cell::Number(value) => text::number(*value, column.digits),
        };
        let rows = self.rows.iter().map(|row| row.iter().zip(&self.columns).map(cell).collect());
        std::iter::once(head).chain(rows).collect()
    }

    /// Which columns are aligned to the left: the first, and those with words.
    fn left(&self) -> Vec<bool> {
        let has_words = |at: usize| self.rows.iter().any(|row| matches!(row.get(at), Some(Cell::Text(_))));
        (0..self.columns.len()).map(|at| at == 0 || has_words(at)).collect()
    }
}

/// As aligned text, the title above.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&text::grid(&self.title, &self.lines(), &self.left()))
    }
}

/// What an item comes to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sheet {
    /// Name of the item.
    pub item: String,
    /// Its title.
    pub title: String,
    /// Its location in the publication.
    pub location: String,
    /// Tables, the published values beside ours.
    pub tables: Vec<Table>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// What the tables say, a sentence each.
    pub notes: Vec<String>,
    /// What was not measured, and why.
    pub left_out: Vec<String>,
}

impl Sheet {
    /// An empty sheet.
    pub fn new(item: &Item) -> Self {
        Self {
            item: item.name.into(),
            title: item.title.into(),
            location: item.location.into(),
            tables: Vec::new(),
            figures: Vec::new(),
            notes: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// With one more table.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.tables.push(table);
        self
    }

    /// With one more figure.
    #[must_use]
    pub fn figure(mut self, figure: Figure) -> Self {
        self.figures.push(figure);
        self
    }

    /// With one more note.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// With one more thing that was not measured.
    #[must_use]
    pub fn left_out(mut self, what: impl Into<String>) -> Self {
        self.left_out.push(what.into());
        self
    }
}

impl fmt::Display for Sheet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n{}  {} ({})", self.item, self.title, self.location)?;
        for table in &self.tables {
            write!(f, "\n{table}")?;
        }
        if !self.notes.is_empty() || !self.left_out.is_empty() {
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "  {note}"))?;
        self.left_out.iter().try_for_each(|what| writeln!(f, "  left out: {what}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned() {
        let mut table = Table::new("times").column("game").digits("ms", 1).column("program");
        table.row(["a".into(), 1.25.into(), "plain".into()]);
        table.row(["b|c".into(), 1000.0.into()]);
        assert_eq!(table.to_string(), "  times\n  game       ms  program\n  a         1.2  plain\n  b|c   1,000.0\n");
        assert_eq!(
            table.markdown(),
            "| game | ms | program |\n| --- | ---: | --- |\n| a | 1.2 | plain |\n| b\\|c | 1,000.0 |  |\n"
        );
    }
}
