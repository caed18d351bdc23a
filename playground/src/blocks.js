/** Blocks: a Run button below every block of SQL on a page of the site. */

import { element, showTables, statusLine, whileBusy } from "./dom.js";

/** Add the buttons. DuckDB is loaded by the first click on one of them. */
export function addRunButtons() {
  const codes = [...document.querySelectorAll(".language-sql.highlight code")];
  const blocks = codes.map((code) => ({ sql: code.textContent, hasRun: false }));
  codes.forEach((code, i) => addRunButton(code.closest(".highlight"), blocks, i));
}

/** The session of all blocks of the page: they share temporary tables and views. */
let session = null;

function openSession(say) {
  session ??= import("./engine.js").then(({ Session }) => Session.open(say));
  session.catch(() => (session = null)); // another click tries again
  return session;
}

function addRunButton(box, blocks, place) {
  const [status, say] = statusLine();
  const results = element("div", { class: "ce-results" });
  const button = element("button", { type: "button", class: "ce-button" }, "Run");
  button.addEventListener("click", () =>
    whileBusy(button, () =>
      showTables(results, say, openSession, (own) => runBlock(own, blocks, place)),
    ),
  );
  box.after(element("div", { class: "ce-run" }, button, status), results);
}

/** Run a block, after what earlier blocks of the page create if they have not run. */
async function runBlock(own, blocks, place) {
  for (const block of blocks.slice(0, place)) {
    if (!block.hasRun) await own.prepare(block.sql);
    block.hasRun = true;
  }
  blocks[place].hasRun = true;
  return own.run(blocks[place].sql);
}
