/** Columns: what each column of a file is, guessed from its name and type, and chosen in a form. */

import { element } from "./dom.js";

const DISTANCES = ["euclidean", "sqeuclidean", "cosine", "cityblock", "chebyshev"];
const NOISE_AS = {
  cluster: "counted as a cluster",
  drop: "left out",
  singletons: "each a cluster of its own",
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

export function isNumber({ type }) {
  return NUMBER.test(type);
}

export function isList({ type }) {
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

/** The form: selects for the columns, boxes for the coordinates, and options. */
export class ColumnForm {
  constructor(columns) {
    this.columns = columns;
    this.guess = guessColumns(columns);
    const vector = guessVector(columns, this.guess);
    const possible = columns.filter((column) => isNumber(column) || isList(column));
    this.boxes = possible.map(({ name }) => [name, checkbox(vector.includes(name))]);
    const names = columns.map(({ name }) => name);
    const withNone = ["", ...names];
    this.selects = {
      cluster: select(this.guess.cluster === null ? withNone : names, this.guess.cluster),
      label: select(withNone, this.guess.label),
      id: select(withNone, this.guess.id),
      weight: select(["", ...possible.filter(isNumber).map(({ name }) => name)], null),
      distance: select(DISTANCES, "euclidean"),
      noiseAs: select(Object.keys(NOISE_AS), "cluster", NOISE_AS),
    };
    this.noise = element("input", { type: "text", size: "6", placeholder: "none" });
    for (const kind of ["cluster", "label", "id", "weight"]) {
      this.selects[kind].addEventListener("change", () => this.uncheck(this.selects[kind].value));
    }
  }

  /** A column that is a name is no coordinate. */
  uncheck(name) {
    for (const [column, box] of this.boxes) if (column === name) box.checked = false;
  }

  draw(button) {
    const { cluster, label, id, weight, distance, noiseAs } = this.selects;
    return element(
      "form",
      { class: "ce-columns" },
      field("Cluster", cluster),
      field("True label", label),
      field("Id of the row", id),
      field("Weight, for labels alone", weight),
      this.drawVector(),
      field("Distance", distance),
      field("Cluster of noise, if any", this.noise),
      field("Noise is", noiseAs),
      element("div", { class: "ce-run" }, button),
    );
  }

  drawVector() {
    const check = (value) => () => this.boxes.forEach(([, box]) => (box.checked = value));
    const plain = { type: "button", class: "ce-button ce-plain" };
    return element(
      "fieldset",
      { class: "ce-vector" },
      element("legend", {}, "Coordinates of the points"),
      element("button", { ...plain, onclick: check(true) }, "all"),
      element("button", { ...plain, onclick: check(false) }, "none"),
      this.boxes.map(([name, box]) => element("label", {}, box, ` ${name}`)),
    );
  }

  /** Return what is chosen; raise an error if that cannot be scored. */
  read() {
    const chosen = ({ value }) => (value === "" ? null : value);
    const vector = this.boxes.filter(([, box]) => box.checked).map(([name]) => name);
    const [cluster, label, id, weight] = ["cluster", "label", "id", "weight"].map((kind) =>
      chosen(this.selects[kind]),
    );
    const noise = chosen(this.noise);
    const choice = { cluster, label, id, weight, vector, noise };
    choice.noiseAs = noise === null ? null : this.selects.noiseAs.value;
    choice.distance = this.selects.distance.value;
    choice.isList = this.columns.some((x) => x.name === vector[0] && isList(x));
    checkChoice(choice);
    return choice;
  }
}

/** Raise an error that says what to change. */
function checkChoice({ cluster, label, weight, vector, isList: hasList }) {
  if (cluster === null) throw new Error("Choose the column of the clusters.");
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

function checkbox(checked) {
  return element("input", { type: "checkbox", checked });
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
