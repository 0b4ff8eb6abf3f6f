// The flame graph: a click makes a frame as wide as the picture, and another on it goes back.
"use strict";
const flame = document.getElementById("flame");
const picked = document.getElementById("picked");
const frames = [...flame.children].map((element) => ({
  element,
  from: Number(element.dataset.from),
  width: Number(element.dataset.width),
  depth: Number(element.dataset.depth),
}));
let zoomed = null;

function place() {
  const from = zoomed ? zoomed.from : 0;
  const width = zoomed ? zoomed.width : 1;
  for (const each of frames) {
    const left = Math.max(0, (each.from - from) / width);
    const right = Math.min(1, (each.from + each.width - from) / width);
    each.element.hidden = right - left < 0.0008;
    each.element.style.left = `${100 * left}%`;
    each.element.style.width = `${100 * (right - left)}%`;
  }
}

for (const each of frames) {
  each.element.style.top = `${22 * each.depth}px`;
  each.element.addEventListener("click", () => {
    zoomed = zoomed === each || each.depth === 0 ? null : each;
    place();
  });
  const tell = () => { picked.textContent = each.element.title; };
  each.element.addEventListener("mouseenter", tell);
  each.element.addEventListener("focus", tell);
}
flame.style.height = `${22 * (1 + Math.max(0, ...frames.map((each) => each.depth)))}px`;
place();
