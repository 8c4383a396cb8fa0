//! What is looked at, and what a key changes in it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use warpplay::Result;
use warpplay::cfr::spot::{HandClass, Node, NodeReport};

use super::visit::Visit;

/// Ranks, the highest first.
pub const RANKS: &str = "AKQJT98765432";
/// Suits, in the order of the rows of the card picker.
pub const SUITS: &str = "shdc";
/// Rows of the grid, and columns.
pub const SIDE: usize = RANKS.len();

/// What the grid shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Strategy,
    Ev,
    Equity,
    Reach,
}

impl View {
    const ALL: [Self; 4] = [Self::Strategy, Self::Ev, Self::Equity, Self::Reach];

    /// The view so many further on.
    fn after(self, n: usize) -> Self {
        let at = Self::ALL.iter().position(|view| *view == self).unwrap_or(0);
        Self::ALL[(at + n) % Self::ALL.len()]
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Strategy => "strategy",
            Self::Ev => "EV",
            Self::Equity => "equity",
            Self::Reach => "reach",
        }
    }
}

/// What follows from a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Stay,
    Quit,
}

/// What is looked at.
pub struct State<'a> {
    /// The file's name.
    pub name: String,
    /// From the first node to the one that is shown; never empty.
    visits: Vec<Visit<'a>>,
    /// The next visit's number.
    next: u64,
    /// The visit whose values were asked for last.
    asked: Option<u64>,
    /// Whose hands are shown.
    pub seat: usize,
    pub view: View,
    /// Row and column in the grid.
    pub cursor: [usize; 2],
    /// Row and column in the card picker.
    pub card: [usize; 2],
    /// Whether arrows move in the grid where a card is dealt.
    pub stays_in_grid: bool,
    /// The chosen action.
    pub action: usize,
    /// Hands of the class that are scrolled away.
    pub first_hand: usize,
    pub shows_help: bool,
    /// Why a key did nothing.
    pub note: Option<String>,
}

impl<'a> State<'a> {
    /// The last of some nodes, each of which follows the one before it.
    pub fn new(name: String, nodes: Vec<Node<'a>>) -> Result<Self> {
        let visits = nodes.into_iter().zip(0..).map(|(node, number)| Visit::new(number, node));
        let visits = visits.collect::<Result<Vec<_>>>()?;
        let mut state = Self {
            name,
            next: visits.len() as u64,
            visits,
            asked: None,
            seat: 0,
            view: View::Strategy,
            cursor: [0; 2],
            card: [0; 2],
            stays_in_grid: false,
            action: 0,
            first_hand: 0,
            shows_help: false,
            note: None,
        };
        state.arrive();
        // The first class that the seat has.
        let cell = state.visit().classes[state.seat].iter().position(|class| class.reach > 0.0).unwrap_or(0);
        state.cursor = [cell / SIDE, cell % SIDE];
        Ok(state)
    }

    /// The node that is shown.
    pub fn visit(&self) -> &Visit<'a> {
        // There is always one: only those after the first are taken away.
        &self.visits[self.visits.len() - 1]
    }

    /// The class under the cursor.
    pub fn class(&self) -> &HandClass {
        &self.visit().classes[self.seat][self.cursor[0] * SIDE + self.cursor[1]]
    }

    /// Whether arrows move in the card picker.
    pub fn is_picking(&self) -> bool {
        self.visit().node.is_deal() && !self.stays_in_grid
    }

    /// The card at a place of the picker.
    pub fn card_at([row, column]: [usize; 2]) -> String {
        RANKS[column..=column].to_string() + &SUITS[row..=row]
    }

    /// The node whose values are wanted and not asked for, with its number; it then counts as asked for.
    pub fn ask(&mut self) -> Option<(u64, Node<'a>)> {
        let visit = self.visit();
        if visit.has_values || self.asked == Some(visit.number) {
            return None;
        }
        let wanted = (visit.number, visit.node.clone());
        self.asked = Some(wanted.0);
        Some(wanted)
    }

    /// Takes the values of a visit, if it is still one of those on the way.
    pub fn take(&mut self, number: u64, report: NodeReport) -> Result<()> {
        match self.visits.iter_mut().find(|visit| visit.number == number) {
            Some(visit) => visit.take(report),
            None => Ok(()),
        }
    }

    /// Obeys a key.
    pub fn press(&mut self, key: KeyEvent) -> Result<Step> {
        self.note = None;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Ok(Step::Quit),
            KeyCode::Char('q') => return Ok(Step::Quit),
            _ if is_control => {}
            _ if self.shows_help => self.shows_help = false,
            KeyCode::Char('?') => self.shows_help = true,
            KeyCode::Tab | KeyCode::BackTab => (self.seat, self.first_hand) = (1 - self.seat, 0),
            KeyCode::Char('v') => self.view = self.view.after(1),
            KeyCode::Char('V') => self.view = self.view.after(View::ALL.len() - 1),
            KeyCode::Up => self.go(-1, 0),
            KeyCode::Down => self.go(1, 0),
            KeyCode::Left => self.go(0, -1),
            KeyCode::Right => self.go(0, 1),
            KeyCode::Char('j') => self.choose(self.action + 1),
            KeyCode::Char('k') => self.choose(self.action.saturating_sub(1)),
            KeyCode::PageDown => {
                self.first_hand = (self.first_hand + 1).min(self.class().hands.len().saturating_sub(1));
            }
            KeyCode::PageUp => self.first_hand = self.first_hand.saturating_sub(1),
            KeyCode::Char(' ') if self.visit().node.is_deal() => self.stays_in_grid = !self.stays_in_grid,
            KeyCode::Enter if self.visit().node.is_deal() => self.deal()?,
            KeyCode::Enter => self.act(self.action)?,
            KeyCode::Char(digit) => {
                if let Some(digit) = digit.to_digit(10) {
                    // 0 is the tenth.
                    self.act((digit as usize + 9) % 10)?;
                }
            }
            KeyCode::Backspace => self.back_to(self.visits.len().saturating_sub(1)),
            KeyCode::Home => self.back_to(1),
            _ => {}
        }
        Ok(Step::Stay)
    }

    /// Moves the cursor of the picker or of the grid.
    fn go(&mut self, down: isize, right: isize) {
        let is_picking = self.is_picking();
        let (cursor, n_rows) = if is_picking { (&mut self.card, SUITS.len()) } else { (&mut self.cursor, SIDE) };
        let moved = |at: usize, by: isize, n: usize| at.saturating_add_signed(by).min(n - 1);
        *cursor = [moved(cursor[0], down, n_rows), moved(cursor[1], right, SIDE)];
        if !is_picking {
            self.first_hand = 0;
        }
    }

    fn choose(&mut self, action: usize) {
        self.action = action.min(self.visit().report.actions.len().saturating_sub(1));
    }

    fn act(&mut self, action: usize) -> Result<()> {
        let visit = self.visit();
        let next = match visit.report.actions.get(action) {
            Some(action) => visit.node.child(action)?,
            None => {
                self.note = Some(match visit.report.actions.len() {
                    0 if visit.node.is_deal() => "a card is dealt here: arrows choose it, Enter deals it".to_string(),
                    0 => "the hand is over: Backspace goes back".to_string(),
                    n => format!("there is no action {}: 1 to {n}", action + 1),
                });
                return Ok(());
            }
        };
        self.visit_next(next)
    }

    fn deal(&mut self) -> Result<()> {
        let card = Self::card_at(self.card);
        if !self.visit().cards.contains(&card) {
            self.note = Some(format!("{card} lies on the board"));
            return Ok(());
        }
        let next = self.visit().node.deal(&card)?;
        self.visit_next(next)
    }

    fn visit_next(&mut self, node: Node<'a>) -> Result<()> {
        self.visits.push(Visit::new(self.next, node)?);
        self.next += 1;
        self.arrive();
        Ok(())
    }

    fn back_to(&mut self, n_visits: usize) {
        if self.visits.len() == 1 {
            self.note = Some("this is the first node".to_string());
            return;
        }
        self.visits.truncate(n_visits.max(1));
        self.arrive();
    }

    /// What a new node sets: the seat that acts is shown, and the first possible card chosen.
    fn arrive(&mut self) {
        self.seat = self.visit().report.seat.unwrap_or(self.seat);
        (self.action, self.first_hand, self.stays_in_grid) = (0, 0, false);
        let places = (0..SIDE).flat_map(|column| (0..SUITS.len()).map(move |row| [row, column]));
        let mut possible = places.filter(|&place| self.visit().cards.contains(&Self::card_at(place)));
        let card = possible.next().unwrap_or_default();
        self.card = card;
    }
}
