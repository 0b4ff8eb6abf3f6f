/* Pointer, keys, search, legend and details; `window.timeline` is for tests and curious people. */

const byId = (id) => document.getElementById(id);
const search = byId("search");
const tip = byId("tip");
let current = -1; /* the place of the last match that was gone to */
let drag = null;

function zoomTo(from, to) {
  const shortest = 10; /* nanoseconds */
  let length = Math.max(shortest, Math.min(to - from, wholeEnd));
  let begin = (from + to - length) / 2;
  begin = Math.max(0, Math.min(begin, wholeEnd - length));
  view.from = begin;
  view.to = begin + length;
  redraw();
}

function zoomAt(time, factor) {
  zoomTo(time - (time - view.from) * factor, time + (view.to - time) * factor);
}

const move = (share) => {
  const by = (view.to - view.from) * share;
  const allowed = Math.max(-view.from, Math.min(by, wholeEnd - view.to));
  zoomTo(view.from + allowed, view.to + allowed);
};

function hit(x, y) {
  if (x < NAMES_WIDTH || y < RULER_HEIGHT) return null;
  const place = rows.findIndex((_, k) => y + view.scroll >= tops[k] && y + view.scroll < tops[k] + LANE_HEIGHT - 2);
  const lane = place < 0 ? null : rows[place].lane;
  if (!lane) return null;
  const slack = 2 / scale();
  const time = timeAt(x);
  let i = firstAbove(lane.covered, time - slack);
  let best = null;
  for (; i < lane.count && lane.starts[i] <= time + slack; i++) {
    if (!shown[categoryOf(lane, i)]) continue;
    if (lane.starts[i] <= time && time < lane.ends[i]) return { lane, i };
    best = best || { lane, i };
  }
  return best;
}

/* Elements for a span: name, times, and what is known of it. All texts go in as texts. */
function describe(into, { lane, i }, long) {
  const line = (tag, text) => into.appendChild(Object.assign(document.createElement(tag), { textContent: text }));
  into.replaceChildren();
  line("b", source.names[lane.names[i]]);
  const mark = isEstimated(lane, i) ? "about " : "";
  line("div", `${mark}${duration(lane.ends[i] - lane.starts[i])}, from ${duration(lane.starts[i])} on, ${lane.track.name}`);
  const note = source.notes[lane.notes[i]];
  if (note) line("span", long || note.length < 260 ? note : note.slice(0, 260) + "\u2026");
  if (long) {
    const total = totals[lane.names[i]];
    line("div", `${total.count.toLocaleString("en")} of this name, ${duration(total.time)} in all, ` +
      `${duration(total.time / total.count)} on average`);
  }
}

function choose(place) {
  view.chosen = place;
  byId("details").replaceChildren();
  if (place !== null) describe(byId("details"), place, true);
  else byId("details").textContent = source.remarks.join("\n") || "Click a span to see all of it; ? lists the keys.";
  redraw();
}

function goTo(place, closer) {
  const { lane, i } = place;
  const length = lane.ends[i] - lane.starts[i];
  const middle = (lane.starts[i] + lane.ends[i]) / 2;
  const wanted = closer ? Math.max(length * 1.6, 50) : view.to - view.from;
  if (closer || middle < view.from || middle > view.to) zoomTo(middle - wanted / 2, middle + wanted / 2);
  const y = tops[lane.row];
  if (y < view.scroll + RULER_HEIGHT + LANE_HEIGHT || y > view.scroll + size.height - 2 * LANE_HEIGHT) {
    view.scroll = y - size.height / 2;
  }
  choose(place);
}

function runSearch() {
  findAll(search.value);
  current = -1;
  byId("matches").textContent = search.value.trim() ? found.length.toLocaleString("en") : "";
  redraw();
  return found.length;
}

function nextMatch(step) {
  if (!found.length) return;
  current = (current + step + found.length) % found.length;
  byId("matches").textContent = `${(current + 1).toLocaleString("en")}/${found.length.toLocaleString("en")}`;
  const { lane, i } = found[current];
  goTo(found[current], (lane.ends[i] - lane.starts[i]) * scale() < 3);
}

function neighbour(step) {
  if (view.chosen === null) return;
  const { lane } = view.chosen;
  let i = view.chosen.i + step;
  while (i >= 0 && i < lane.count && !shown[categoryOf(lane, i)]) i += step;
  if (i >= 0 && i < lane.count) goTo({ lane, i }, false);
}

function setTheme(dark) {
  document.documentElement.classList.toggle("dark", dark);
  readColours();
  makeLegend();
  redraw();
}

function makeLegend() {
  const used = new Set();
  let estimated = false;
  for (const lane of lanes) {
    for (let i = 0; i < lane.count; i++) {
      used.add(lane.kinds[i] >> 1);
      estimated ||= isEstimated(lane, i);
    }
  }
  const legend = byId("legend");
  legend.replaceChildren();
  source.categories.forEach((name, k) => {
    if (!used.has(k)) return;
    const button = document.createElement("button");
    const box = document.createElement("i");
    box.style.background = colours.kinds[k];
    button.append(box, CATEGORY_NAMES[name]);
    button.setAttribute("aria-pressed", String(shown[k]));
    button.onclick = () => {
      shown[k] = !shown[k];
      button.setAttribute("aria-pressed", String(shown[k]));
      runSearch();
    };
    legend.append(button);
  });
  if (estimated) {
    const entry = document.createElement("button");
    entry.className = "hatched";
    entry.disabled = true;
    entry.append(document.createElement("i"), "estimated, not measured");
    legend.append(entry);
  }
}

function showTip(event) {
  const place = drag ? null : hit(event.offsetX, event.offsetY);
  if (place?.i !== view.hovered?.i || place?.lane !== view.hovered?.lane) {
    view.hovered = place;
    redraw();
  }
  tip.hidden = place === null;
  if (place === null) return;
  describe(tip, place, false);
  const box = tip.getBoundingClientRect();
  const top = picture.offsetTop + event.offsetY;
  tip.style.left = `${Math.max(4, Math.min(event.offsetX + 14, size.width - box.width - 8))}px`;
  tip.style.top = `${top + 18 + box.height > picture.offsetTop + size.height ? top - box.height - 10 : top + 18}px`;
}

picture.addEventListener("wheel", (event) => {
  event.preventDefault();
  const steps = (event.deltaY || event.deltaX) * (event.deltaMode === 1 ? 18 : 1);
  if (event.offsetX < NAMES_WIDTH) view.scroll += steps;
  else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move(steps / 900);
  else zoomAt(timeAt(event.offsetX), Math.exp(Math.max(-400, Math.min(400, steps)) * 0.0022));
  redraw();
}, { passive: false });

picture.addEventListener("pointerdown", (event) => {
  if (event.button !== 0) return;
  picture.setPointerCapture(event.pointerId);
  const measuring = event.shiftKey && event.offsetX >= NAMES_WIDTH;
  drag = { x: event.offsetX, y: event.offsetY, from: view.from, to: view.to, scroll: view.scroll, measuring, moved: false };
  if (measuring) view.measured = [timeAt(event.offsetX), timeAt(event.offsetX)];
});

picture.addEventListener("pointermove", (event) => {
  showTip(event);
  if (!drag) return;
  const dx = event.offsetX - drag.x;
  const dy = event.offsetY - drag.y;
  drag.moved ||= Math.abs(dx) + Math.abs(dy) > 3;
  if (drag.measuring) {
    view.measured[1] = Math.max(view.from, Math.min(view.to, timeAt(event.offsetX)));
  } else if (drag.moved) {
    picture.classList.add("moving");
    const by = -dx * (drag.to - drag.from) / (size.width - NAMES_WIDTH);
    const allowed = Math.max(-drag.from, Math.min(by, wholeEnd - drag.to));
    view.from = drag.from + allowed;
    view.to = drag.to + allowed;
    view.scroll = drag.scroll - dy;
  }
  redraw();
});

picture.addEventListener("pointerup", (event) => {
  if (drag && !drag.moved && !drag.measuring) choose(hit(event.offsetX, event.offsetY));
  drag = null;
  picture.classList.remove("moving");
});
picture.addEventListener("pointerleave", () => { tip.hidden = true; view.hovered = null; redraw(); });
picture.addEventListener("dblclick", (event) => {
  const place = hit(event.offsetX, event.offsetY);
  if (place) goTo(place, true);
});

function jump(event) {
  const time = (event.offsetX - NAMES_WIDTH) / (size.width - NAMES_WIDTH) * wholeEnd;
  const half = (view.to - view.from) / 2;
  zoomTo(time - half, time + half);
}
overview.addEventListener("pointerdown", (event) => { overview.setPointerCapture(event.pointerId); jump(event); });
overview.addEventListener("pointermove", (event) => { if (event.buttons & 1) jump(event); });

const actions = {
  "+": () => zoomAt((view.from + view.to) / 2, 0.6), "-": () => zoomAt((view.from + view.to) / 2, 1 / 0.6),
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  ArrowUp: () => { view.scroll -= 60; redraw(); }, ArrowDown: () => { view.scroll += 60; redraw(); },
  "0": () => zoomTo(0, wholeEnd), "/": () => { search.focus(); search.select(); },
  n: () => nextMatch(1), N: () => nextMatch(-1), "[": () => neighbour(-1), "]": () => neighbour(1),
  t: () => setTheme(!document.documentElement.classList.contains("dark")), "?": () => byId("keys").showModal(),
  f: () => {
    if (view.measured) zoomTo(Math.min(...view.measured), Math.max(...view.measured));
    else if (view.chosen) goTo(view.chosen, true);
  },
  Escape: () => { search.value = ""; view.measured = null; runSearch(); choose(null); },
};
Object.assign(actions, { w: actions["+"], "=": actions["+"], s: actions["-"], a: actions.ArrowLeft,
  d: actions.ArrowRight, Home: actions["0"] });

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || byId("keys").open) return;
  if (event.target === search) {
    if (event.key === "Enter") nextMatch(event.shiftKey ? -1 : 1);
    else if (event.key === "Escape") { actions.Escape(); picture.focus(); }
    return;
  }
  const action = actions[event.key];
  if (action) { event.preventDefault(); action(); }
});

search.addEventListener("input", runSearch);
byId("fit").onclick = actions["0"];
byId("in").onclick = actions["+"];
byId("out").onclick = actions["-"];
byId("theme").onclick = actions.t;
byId("help").onclick = actions["?"];
byId("title").textContent = source.title;
const when = new Date(source.start);
byId("facts").textContent = `${spanCount.toLocaleString("en")} spans, ${duration(wholeEnd)}` +
  (Number.isNaN(when.getTime()) ? "" : `, ${when.toLocaleString()}`);

setTheme(window.matchMedia("(prefers-color-scheme: dark)").matches);
choose(null);
new ResizeObserver(resize).observe(byId("main"));
resize();

window.timeline = { view, lanes, rows, source, spanCount, wholeEnd, zoomTo, hit, choose, goTo, nextMatch, draw, setTheme,
  find: (text) => { search.value = text; return runSearch(); }, xOf, top: (lane) => tops[lane.row] - view.scroll,
  frames: () => frames, lastFrame: () => lastFrame };
