"use strict";
(() => {
  const all = (root, selector) => Array.from(root.querySelectorAll(selector));

  // Theme: that of the system until somebody chooses.
  const themes = ["system", "light", "dark"];
  const themeButton = document.getElementById("theme");
  const setTheme = (name) => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    themeButton.textContent = "Theme: " + name;
    themeButton.dataset.now = name;
  };
  themeButton.hidden = false;
  themeButton.addEventListener("click", () => {
    setTheme(themes[(themes.indexOf(themeButton.dataset.now) + 1) % themes.length]);
    writeHash();
  });

  // Copying: the clipboard when the browser lets us, else the selection.
  const copy = async (button) => {
    const code = button.parentElement.querySelector("code");
    let done = false;
    try {
      await navigator.clipboard.writeText(code.textContent);
      done = true;
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Select and copy";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  for (const button of all(document, ".copy")) {
    button.hidden = false;
    button.addEventListener("click", () => copy(button));
  }

  // Names are compared without regard to how they are written: `AND nodes` is `and_nodes`.
  const loose = (text) => text.toLowerCase().replace(/[\s_-]+/g, "");
  const compare = (a, b) => {
    const x = Number(a), y = Number(b);
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a < b ? -1 : a > b ? 1 : 0;
  };
  const tests = {
    ">=": (c) => c >= 0, "<=": (c) => c <= 0, "!=": (c) => c !== 0, "=": (c) => c === 0, ">": (c) => c > 0, "<": (c) => c < 0,
  };

  class Points {
    constructor(section) {
      this.id = section.id;
      this.table = section.querySelector("table.points");
      this.bodies = all(this.table, "tbody");
      this.heads = all(this.table, "th[data-name]");
      this.values = new Map(this.bodies.map((body) => [body, all(body, "td[data-value]").map((td) => td.dataset.value)]));
      this.words = new Map(this.bodies.map((body) => [body, body.textContent.toLowerCase()]));
      this.input = section.querySelector(".filter");
      this.count = section.querySelector(".count");
      this.sort = "";
      this.down = false;
      section.querySelector(".controls").hidden = false;
      this.heads.forEach((head) => head.querySelector("button").addEventListener("click", () => this.click(head)));
      this.input.addEventListener("input", () => { this.filter(); writeHash(this); });
      for (const body of this.bodies) {
        const more = body.querySelector(".more"), details = body.querySelector(".details");
        const show = (open) => { details.hidden = !open; more.setAttribute("aria-expanded", String(open)); };
        more.hidden = false;
        more.addEventListener("click", () => show(details.hidden));
        show(false);
      }
      this.filter();
    }

    // Ascending, descending, as in the file.
    click(head) {
      const name = head.dataset.name;
      if (this.sort !== name) this.order(name, false);
      else if (!this.down) this.order(name, true);
      else this.order("", false);
      writeHash(this);
    }

    order(name, down) {
      const column = this.heads.findIndex((head) => head.dataset.name === name);
      this.sort = column < 0 ? "" : name;
      this.down = column >= 0 && down;
      this.heads.forEach((head, i) => {
        if (i === column) head.setAttribute("aria-sort", down ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      const rows = this.bodies.slice();
      if (column >= 0) {
        // What has no value stands last either way.
        rows.sort((a, b) => {
          const x = this.values.get(a)[column], y = this.values.get(b)[column];
          if (x === "" || y === "") return (x === "") - (y === "");
          return down ? compare(y, x) : compare(x, y);
        });
      }
      this.table.append(...rows);
    }

    filter() {
      const unknown = [];
      const parts = this.input.value.trim().split(/\s+/).filter((part) => part !== "").map((part) => {
        const found = /^(.+?)(>=|<=|!=|=|>|<)(.+)$/.exec(part);
        if (!found) return (body) => this.words.get(body).includes(part.toLowerCase());
        const column = this.heads.findIndex((head) =>
          loose(head.dataset.name) === loose(found[1]) || loose(head.textContent) === loose(found[1]));
        if (column < 0) {
          unknown.push(found[1]);
          return () => false;
        }
        return (body) => {
          const value = this.values.get(body)[column];
          return value !== "" && tests[found[2]](compare(value.toLowerCase(), found[3].toLowerCase().replace(/,/g, "")));
        };
      });
      let shown = 0;
      for (const body of this.bodies) {
        body.hidden = !parts.every((part) => part(body));
        shown += body.hidden ? 0 : 1;
      }
      const text = shown === this.bodies.length ? `${shown} points` : `${shown} of ${this.bodies.length} points`;
      this.count.textContent = unknown.length === 0 ? text : `${text}; no column ${unknown.join(", ")}`;
    }
  }

  const tables = all(document, "section.sweep").map((section) => new Points(section));

  // The view is in the address: #sort=gates&desc&filter=radix%3E4, with table=sweep-2 when there are several.
  function readHash() {
    const text = location.hash.slice(1);
    if (document.getElementById(text)) return;
    const view = new URLSearchParams(text);
    const table = tables.find((t) => t.id === view.get("table")) || tables[0];
    setTheme(themes.includes(view.get("theme")) ? view.get("theme") : "system");
    table.input.value = view.get("filter") || "";
    table.filter();
    table.order(view.get("sort") || "", view.has("desc"));
  }

  function writeHash(table = tables.find((t) => t.sort !== "" || t.input.value !== "") || tables[0]) {
    const parts = [];
    const add = (name, value) => parts.push(`${name}=${encodeURIComponent(value)}`);
    if (table.sort !== "" || table.input.value !== "") {
      if (tables.length > 1) add("table", table.id);
      if (table.sort !== "") add("sort", table.sort);
      if (table.down) parts.push("desc");
      if (table.input.value !== "") add("filter", table.input.value);
    }
    if (themeButton.dataset.now !== "system") add("theme", themeButton.dataset.now);
    history.replaceState(null, "", parts.length === 0 ? location.pathname + location.search : "#" + parts.join("&"));
  }

  window.addEventListener("hashchange", readHash);
  setTheme("system");
  readHash();
})();
