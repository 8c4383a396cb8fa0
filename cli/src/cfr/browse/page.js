"use strict";

// Browses the nodes of a solved spot. The address after `#` names the steps from the first node, actions and cards with commas between; everything shown follows from it, and from the
// seat, the view and the class of hands that the reader chose.

const RANKS = "AKQJT98765432";
const SUITS = { c: ["♣", "clubs"], d: ["♦", "diamonds"], h: ["♥", "hearts"], s: ["♠", "spades"] };
const VIEWS = { strategy: "Strategy", ev: "EV", equity: "Equity", reach: "Reach" };
const SEATS = ["Seat 0, out of position", "Seat 1, in position"];

const data = JSON.parse(document.getElementById("data").textContent);
/** `seat` is null while it follows the seat that acts. */
const state = { seat: null, view: "strategy", class: null, steps: [], node: data.nodes[0], hands: null };

const $ = (id) => document.getElementById(id);
const percent = (part) => `${(100 * part).toFixed(1)} %`;
const chips = (value) => value.toFixed(2);
const sum = (values) => values.reduce((total, value) => total + value, 0);
const cardsOf = (text) => text.match(/../g) ?? [];
const shownSeat = () => state.seat ?? state.node.seat ?? 0;

/** An element with attributes and children; texts are never read as HTML. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

// Hands

function classOf(hand) {
  const [high, low, suited] = [hand[0], hand[2], hand[1] === hand[3]];
  return high === low ? high + low : high + low + (suited ? "s" : "o");
}

function className(row, column) {
  const [high, low] = [RANKS[Math.min(row, column)], RANKS[Math.max(row, column)]];
  return row === column ? high + low : high + low + (row < column ? "s" : "o");
}

/** How many hands of each class the board leaves possible. */
function possibleHands(board) {
  const deck = [...RANKS].flatMap((rank) => Object.keys(SUITS).map((suit) => rank + suit));
  const left = deck.filter((card) => !board.includes(card));
  const counts = {};
  left.forEach((card, at) => left.slice(at + 1).forEach((other) => {
    const name = classOf(card + other);
    counts[name] = (counts[name] ?? 0) + 1;
  }));
  return counts;
}

/** Reads the numbers of a node one after the other: 16 bits each, between two ends. */
function reader(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  let at = 0;
  return (n, [low, high]) => Array.from({ length: n }, () => {
    at += 2;
    return low + (view.getUint16(at - 2, true) / 65535) * (high - low);
  });
}

/** The hands of both seats at a node; null where the hand is over. */
function unpack(node) {
  if (!node.hands) return null;
  const board = cardsOf(node.board);
  const read = reader(node.hands.numbers);
  const seats = data.hands.map((hands, seat) => {
    const open = hands.filter((hand) => !board.some((card) => hand.includes(card)));
    const reach = read(open.length, [0, node.hands.reach[seat]]);
    const equity = read(open.length, [0, 1]);
    const ev = read(open.length, node.hands.chips);
    return open.map((hand, at) => ({
      hand, class: classOf(hand), reach: reach[at], equity: equity[at], ev: ev[at], strategy: [], actionEv: [],
    }));
  });
  const actors = seats[node.seat] ?? [];
  for (const [field, ends] of [["strategy", [0, 1]], ["actionEv", node.hands.chips]]) {
    node.next.forEach(() => read(actors.length, ends).forEach((value, at) => actors[at][field].push(value)));
  }
  seats.forEach((hands, seat) => weigh(hands, seats[1 - seat]));
  return seats;
}

/** Gives each hand its weight: its reach times that of the other seat's hands that can be held beside it. */
function weigh(hands, others) {
  const ofCards = {}, ofHands = {};
  for (const { hand, reach } of others) {
    ofHands[hand] = reach;
    for (const card of cardsOf(hand)) ofCards[card] = (ofCards[card] ?? 0) + reach;
  }
  const all = sum(others.map(({ reach }) => reach));
  for (const hand of hands) {
    const blocked = sum(cardsOf(hand.hand).map((card) => ofCards[card] ?? 0)) - (ofHands[hand.hand] ?? 0);
    // Up to this part of all it may be a rounding error of the difference.
    const beside = all - blocked > 1e-12 * all ? all - blocked : 0;
    hand.weight = hand.reach * beside;
  }
}

/** Means over hands by their weights; over all alike where none has any. */
function meansOf(hands) {
  const all = sum(hands.map(({ weight }) => weight));
  const mean = (value) => sum(hands.map((hand) => (all > 0 ? hand.weight / all : 1 / hands.length) * value(hand)));
  const actions = (hands[0]?.strategy ?? []).map((_, action) => action);
  return {
    weight: all,
    reach: sum(hands.map(({ reach }) => reach)),
    equity: mean(({ equity }) => equity),
    ev: mean(({ ev }) => ev),
    strategy: actions.map((action) => mean(({ strategy }) => strategy[action])),
    actionEv: actions.map((action) => mean(({ actionEv }) => actionEv[action])),
  };
}

/** Hands by class. */
function byClass(hands) {
  const classes = {};
  for (const hand of hands) (classes[hand.class] ??= []).push(hand);
  return classes;
}

// Names and colours

function cardMark(card) {
  return element("span", { class: `card ${card[1]}` }, card[0] + SUITS[card[1]][0]);
}

const cardMarks = (text) => cardsOf(text).map(cardMark);

/** What players call an action of a node, with a capital letter. */
function actionName(node, action) {
  const name = node.names[node.actions.indexOf(action)];
  return name[0].toUpperCase() + name.slice(1);
}

/** Folds blue, checks and calls green, bets red: the larger, the darker. */
function actionColours(actions) {
  const bets = actions.filter((action) => action.startsWith("r"));
  return actions.map((action) => {
    if (action === "f") return "#2f6fb3";
    if (action === "c") return "#2e7d46";
    const part = bets.length > 1 ? bets.indexOf(action) / (bets.length - 1) : 0.4;
    return `hsl(4 72% ${52 - 28 * part}%)`;
  });
}

/** A colour between low (0) and high (1). */
const heat = (part) => `hsl(${270 - 130 * part} 55% 38%)`;

// Going through the tree

/** The node after steps, those that it has; and the nodes on the way. */
function follow(steps) {
  const nodes = [data.nodes[0]];
  for (const step of steps) {
    const node = nodes.at(-1);
    const action = node.actions.indexOf(step);
    const next = action >= 0 ? node.next[action] : node.cards[step];
    if (next === undefined) break;
    nodes.push(data.nodes[next]);
  }
  return nodes;
}

function go(steps) {
  location.hash = steps.join(",");
}

function showAddress() {
  const steps = decodeURIComponent(location.hash.slice(1)).split(",").filter(Boolean);
  const nodes = follow(steps);
  const held = document.activeElement?.closest("#actions, #picker, #grid");
  Object.assign(state, { steps: steps.slice(0, nodes.length - 1), node: nodes.at(-1), seat: null });
  state.hands = unpack(state.node);
  $("message").textContent = "";
  showLine(nodes);
  showNode();
  showHands();
  // The keyboard goes on at the next choice, or in the new grid.
  const next = held?.id === "grid" ? "#grid [tabindex='0']" : "#actions button, #picker [tabindex='0']";
  if (held) document.querySelector(next)?.focus();
}

// Showing

function showLine(nodes) {
  const [first] = nodes;
  const start = [first.street, " ", ...cardMarks(first.board), first.history ? ` after ${first.history}` : ""];
  const labels = state.steps.map((step, at) => {
    const node = nodes[at];
    return node.kind === "deal" ? [cardMark(step)] : [`${node.seat}: ${actionName(node, step)}`];
  });
  $("line").replaceChildren(...[start, ...labels].map((label, at) => {
    const button = element("button", { type: "button", "data-depth": at }, ...label);
    if (at === state.steps.length) button.setAttribute("aria-current", "step");
    button.onclick = () => go(state.steps.slice(0, at));
    return element("li", {}, button);
  }));
}

function placeText(node) {
  if (node.kind === "deal") return "a card is dealt";
  if (node.kind === "action") return `seat ${node.seat} acts`;
  return node.history.endsWith("f") ? "folded: the hand is over" : "the cards are shown";
}

function showNode() {
  const { node } = state;
  $("place").replaceChildren(...cardMarks(node.board), ` · pot ${Number(node.pot.toFixed(2))} · ${placeText(node)}`);
  Object.assign($("place").dataset, { board: node.board, pot: node.pot, history: node.history, kind: node.kind });
  $("totals").tBodies[0].replaceChildren(...SEATS.map((name, seat) => {
    const row = element("tr", { "data-seat": seat, "data-ev": node.ev[seat], "data-equity": node.equity[seat] });
    if (node.seat === seat) row.className = "acts";
    row.append(element("td", {}, name), element("td", {}, chips(node.ev[seat])), element("td", {}, percent(node.equity[seat])));
    return row;
  }));
  showActions();
  showPicker();
}

function showActions() {
  const { node } = state;
  const frequencies = node.kind === "action" ? meansOf(state.hands[node.seat]).strategy : [];
  const colours = actionColours(node.actions);
  $("actions").replaceChildren(...node.actions.map((action, at) => {
    const attributes = { type: "button", "data-action": action, "data-frequency": frequencies[at] };
    const button = element("button", attributes, actionName(node, action), element("small", {}, percent(frequencies[at])));
    button.style.background = colours[at];
    button.onclick = () => go([...state.steps, action]);
    return button;
  }));
}

/** A cell of a grid that arrow keys walk; one of them is in the order of Tab. */
function cell(row, column, attributes, ...children) {
  return element("div", { role: "gridcell", tabindex: -1, "data-row": row, "data-column": column, ...attributes }, ...children);
}

function pickerCell(suit, row, rank, column) {
  const { node } = state;
  const card = rank + suit;
  const isDealt = cardsOf(node.board).includes(card);
  const hasData = card in node.cards;
  const name = `${rank} of ${SUITS[suit][1]}${isDealt ? ", on the board" : hasData ? "" : ", not in this page"}`;
  const made = cell(row, column, { "data-card": card, "aria-label": name, "aria-disabled": String(!hasData) }, cardMark(card));
  if (isDealt) made.className = "dealt";
  made.onclick = () => (hasData ? go([...state.steps, card]) : isDealt ? null : showMissing(card));
  return made;
}

function showPicker() {
  const picker = $("picker");
  picker.hidden = state.node.kind !== "deal";
  if (picker.hidden) return picker.replaceChildren();
  picker.replaceChildren(...Object.keys(SUITS).reverse().map((suit, row) => {
    return element("div", { role: "row" }, ...[...RANKS].map((rank, column) => pickerCell(suit, row, rank, column)));
  }));
  const first = picker.querySelector("[aria-disabled='false']") ?? picker.querySelector(":not(.dealt)[data-card]");
  first.tabIndex = 0;
}

/** How to get a card that the page does not have. */
function showMissing(card) {
  const dealt = state.steps.filter((step) => /^[2-9TJQKA][cdhs]$/.test(step)).join("");
  const runouts = [data.runouts, dealt + card].filter(Boolean).join(",");
  $("message").textContent = `This page has no nodes after ${card}. To get them: ${data.command} --html PAGE.html --runouts "${runouts}"`;
}

function showHands() {
  $("hands").hidden = $("details").hidden = !state.hands;
  if (!state.hands) return;
  for (const input of document.querySelectorAll("#seats input")) input.checked = Number(input.value) === shownSeat();
  for (const input of document.querySelectorAll("#views input")) input.checked = input.value === state.view;
  // The page opens on the first class that the seat has.
  state.class ??= firstClass();
  showGrid();
  showDetails();
}

/** The first class in the order of the grid that comes to the node; AA where none does. */
function firstClass() {
  const held = new Set(state.hands[shownSeat()].filter(({ reach }) => reach > 0).map((hand) => hand.class));
  const names = [...RANKS].flatMap((_, row) => [...RANKS].map((_, column) => className(row, column)));
  return names.find((name) => held.has(name)) ?? "AA";
}

/** What the grid shows of each class: means, the part of its possible hands that comes here, and the hands. */
function gridClasses() {
  const possible = possibleHands(state.node.board);
  const classes = Object.entries(byClass(state.hands[shownSeat()]));
  return Object.fromEntries(classes.map(([name, hands]) => {
    const means = meansOf(hands);
    return [name, { ...means, part: means.reach / possible[name] }];
  }));
}

function showGrid() {
  const classes = gridClasses();
  const reached = Object.values(classes).filter(({ weight }) => weight > 0).map(({ ev }) => ev);
  const ends = [Math.min(...reached), Math.max(...reached)];
  $("grid").replaceChildren(...[...RANKS].map((_, row) => {
    const cells = [...RANKS].map((_, column) => gridCell(row, column, classes[className(row, column)], ends));
    return element("div", { role: "row" }, ...cells);
  }));
  select(state.class);
}

function gridCell(row, column, means, ends) {
  const name = className(row, column);
  const made = cell(row, column, { "data-class": name, "aria-label": `${name}: ${cellText(means)}`, "aria-selected": "false" }, name);
  if (!means || means.reach === 0) {
    made.className = "absent";
    return made;
  }
  Object.assign(made.dataset, {
    reach: means.part, equity: means.equity, ev: means.ev, strategy: means.strategy.join(","), weight: means.weight,
  });
  const [value, fill, height] = cellLook(means, ends);
  made.append(element("small", {}, value));
  made.style.backgroundImage = fill;
  made.style.backgroundSize = `100% ${(100 * height).toFixed(1)}%`;
  return made;
}

/** Text, fill and height of a cell in the view. */
function cellLook(means, [low, high]) {
  const plain = (colour) => `linear-gradient(${colour}, ${colour})`;
  switch (state.view) {
    case "ev": return [chips(means.ev), plain(heat(high > low ? (means.ev - low) / (high - low) : 0.5)), 1];
    case "equity": return [(100 * means.equity).toFixed(1), plain(heat(means.equity)), 1];
    case "reach": return [(100 * means.part).toFixed(1), plain("#7a5195"), means.part];
    default: return ["", means.strategy.length ? stripes(means.strategy) : plain("#5c6b7f"), means.part];
  }
}

/** Actions side by side by their frequencies, the largest bet first. */
function stripes(strategy) {
  const colours = actionColours(state.node.actions);
  let from = 0;
  const parts = strategy.map((part, action) => [part, colours[action]]).reverse().map(([part, colour]) => {
    const to = from + 100 * part;
    const stripe = `${colour} ${from.toFixed(2)}% ${to.toFixed(2)}%`;
    from = to;
    return stripe;
  });
  return `linear-gradient(to right, ${parts.join(", ")})`;
}

function cellText(means) {
  if (!means || means.reach === 0) return "not in the range";
  const actions = means.strategy.map((part, at) => `${actionName(state.node, state.node.actions[at])} ${percent(part)}`);
  return [...actions, `EV ${chips(means.ev)}`, `equity ${percent(means.equity)}`, `reach ${percent(means.part)}`].join(", ");
}

/** Shows the hands of a class, and marks its cell. */
function select(name) {
  state.class = name;
  for (const one of document.querySelectorAll("#grid [role='gridcell']")) {
    const isChosen = one.dataset.class === name;
    one.setAttribute("aria-selected", String(isChosen));
    one.tabIndex = isChosen ? 0 : -1;
  }
}

function comboRow(label, values, attributes) {
  const { node } = state;
  const small = (text) => element("small", {}, text);
  const actions = values.strategy.map((part, at) => [percent(part), small(chips(values.actionEv[at]))]);
  const cells = [label, [percent(values.equity), small(percent(values.reach))], [chips(values.ev)], ...actions];
  const row = element("tr", attributes, ...cells.map((parts) => element("td", {}, ...parts)));
  if (values.weight === 0) row.className = "never";
  Object.assign(row.dataset, {
    reach: values.reach, equity: values.equity, ev: values.ev, strategy: values.strategy.join(","), actionEv: values.actionEv.join(","),
    actions: node.actions.join(","),
  });
  return row;
}

function showDetails() {
  const { node } = state;
  const seat = shownSeat();
  const hands = byClass(state.hands[seat])[state.class] ?? [];
  $("class").textContent = `${state.class} of seat ${seat}${hands.length ? "" : ": no hand in its range"}`;
  const small = (text) => element("small", {}, text);
  const actions = node.seat === seat ? node.actions.map((action) => [actionName(node, action), small("EV")]) : [];
  const heads = hands.length ? [["hand"], ["equity", small("reach")], ["EV", small(data.unit)], ...actions] : [];
  const head = element("tr", {}, ...heads.map((parts) => element("th", { scope: "col" }, ...parts)));
  $("combos").tHead.replaceChildren(head);
  const means = meansOf(hands);
  const all = hands.length ? [comboRow([state.class], { ...means, reach: means.reach / hands.length }, {})] : [];
  $("combos").tBodies[0].replaceChildren(...all, ...hands.map((hand) => comboRow(cardMarks(hand.hand), hand, { "data-hand": hand.hand })));
}

// Controls

function radios(id, options, change) {
  $(id).append(...options.map(([value, text]) => {
    const input = element("input", { type: "radio", name: id, value });
    input.onchange = () => change(value);
    return element("label", {}, input, text);
  }));
}

function choose(event) {
  const found = event.target.closest("#grid [role='gridcell']");
  if (!found || found.dataset.class === state.class) return;
  select(found.dataset.class);
  showDetails();
}

/** Arrow keys, Home and End move in a grid; Enter and space choose. */
function moveInGrid(event) {
  const from = event.target.closest("[role='gridcell']");
  if (!from) return;
  const [row, column] = [Number(from.dataset.row), Number(from.dataset.column)];
  const to = {
    ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
    Home: [row, 0], End: [row, 12],
  }[event.key];
  if (event.key === "Enter" || event.key === " ") from.click();
  else if (!to) return;
  event.preventDefault();
  const next = to && event.currentTarget.querySelector(`[data-row="${to[0]}"][data-column="${to[1]}"]:not(.dealt)`);
  if (!next) return;
  from.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function shortcut(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Backspace" && state.steps.length) go(state.steps.slice(0, -1));
  else if (/^[1-9]$/.test(event.key) && state.node.actions[event.key - 1]) go([...state.steps, state.node.actions[event.key - 1]]);
}

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function showTheme() {
  $("theme").textContent = isDark() ? "Light" : "Dark";
  $("theme").setAttribute("aria-label", `Use ${isDark() ? "light" : "dark"} colours`);
}

function switchTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
}

function start() {
  const { iterations, exploitability, measured_at: measuredAt, unit } = data;
  $("file").textContent = data.file;
  $("unit").textContent = unit;
  const measured = exploitability === null ? " not measured" : ` ${exploitability.toPrecision(3)} ${unit}`;
  const since = measuredAt === null || measuredAt === iterations ? "" : ` after ${measuredAt} and not measured since`;
  $("about").textContent = `${iterations} iterations, exploitability${measured}${since}`;
  radios("seats", SEATS.map((name, seat) => [seat, name]), (seat) => { state.seat = seat; showHands(); });
  radios("views", Object.entries(VIEWS), (view) => { state.view = view; showHands(); });
  $("theme").onclick = switchTheme;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showTheme);
  for (const kind of ["pointerover", "focusin", "click"]) $("grid").addEventListener(kind, choose);
  for (const id of ["grid", "picker"]) $(id).addEventListener("keydown", moveInGrid);
  document.addEventListener("keydown", shortcut);
  addEventListener("hashchange", showAddress);
  showTheme();
  showAddress();
}

start();
