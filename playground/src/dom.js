/** Elements of the page. Texts are text nodes, never HTML. */

/** Return an element with attributes, listeners (`onclick`) and children. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") made.toggleAttribute(name, value);
    else made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child != null && child !== ""));
  return made;
}

/** Return a line for messages, which screen readers read out, and the function that fills it. */
export function statusLine() {
  const line = element("span", { class: "ce-status", role: "status" });
  return [line, (text) => line.replaceChildren(text)];
}

/** Return a box with the message of an error. */
export function errorBox(error) {
  return element("pre", { class: "ce-error", role: "alert" }, messageOf(error));
}

export function messageOf(error) {
  return error instanceof Error ? error.message : String(error);
}

/** Show the tables that `run` returns in a session, or the error of DuckDB. */
export async function showTables(place, say, open, run) {
  try {
    place.replaceChildren();
    say("Loading …");
    const { drawResults } = await import("./results.js");
    const session = await open(say);
    say("Running …");
    const begin = performance.now();
    place.replaceChildren(...drawResults(await run(session)));
    say(`Done in ${((performance.now() - begin) / 1000).toFixed(2)} s, in this browser`);
  } catch (error) {
    say("DuckDB reports an error:");
    place.replaceChildren(errorBox(error));
  }
}

/** Run `work` unless the button is busy; meanwhile the button keeps the focus but does nothing. */
export async function whileBusy(button, work) {
  if (button.getAttribute("aria-disabled") === "true") return;
  button.setAttribute("aria-disabled", "true");
  try {
    await work();
  } finally {
    button.removeAttribute("aria-disabled");
  }
}
