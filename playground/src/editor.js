/** The editor: SQL to change and run, and the blocks of all pages to choose from. */

import { element, showTables, statusLine, whileBusy } from "./dom.js";
import { Session } from "./engine.js";
import { isSetup, splitStatements } from "./statements.js";

const FIRST_QUERY = `-- Every table of these pages is here, by the name of its file.
SELECT metric, round(value, 3) AS value, best, meaning
FROM clustereval.external_summary('examples/digits.parquet', digit, kmeans)
WHERE value IS NOT NULL;`;

/** Return the section of the editor. */
export function drawEditor() {
  const text = element("textarea", {
    ...{ id: "ce-sql", class: "ce-sql", rows: "9", spellcheck: "false" },
    ...{ autocomplete: "off", autocapitalize: "off", "aria-describedby": "ce-sql-keys" },
  });
  text.value = FIRST_QUERY;
  const editor = new Editor(text);
  return element(
    "section",
    { class: "ce-section", "aria-labelledby": "run-sql" },
    element("h2", { id: "run-sql" }, "Run SQL"),
    element("label", { for: "ce-pages" }, "SQL of these pages"),
    drawChoice(editor),
    element("label", { for: "ce-sql" }, "SQL"),
    text,
    element("div", { class: "ce-run" }, editor.button, editor.status, keys()),
    editor.results,
  );
}

function keys() {
  return element("span", { id: "ce-sql-keys", class: "ce-note" }, "or press Ctrl+Enter");
}

class Editor {
  constructor(text) {
    this.text = text;
    this.session = null;
    [this.status, this.say] = statusLine();
    this.results = element("div", { class: "ce-results" });
    this.button = element("button", { type: "button", class: "ce-button" }, "Run");
    this.button.addEventListener("click", () => this.run());
    text.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.run();
    });
  }

  run() {
    const open = async (say) => (this.session ??= await Session.open(say));
    const run = (session) => session.run(this.text.value);
    return whileBusy(this.button, () => showTables(this.results, this.say, open, run));
  }

  /** Show the SQL of another page, without the temporary tables of the one before. */
  async show(sql) {
    const before = this.session;
    this.session = null;
    this.text.value = sql;
    this.results.replaceChildren();
    this.say("");
    await before?.close();
  }
}

/** Return the list of the blocks of all pages, which is filled as soon as they are read. */
function drawChoice(editor) {
  const first = element("option", { value: "" }, "Choose a block …");
  const choice = element("select", { id: "ce-pages", class: "ce-select" }, first);
  let blocks = [];
  readBlocks().then((found) => {
    blocks = found;
    choice.append(...listBlocks(blocks));
  });
  choice.addEventListener("change", () => {
    if (choice.value !== "") editor.show(withSetup(blocks, Number(choice.value)));
  });
  return choice;
}

async function readBlocks() {
  const response = await fetch(new URL("blocks.json", import.meta.url));
  return response.json();
}

/** Return the options of all blocks, grouped by page. */
function listBlocks(blocks) {
  const groups = new Map();
  blocks.forEach(({ page, title, heading, about }, place) => {
    const group = groups.get(page) ?? element("optgroup", { label: title });
    group.append(element("option", { value: String(place) }, `${heading}: ${about}`));
    groups.set(page, group);
  });
  return [...groups.values()];
}

/** Return the SQL of a block, after the statements of earlier ones that it may build on. */
function withSetup(blocks, place) {
  const earlier = blocks.slice(0, place).filter(({ page }) => page === blocks[place].page);
  const setup = earlier.flatMap(({ sql }) => splitStatements(sql).filter(isSetup));
  return [...setup, blocks[place].sql].join("\n");
}
