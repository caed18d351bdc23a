/** The frame: a report shown inside the page of the site, and as a file to save. */

import { element } from "../dom.js";

export class ReportFrame {
  constructor(html, name) {
    this.url = URL.createObjectURL(new Blob([html], { type: "text/html" }));
    this.file = `report_${name.replace(/\.\w+$/, "").replace(/\W+/g, "_")}.html`;
    this.title = `Report of ${name}`;
  }

  draw() {
    const save = { href: this.url, download: this.file, class: "ce-button" };
    const open = { href: this.url, target: "_blank", class: "ce-button ce-plain" };
    const frame = element("iframe", { class: "ce-frame", title: this.title, src: this.url });
    frame.addEventListener("load", () => fit(frame));
    const links = element(
      "div",
      { class: "ce-run" },
      element("a", save, "Save the report"),
      element("a", open, "Open it in a tab"),
    );
    return [links, frame];
  }
}

/** Give the frame the height of its page, and the colors of the site. */
function fit(frame) {
  const page = frame.contentDocument;
  const root = page.documentElement;
  const resize = () => (frame.style.height = `${page.body.offsetHeight}px`);
  new ResizeObserver(resize).observe(page.body);
  const rules = [...page.styleSheets[0].cssRules].filter(isForDark);
  const color = () => {
    const isDark = document.body.dataset.mdColorScheme === "slate";
    root.style.colorScheme = isDark ? "dark" : "light";
    for (const { media } of rules) media.mediaText = isDark ? "all" : "not all";
  };
  color();
  new MutationObserver(color).observe(document.body, { attributeFilter: ["data-md-color-scheme"] });
}

/** Return whether a rule of the report is for dark pages; the site decides about it. */
function isForDark(rule) {
  return rule.media?.mediaText.includes("prefers-color-scheme: dark") ?? false;
}
