"use strict";

/* The drawing on a page: Python makes its parts as SVG, and only the parts that differ are replaced. */
class Board {
  constructor(svg) {
    this.svg = svg;
    this.groups = new Map();
    this.texts = new Map();
  }

  symbols(text) {
    this.svg.querySelector("defs").innerHTML = text;
  }

  /* parts: pairs of name and SVG text, from back to front. */
  show(parts) {
    const names = new Set(parts.map(([name]) => name));
    for (const [name, group] of this.groups) {
      if (!names.has(name)) {
        group.remove();
        this.groups.delete(name);
        this.texts.delete(name);
      }
    }
    let last = this.svg.querySelector("defs");
    for (const [name, text] of parts) {
      let group = this.groups.get(name);
      if (!group) {
        group = document.createElementNS("http://www.w3.org/2000/svg", "g");
        group.dataset.part = name;
        this.groups.set(name, group);
      }
      if (this.texts.get(name) !== text) {
        group.innerHTML = text;
        this.texts.set(name, text);
      }
      if (last.nextElementSibling !== group) last.after(group);
      last = group;
    }
  }

  /* The drawing as a standalone document in the current colours; `fonts` embeds fonts for rendering. */
  document(title, fonts = "") {
    const copy = this.svg.cloneNode(true);
    const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
    const rules = [...byId("drawing-style").sheet.cssRules].filter((rule) => rule instanceof CSSStyleRule);
    style.textContent = fonts + rules.map((rule) => rule.cssText).join("");
    copy.prepend(style);
    copy.removeAttribute("id");
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    copy.setAttribute("data-theme", document.documentElement.dataset.theme);
    copy.setAttribute("width", "720");
    copy.setAttribute("height", "920");
    copy.setAttribute("aria-label", title);
    const used = new Set([...copy.querySelectorAll("use")].map((use) => use.getAttribute("href").slice(1)));
    for (const symbol of copy.querySelectorAll("symbol")) if (!used.has(symbol.id)) symbol.remove();
    return new XMLSerializer().serializeToString(copy);
  }
}

function byId(id) {
  return document.getElementById(id);
}

/* Make an element with text and children; no text is parsed as HTML. */
function element(tag, text, ...children) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem("noms-theme", name);
  } catch (error) {
    /* no storage: the choice is lost with the page */
  }
}

function startTheme(button) {
  let name = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  try {
    name = localStorage.getItem("noms-theme") || name;
  } catch (error) {
    /* no storage */
  }
  document.documentElement.dataset.theme = name === "dark" ? "dark" : "light";
  button?.addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
}

function save(name, blob) {
  const link = element("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function saveSvg(board, title) {
  save("table.svg", new Blob([board.document(title)], { type: "image/svg+xml" }));
}

function savePng(board, title) {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([board.document(title, byId("font-style")?.textContent)], { type: "image/svg+xml" }));
  image.addEventListener("load", () => {
    const canvas = element("canvas");
    canvas.width = 1440;
    canvas.height = 1840;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    canvas.toBlob((blob) => save("table.png", blob));
  });
  image.src = url;
}

/* List actions with bars: probabilities `p`, or points `v` with their standard error `e` (null if unknown). */
function showOptions(list, options, taken) {
  list.replaceChildren();
  const values = options.filter((option) => "v" in option).map((option) => option.v);
  const low = Math.min(...values), high = Math.max(...values);
  for (const option of options) {
    const share = "v" in option ? (high > low ? (option.v - low) / (high - low) : 1) : option.p;
    const fill = element("div");
    fill.className = "fill";
    fill.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
    const track = element("div", "", fill);
    track.className = "track";
    const points = "v" in option ? `${option.v >= 0 ? "+" : ""}${option.v.toFixed(2)}` + (option.e === null ? " ±?" : option.e ? ` ±${option.e.toFixed(2)}` : "") : "";
    const chance = "p" in option ? `${(100 * option.p).toFixed(0)} %` : "";
    const number = element("span", [chance, points].filter(Boolean).join(" · "));
    number.className = "number";
    const line = element("li", "", element("span", option.said), track, number);
    if (option.word === taken) line.className = "taken";
    list.append(line);
  }
}

/* Decode base64 and inflate (zlib) to text. */
async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}
