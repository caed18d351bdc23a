/** Columns: what each column of a file is, guessed from its name and type, and chosen in a form. */

import { element } from "./dom.js";

const DISTANCES = ["euclidean", "sqeuclidean", "cosine", "cityblock", "chebyshev"];
const MISSING = { error: "error: stop there", drop: "drop: leave the row out" };
const NOISE_AS = {
  cluster: "cluster: counted as one",
  drop: "drop: left out",
  singletons: "singletons: a cluster each",
};
const NUMBER = /^(?:U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)|FLOAT|DOUBLE|DECIMAL\(.*\))$/;
const LIST = /^(?:U?(?:TINYINT|SMALLINT|INTEGER|BIGINT)|FLOAT|DOUBLE|DECIMAL\(.*\))\[\d*\]$/;

/** Names that are likely for a column of a kind, the likeliest first. */
const LIKELY = {
  cluster: [
    /^clusters?$/i,
    /cluster/i,
    /^(?:k?means|h?dbscan|louvain|leiden|agglomerative|\w+_linkage|gmm)\d*$/i,
    /^(?:communit|segment|group|topic|pred)/i,
  ],
  label: [
    /^labels?$/i,
    /label|truth|^gold/i,
    /^(?:class|category|target|species|entity|person|digit|origin|y)$/i,
  ],
  id: [/^id$/i, /(?:^|_)(?:id|key|uuid)$/i, /^(?:row|index)$/i],
};

function isNumber({ type }) {
  return NUMBER.test(type);
}

function isList({ type }) {
  return LIST.test(type);
}

/** Return which column is likely the cluster, the label and the id; null where none is. */
export function guessColumns(columns) {
  const guess = { cluster: null, label: null, id: null };
  for (const kind of Object.keys(guess)) {
    const taken = Object.values(guess);
    const free = columns.filter(({ name }) => !taken.includes(name));
    guess[kind] = findLikely(free, LIKELY[kind]);
  }
  return guess;
}

function findLikely(columns, patterns) {
  for (const pattern of patterns) {
    const found = columns.find(({ name, type }) => pattern.test(name) && !isMeasure(type));
    if (found) return found.name;
  }
  return null;
}

/** Return whether values of a type measure something rather than name it. */
function isMeasure(type) {
  return /^(?:FLOAT|DOUBLE|DECIMAL)|\[\d*\]$/.test(type);
}

/** Return the columns that are likely coordinates: lists of numbers, or all numbers but names. */
export function guessVector(columns, guess) {
  const names = Object.values(LIKELY).flat();
  const isName = (column) => !isMeasure(column.type) && names.some((x) => x.test(column.name));
  const taken = Object.values(guess);
  const free = columns.filter((column) => !taken.includes(column.name) && !isName(column));
  const lists = free.filter(isList);
  if (lists.length > 0) return [lists[0].name];
  return free.filter(isNumber).map(({ name }) => name);
}

/** The form: boxes for the clusterings and the coordinates, selects for other columns, options. */
export class ColumnForm {
  constructor(columns) {
    this.columns = columns;
    const guess = guessColumns(columns);
    const vector = guessVector(columns, guess);
    const possible = columns.filter((column) => isNumber(column) || isList(column));
    const namesOf = (some) => some.map(({ name }) => name);
    const names = namesOf(columns);
    this.clusters = checkboxes(names, [guess.cluster]);
    this.vector = checkboxes(namesOf(possible), vector);
    const withNone = ["", ...names];
    this.selects = {
      label: select(withNone, guess.label),
      id: select(withNone, guess.id),
      partition: select(withNone, null),
      weight: select(["", ...namesOf(possible.filter(isNumber))], null),
      distance: select(DISTANCES, "euclidean"),
      missing: select(Object.keys(MISSING), "error", MISSING),
      noiseAs: select(Object.keys(NOISE_AS), "cluster", NOISE_AS),
    };
    this.noise = element("input", { type: "text", size: "6", placeholder: "none" });
    for (const kind of ["label", "id", "partition", "weight"]) {
      this.selects[kind].addEventListener("change", () => this.uncheck(this.selects[kind].value));
    }
    for (const [name, box] of this.clusters) {
      box.addEventListener("change", () => box.checked && this.uncheck(name));
    }
  }

  /** A column that is a name is no coordinate. */
  uncheck(name) {
    for (const [column, box] of this.vector) if (column === name) box.checked = false;
  }

  draw(button) {
    const { label, id, partition, weight, distance, missing, noiseAs } = this.selects;
    return element(
      "form",
      { class: "ce-columns" },
      drawBoxes("Clusters, with a report of each column", this.clusters),
      field("True label", label),
      field("Id of the row", id),
      field("Partition by", partition),
      field("Weight, for labels alone", weight),
      drawBoxes("Coordinates of the points", this.vector),
      field("Distance", distance),
      field("Missing coordinates", missing),
      field("Cluster of noise, if any", this.noise),
      field("Noise is", noiseAs),
      element("div", { class: "ce-run" }, button),
    );
  }

  /** Return what is chosen; raise an error if that cannot be scored. */
  read() {
    const chosen = ({ value }) => (value === "" ? null : value);
    const checked = (boxes) => boxes.filter(([, box]) => box.checked).map(([name]) => name);
    const selects = Object.entries(this.selects).map(([kind, select]) => [kind, chosen(select)]);
    const choice = {
      ...Object.fromEntries(selects),
      clusters: checked(this.clusters),
      vector: checked(this.vector),
      noise: chosen(this.noise),
    };
    choice.isList = this.columns.some((x) => x.name === choice.vector[0] && isList(x));
    checkChoice(choice);
    return choice;
  }
}

/** Raise an error that says what to change. */
function checkChoice({ clusters, label, weight, vector, isList: hasList }) {
  if (clusters.length === 0) throw new Error("Choose a column of clusters.");
  if (label === null && vector.length === 0) {
    throw new Error("Choose the column of the true labels, or coordinates of the points, or both.");
  }
  if (weight !== null && vector.length > 0) {
    throw new Error("A weight is for labels alone: choose no coordinates, or no weight.");
  }
  if (hasList && vector.length > 1) {
    throw new Error("A column of lists holds whole points: choose it alone.");
  }
}

/** Return pairs of a name and its box. */
function checkboxes(names, checked) {
  return names.map((name) => [
    name,
    element("input", { type: "checkbox", checked: checked.includes(name) }),
  ]);
}

/** Return boxes with their names, and buttons that check all or none of them. */
function drawBoxes(legend, boxes) {
  const check = (value) => () => boxes.forEach(([, box]) => (box.checked = value));
  const plain = { type: "button", class: "ce-button ce-plain" };
  return element(
    "fieldset",
    { class: "ce-boxes" },
    element("legend", {}, legend),
    element("button", { ...plain, onclick: check(true) }, "all"),
    element("button", { ...plain, onclick: check(false) }, "none"),
    boxes.map(([name, box]) => element("label", {}, box, ` ${name}`)),
  );
}
/** Return a select with these values, whose texts are others if `texts` has them. */
function select(values, selected, texts = {}) {
  const options = values.map((value) =>
    element("option", { value, selected: value === selected }, texts[value] ?? (value || "none")),
  );
  return element("select", { class: "ce-select" }, options);
}

function field(text, control) {
  return element("label", { class: "ce-field" }, element("span", {}, text), control);
}
