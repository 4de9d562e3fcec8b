// Tables on small screens: rows of parameters, ports and registers become lists of their cells; long names get places to break.
"use strict";
for (const table of document.querySelectorAll("main table")) {
  const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
  const meaning = heads.indexOf("meaning");
  if (meaning >= 0 && heads.length > 2) {
    table.classList.add("stacks");
    for (const row of table.rows) row.cells[meaning]?.classList.add("meaning");
    for (const row of table.tBodies[0]?.rows ?? [])
      [...row.cells].forEach((cell, i) => {
        cell.dataset.head = heads[i];
        if (cell.textContent.trim() === "") cell.classList.add("empty");
      });
  }
}
// A break after an underscore, a dot or a slash of a long word. A copy of the text has no trace of it.
const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT, (node) =>
  /[^\s]{20,}/.test(node.data) && !node.parentElement.closest("pre, script, svg, .levels")
    ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT);
const found = [];
while (texts.nextNode()) found.push(texts.currentNode);
for (const text of found) {
  const parts = text.data.split(/(?<=[^\s]{3}[_./])(?=[^\s]{3})/);
  text.replaceWith(...parts.flatMap((part, i) => (i ? [document.createElement("wbr"), part] : [part])));
}
// What scrolls can be reached with the keyboard.
const reach = () => {
  for (const frame of document.querySelectorAll("main .table-wrapper, main pre > code"))
    if (frame.scrollWidth > frame.clientWidth) frame.tabIndex = 0;
};
addEventListener("load", reach);
addEventListener("resize", reach);
