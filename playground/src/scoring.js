/** Scoring: a file is dropped, its columns are chosen, and its report is shown. */

import { ColumnForm } from "./columns.js";
import { element, errorBox, statusLine, whileBusy } from "./dom.js";
import { Session } from "./engine.js";
import { describeExample, describeFile } from "./files.js";
import { drawSaveLink, showReport } from "./report.js";
import { drawResults } from "./results.js";

/** Return the section in which files are scored. */
export function drawScoring() {
  const scoring = new Scoring();
  const heading = element("h2", { id: "score-a-file" }, "Score a file");
  const labelled = { class: "ce-section", "aria-labelledby": "score-a-file" };
  return element("section", labelled, heading, ...scoring.parts());
}

class Scoring {
  constructor() {
    [this.status, this.say] = statusLine();
    this.form = element("div", { class: "ce-form" });
    this.report = element("div", { class: "ce-report" });
    this.session = null;
  }

  parts() {
    return [this.drawDropZone(), element("p", {}, this.status), this.form, this.report];
  }

  drawDropZone() {
    const input = element("input", {
      ...{ type: "file", id: "ce-file", class: "ce-file" },
      accept: ".csv,.tsv,.txt,.gz,.parquet",
    });
    input.addEventListener("change", () => this.open(input.files));
    const example = element("button", { type: "button", class: "ce-button ce-plain" }, "iris");
    example.addEventListener("click", () =>
      whileBusy(example, () => this.describe((session) => describeExample(session))),
    );
    const zone = element(
      "div",
      { class: "ce-drop" },
      element("label", { for: "ce-file" }, "Drop a CSV or Parquet file here, or choose one:"),
      input,
      element("p", { class: "ce-note" }, "It is read by this page; nothing leaves your browser."),
      element("p", { class: "ce-note" }, "No file at hand? Try ", example, "."),
    );
    this.acceptDrops(zone);
    return zone;
  }

  /** Accept files on the zone; elsewhere a dropped file does not replace the page. */
  acceptDrops(zone) {
    const mark = (isOver) => zone.classList.toggle("ce-over", isOver);
    for (const type of ["dragover", "drop"]) {
      document.addEventListener(type, (event) => event.preventDefault());
    }
    zone.addEventListener("dragover", () => mark(true));
    zone.addEventListener("dragleave", () => mark(false));
    zone.addEventListener("drop", (event) => {
      mark(false);
      this.open(event.dataTransfer.files);
    });
  }

  open(files) {
    if (files.length === 0) return undefined;
    return this.describe((session) => describeFile(session, files[0]));
  }

  /** Show the columns of an input to choose from. */
  async describe(read) {
    try {
      this.clear();
      this.session ??= await Session.open(this.say);
      this.say("Reading the file …");
      const input = await read(this.session);
      this.showForm(input);
      const columns = `${input.columns.length} columns`;
      this.say(`${input.name}: ${columns}. Check what they are, then press Score.`);
    } catch (error) {
      this.fail(error);
    }
  }

  showForm(input) {
    const form = new ColumnForm(input.columns);
    const button = element("button", { type: "submit", class: "ce-button" }, "Score");
    const fields = form.draw(button);
    fields.addEventListener("submit", (event) => {
      event.preventDefault();
      whileBusy(button, () => this.score(input, form));
    });
    const preview = element("details", {}, element("summary", {}, "First rows"));
    preview.append(...drawResults([input.preview]));
    this.form.replaceChildren(preview, fields);
    fields.querySelector("input, select").focus();
  }

  async score(input, form) {
    try {
      this.report.replaceChildren();
      const choice = form.read();
      const begin = performance.now();
      await showReport(this.session, input, choice, this.report, this.say);
      const seconds = ((performance.now() - begin) / 1000).toFixed(1);
      this.report.prepend(drawSaveLink(this.report, input.name));
      this.say(`The report of ${input.name} is below; it took ${seconds} s.`);
    } catch (error) {
      this.fail(error, this.report);
    }
  }

  clear() {
    this.form.replaceChildren();
    this.report.replaceChildren();
  }

  fail(error, place = this.form) {
    this.say("This did not work:");
    place.append(errorBox(error));
  }
}
