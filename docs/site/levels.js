// A design level by level: the modules that one module places, each a button that opens it. The path above leads back.
"use strict";
for (const place of document.querySelectorAll(".levels")) {
  const { top, modules } = JSON.parse(place.querySelector("script").textContent);
  const make = (name, attributes, ...children) => {
    const element = Object.assign(document.createElement(name), attributes);
    element.append(...children);
    return element;
  };
  // Long names break after underscores only.
  const name = (text) => text.split(/(?<=_)/).flatMap((part) => [part, document.createElement("wbr")]);
  const rest = (module) => {
    const { block } = modules[module];
    return module.startsWith(block) ? module.slice(block.length).replace(/^_/, "") : module;
  };

  const show = (path, focus) => {
    const here = path[path.length - 1];
    const crumbs = path.map((module, i) => {
      const button = make("button", { type: "button", title: module }, ...name(modules[module].block));
      if (i + 1 === path.length) button.setAttribute("aria-current", "true");
      button.addEventListener("click", () => show(path.slice(0, i + 1), true));
      return button;
    });
    const children = Object.entries(modules[here].children);
    const cards = children.map(([module, count]) => {
      const { block, children: inner, empty } = modules[module];
      const kinds = Object.keys(inner).length;
      const card = make(kinds ? "button" : "div", { className: "module", title: module });
      const head = make("span", { className: "block" }, ...name(block));
      if (count > 1) head.append(make("b", {}, ` \u00d7 ${count}`));
      card.append(head, make("code", {}, ...name(rest(module))));
      if (kinds) {
        card.type = "button";
        card.append(make("small", {}, `${kinds} ${kinds === 1 ? "kind of module" : "kinds of modules"} inside \u203a`));
        card.addEventListener("click", () => show([...path, module], true));
      } else {
        card.append(make("small", {}, empty ? "interface only" : "nothing inside"));
      }
      return card;
    });
    const nav = make("nav", { className: "path", ariaLabel: "Levels" }, ...crumbs);
    const title = make("code", { className: "full" }, ...name(here));
    place.replaceChildren(nav, title, make("div", { className: "modules" }, ...cards));
    if (focus) crumbs[crumbs.length - 1].focus({ preventScroll: true });
  };
  show([top], false);
}
