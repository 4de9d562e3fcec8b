// The page that opens: search in its middle, and a recorded answer that appears word by word.
"use strict";
(() => {
  const form = document.querySelector(".front-search");
  if (form) {
    const input = form.querySelector("input");
    const search = () => {
      const text = input.value.trim();
      if (text === "") return;
      const bar = document.querySelector("#mdbook-searchbar");
      if (document.querySelector("#mdbook-search-wrapper").classList.contains("hidden"))
        document.querySelector("#mdbook-search-toggle").click();
      bar.value = text;
      bar.dispatchEvent(new Event("input"));
      bar.dispatchEvent(new KeyboardEvent("keyup", { key: "n", keyCode: 78 }));
      bar.focus();
      input.value = "";
      window.scrollTo(0, 0);
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      search();
    });
    // The book's own keys turn pages and open the search.
    input.addEventListener("keydown", (event) => event.stopPropagation());
  }

  const panel = document.querySelector(".typed");
  const code = panel?.querySelector("pre code");
  if (!code) return;
  // The command, the answer, then figures. The answer begins with what was asked.
  const [command, answer, ...figures] = code.textContent.split("\n");
  const asked = /"([^"]*)"/.exec(command)?.[1] ?? "";
  const words = answer.slice(asked.length).split(/(?= )/);
  const written = document.createElement("strong");
  const rest = document.createTextNode("");
  code.replaceChildren(`${command}\n${asked}`, written, rest);
  let timer = 0;
  const all = () => {
    written.textContent = words.join("");
    rest.data = `\n${figures.join("\n")}`;
  };
  const play = () => {
    clearTimeout(timer);
    written.textContent = "";
    // As long as it will be: nothing moves below.
    rest.data = `\n${figures.map(() => "").join("\n")}`;
    const step = (i) => {
      if (i === words.length) return all();
      written.textContent += words[i];
      timer = setTimeout(step, 700, i + 1);
    };
    timer = setTimeout(step, 700, 0);
  };
  const again = document.createElement("button");
  again.type = "button";
  again.textContent = "Play";
  again.addEventListener("click", play);
  panel.querySelector("h2").append(again);
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) all();
  else play();
})();
