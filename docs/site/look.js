// Looks at pages as a reader does, at two widths, light and dark: `faults` is empty if nothing is cut and all can be read.
// Runs in a page next to the pages, in a browser that lets files read files.
"use strict";
const WIDTHS = [1400, 390];
const THEMES = ["light", "navy"];

// What the frame of a table or of code may not do.
const framed = (frame, limit, name, fault) => {
  const box = frame.getBoundingClientRect();
  if (box.width === 0) return { scrolls: false };
  if (box.right > limit + 1) fault(`${name} is cut at the right: ${Math.round(box.right - limit)} pixels are missing`);
  const scrolls = frame.scrollWidth > frame.clientWidth + 1;
  if (scrolls) {
    const style = getComputedStyle(frame);
    const border = parseFloat(style.borderTopWidth) + parseFloat(style.borderBottomWidth);
    if (!["auto", "scroll"].includes(style.overflowX)) fault(`${name} is wider than its frame, which does not scroll`);
    else if (frame.offsetHeight - frame.clientHeight - border < 6) fault(`${name} scrolls, and no bar says so`);
  }
  return { scrolls };
};

// The brightness of a colour, and how much two differ (WCAG 2).
const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
const brightness = (colour) => {
  const [r, g, b] = channels(colour).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => {
  const [dark, bright] = [brightness(a), brightness(b)].sort((x, y) => x - y);
  return (bright + 0.05) / (dark + 0.05);
};
const ground = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = getComputedStyle(e).backgroundColor;
    if ((channels(colour)[3] ?? 1) > 0.9) return colour;
  }
  return "rgb(255, 255, 255)";
};

// The smallest letters of drawings, as a share of their widths, by their addresses.
const least = new Map();
const measure = (drawing) => {
  const root = drawing?.documentElement;
  if (root?.localName !== "svg") return 0;
  const page = root.getScreenCTM();
  const sizes = [...root.querySelectorAll("text, tspan")].filter((text) =>
    [...text.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "")).map((text) => {
    // A part of a line has no place of its own.
    const { a, b } = page.inverse().multiply(text.closest("text").getScreenCTM());
    return parseFloat(drawing.defaultView.getComputedStyle(text).fontSize) * Math.hypot(a, b);
  });
  return sizes.length ? Math.min(...sizes) / root.viewBox.baseVal.width : 0;
};

const look = (inner, width, theme, fault, count) => {
  const main = inner.querySelector("main");
  const limit = Math.min(width, main.getBoundingClientRect().right);
  const root = inner.documentElement;
  if (root.scrollWidth > root.clientWidth + 1) fault(`the page scrolls sideways by ${root.scrollWidth - root.clientWidth} pixels`);
  for (const table of main.querySelectorAll("table")) {
    count.tables += 1;
    const name = `the table of ${table.querySelector("th")?.textContent ?? "?"}`;
    // A table may be its own frame.
    const frames = [table, table.parentElement].filter((frame) => getComputedStyle(frame).display !== "table");
    const { scrolls } = frames.map((frame) => framed(frame, limit, name, fault)).find((f) => f.scrolls) ?? {};
    if (scrolls) count[`scrolling${width}`] = (count[`scrolling${width}`] ?? 0) + 1;
    for (const cell of table.querySelectorAll("td"))
      if (cell.clientWidth > 0 && cell.scrollWidth > cell.clientWidth + 1) fault(`${name}: a cell is too narrow for ${cell.textContent.slice(0, 30)}`);
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
    const column = heads.length > 2 && table.querySelector(`tbody td:nth-child(${heads.indexOf("meaning") + 1 || 99})`);
    if (column) {
      count.meanings += 1;
      const box = column.getBoundingClientRect();
      if (box.width < 200) fault(`${name}: the column "meaning" has ${Math.round(box.width)} pixels`);
      if (box.right > limit + 1) fault(`${name}: the column "meaning" is seen after scrolling only`);
    }
  }
  for (const code of main.querySelectorAll("pre > code")) {
    count.codes += 1;
    const { scrolls } = framed(code, limit, `code (${code.textContent.slice(0, 20).trim()})`, fault);
    // A picture made of characters is seen as a whole where there is room. Longer lines are a tool's output.
    const longest = Math.max(...code.textContent.split("\n").map((line) => line.length));
    if (scrolls && width > 1000 && longest <= 142 && !/language-[a-su-z]/.test(code.className) && !/endmodule/.test(code.textContent))
      fault(`a text picture is wider than its frame by ${code.scrollWidth - code.clientWidth} pixels`);
  }
  for (const image of main.querySelectorAll("img:not(.img-wrapper img)")) {
    count.images += 1;
    if (image.naturalWidth === 0) fault(`${image.getAttribute("src")} is missing`);
    const name = image.getAttribute("src");
    const { scrolls } = framed(image.closest("label") ?? image.parentElement, limit, name, fault);
    if (!scrolls && image.getBoundingClientRect().right > limit + 1) fault(`${name} is cut`);
    const letters = least.get(image.src) * image.getBoundingClientRect().width;
    if (letters > 0) count.lettered += 1;
    if (letters < 11.95 && width < 500) fault(`${name}: letters of ${letters.toFixed(1)}px`);
    if (!image.classList.contains("zoomable")) fault(`${image.getAttribute("src")} cannot be zoomed`);
  }
  const seen = new Set();
  const texts = inner.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (texts.currentNode.data.trim() === "" || seen.has(element)) continue;
    seen.add(element);
    if (element.closest("script, style, .hidden")) continue;
    const style = getComputedStyle(element);
    if (parseFloat(style.fontSize) < 12) fault(`letters of ${style.fontSize}: ${texts.currentNode.data.slice(0, 20)}`);
    // Colours of highlighted code are the book's.
    if (element.closest(".hljs") === null && contrast(style.color, ground(element)) < 4.5)
      fault(`${theme}: ${style.color} on ${ground(element)}: ${texts.currentNode.data.slice(0, 20)}`);
  }
  const list = inner.querySelector("#mdbook-sidebar");
  if (width > 1000 && list) {
    const edge = list.getBoundingClientRect().right;
    for (const link of list.querySelectorAll("a")) {
      if (/_x[0-9a-f]{8}\b/.test(link.textContent)) fault(`the list at the left has a hash: ${link.textContent}`);
      if (link.getBoundingClientRect().right > edge + 1) fault(`the list at the left is cut: ${link.textContent}`);
      const { color } = getComputedStyle(link);
      if (contrast(color, ground(link)) < 4.5) fault(`the list at the left: ${color} on ${ground(link)}: ${link.textContent}`);
    }
  }
};

const frameOf = (width) => {
  const frame = document.createElement("iframe");
  frame.style.cssText = `border: 0; width: ${width}px; height: 900px`;
  document.body.append(frame);
  return frame;
};
const opened = (frame, page) => new Promise((done) => {
  frame.onload = () => done(frame.contentDocument);
  frame.src = page;
});

// All pages of the contents, or those that are given.
const lookAtAll = async (given) => {
  const first = frameOf(300);
  const pages = given ?? [...new Set([...(await opened(first, "toc.html")).querySelectorAll("a")]
    .map((a) => a.getAttribute("href")).filter((href) => href && !/^https?:|#/.test(href)))];
  first.remove();
  const faults = [];
  const count = { pages: pages.length, tables: 0, meanings: 0, codes: 0, images: 0, lettered: 0 };
  // Not in the way of the frame that is looked at: the browser leaves the bars of frames that nobody sees for later.
  const drawn = frameOf(1400);
  drawn.style.cssText += "; position: absolute; left: -3000px";
  for (const width of WIDTHS) {
    const frame = frameOf(width);
    for (const page of pages) {
      const inner = await opened(frame, page);
      // What is folded away is read, too.
      inner.querySelectorAll("main details").forEach((details) => { details.open = true; });
      inner.body.getBoundingClientRect();
      await inner.fonts.ready;
      for (const image of inner.querySelectorAll("main img")) await image.decode().catch(() => {});
      for (const { src } of inner.querySelectorAll("main img"))
        if (/\.svg$/.test(src) && !least.has(src)) least.set(src, measure(await opened(drawn, src)));
      for (const theme of THEMES) {
        inner.documentElement.classList.remove(...THEMES);
        inner.documentElement.classList.add(theme);
        // Letters of another font are wider, and bars come later: a fault is one that stays.
        let found = [];
        const see = (counts) => {
          found = [];
          look(inner, width, theme, (text) => found.push(`${page}, ${width} pixels, ${theme}: ${text}`), counts);
        };
        see(count);
        if (found.length) {
          await new Promise((done) => setTimeout(done, 500));
          // Nothing is drawn here, and bars may be of a layout before: another width asks for a new one.
          for (const other of [width + 1, width]) {
            frame.style.width = `${other}px`;
            inner.body.getBoundingClientRect();
          }
          see({});
        }
        faults.push(...found);
      }
    }
    frame.remove();
  }
  return { count, faults };
};
