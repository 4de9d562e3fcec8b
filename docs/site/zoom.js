// A drawing opens on a click. The wheel, two fingers and + - zoom, dragging and the arrows move, 1 shows letters in their size, 0 all, Esc closes.
"use strict";
(() => {
  const button = (text, meaning, action) => {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.title = meaning;
    made.setAttribute("aria-label", meaning);
    made.addEventListener("click", action);
    return made;
  };

  const open = (image) => {
    const dialog = document.createElement("dialog");
    dialog.className = "zoom";
    const stage = document.createElement("div");
    stage.className = "stage";
    const drawing = document.createElement("img");
    drawing.src = image.src;
    drawing.alt = image.alt;
    stage.append(drawing);
    const bar = document.createElement("div");
    bar.className = "bar";
    const caption = document.createElement("span");
    caption.textContent = image.alt;
    dialog.append(bar, stage);
    document.body.append(dialog);
    dialog.showModal();

    // Larger by its size, not by a transform, which would enlarge pixels.
    const setTransform = (element, { x, y, scale }) => {
      element.style.width = `${100 * scale}%`;
      element.style.height = `${100 * scale}%`;
      element.style.left = `calc(${50 * (1 - scale)}% + ${scale * x}px)`;
      element.style.top = `calc(${50 * (1 - scale)}% + ${scale * y}px)`;
    };
    const pan = Panzoom(drawing, { maxScale: 20, minScale: 0.5, step: 0.4, cursor: "grab", canvas: true, setTransform });
    // The size that the drawing was made for.
    const own = () => {
      const fit = Math.min(stage.clientWidth / drawing.naturalWidth, stage.clientHeight / drawing.naturalHeight);
      pan.zoom(1 / fit);
    };
    bar.append(
      caption,
      button("+", "Larger", () => pan.zoomIn()),
      button("\u2212", "Smaller", () => pan.zoomOut()),
      button("0", "All of it", () => pan.reset()),
      button("1:1", "Letters in their size", own),
      button("\u00d7", "Close", () => dialog.close()),
    );
    stage.addEventListener("wheel", pan.zoomWithWheel, { passive: false });
    const step = 80;
    const keys = {
      "+": () => pan.zoomIn(),
      "=": () => pan.zoomIn(),
      "-": () => pan.zoomOut(),
      "0": () => pan.reset(),
      "1": own,
      ArrowLeft: () => pan.pan(step / pan.getScale(), 0, { relative: true }),
      ArrowRight: () => pan.pan(-step / pan.getScale(), 0, { relative: true }),
      ArrowUp: () => pan.pan(0, step / pan.getScale(), { relative: true }),
      ArrowDown: () => pan.pan(0, -step / pan.getScale(), { relative: true }),
    };
    dialog.addEventListener("keydown", (event) => {
      // The book turns pages with the arrows.
      event.stopPropagation();
      if (keys[event.key]) {
        event.preventDefault();
        keys[event.key]();
      }
    });
    dialog.addEventListener("close", () => {
      pan.destroy();
      dialog.remove();
      image.focus();
    });
  };

  // mdBook has an enlarged copy behind each drawing, shown by a click, without zoom: it stays where it is.
  for (const image of document.querySelectorAll("main img:not(.img-wrapper img)")) {
    image.classList.add("zoomable");
    image.tabIndex = 0;
    image.title = "Click to zoom";
    image.addEventListener("click", (event) => {
      event.preventDefault();
      open(image);
    });
    image.addEventListener("keydown", (event) => {
      if (event.key === "Enter") open(image);
    });
    const frame = image.closest("label") ?? image;
    frame.classList.add("drawing");
    const larger = button("Zoom", `Zoom: ${image.alt}`, () => open(image));
    larger.className = "zoom-open";
    frame.after(larger);
    // A drawing that is not seen as a whole, or smaller than it was made, says that it can be opened.
    const offer = () => {
      const own = image.naturalWidth;
      // The style sheet has the least share of it.
      image.style.setProperty("--own", `${own}px`);
      larger.hidden = Math.min(image.width, frame.clientWidth) >= 0.97 * own;
    };
    image.addEventListener("load", offer);
    addEventListener("resize", offer);
    image.closest("details")?.addEventListener("toggle", offer);
    offer();
  }
})();
