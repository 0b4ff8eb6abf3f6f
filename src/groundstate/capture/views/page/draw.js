/* Draws the picture and the strip above it. A lane costs as many steps as it has pixels, not spans. */

const picture = document.getElementById("picture");
const overview = document.getElementById("overview");
const NAMES_WIDTH = 210;
const RULER_HEIGHT = 26;
const LANE_HEIGHT = 20;
const GAP = 5;
const FONT = "11px system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

const view = { from: 0, to: wholeEnd, scroll: 0, chosen: null, measured: null, hovered: null };
let colours = {};
let size = { width: 0, height: 0 };
let frames = 0;
let lastFrame = 0; /* milliseconds that the last one took */
let waiting = false;

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const value = (name) => style.getPropertyValue(`--${name}`).trim();
  colours = { back: value("back"), panel: value("panel"), line: value("line"), text: value("text"),
    dim: value("dim"), accent: value("accent"), kinds: source.categories.map(value) };
  colours.texts = colours.kinds.map(textOn);
}

/* Kernels have shades of one colour, so that different ones can be told apart. */
const KERNEL = source.categories.indexOf("kernel");
function fillOf(lane, i) {
  const category = categoryOf(lane, i);
  if (category !== KERNEL) return colours.kinds[category];
  const step = ((lane.names[i] * 5) % 7) - 3;
  return `hsl(${140 + step * 13} 50% ${38 + (step % 2) * 5}%)`;
}

/* Black or white, whichever can be read on a colour such as #8fa3c4. */
function textOn(colour) {
  const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return 0.299 * parts[0] + 0.587 * parts[1] + 0.114 * parts[2] > 140 ? "#15181d" : "#ffffff";
}

/* A text as far as it fits; widths are measured once. */
const widths = new Map();
function fitted(g, text, room) {
  if (!widths.has(text)) widths.set(text, g.measureText(text).width);
  const width = widths.get(text);
  if (width <= room) return text;
  const letters = Math.floor(text.length * room / width) - 1;
  return letters > 1 ? text.slice(0, letters) + "\u2026" : "";
}

function fitCanvas(canvas) {
  const box = canvas.getBoundingClientRect();
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.width * ratio);
  canvas.height = Math.round(box.height * ratio);
  canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
  return { width: box.width, height: box.height };
}

function resize() {
  size = fitCanvas(picture);
  fitCanvas(overview);
  density = null;
  redraw();
}

const scale = () => (size.width - NAMES_WIDTH) / (view.to - view.from);
const xOf = (time) => NAMES_WIDTH + (time - view.from) * scale();
const timeAt = (x) => view.from + (x - NAMES_WIDTH) / scale();

/* Where each row is; the first lane of a track has a gap above it. */
const tops = [];
let fullHeight = 0;
function layOut() {
  let y = RULER_HEIGHT + GAP;
  rows.forEach((row, place) => {
    if (row.heading !== undefined || row.lane.first) y += GAP;
    tops[place] = y;
    y += LANE_HEIGHT;
  });
  fullHeight = y + GAP;
}
layOut();

function redraw() {
  if (!waiting) {
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }
}

function draw() {
  const began = performance.now();
  const g = picture.getContext("2d");
  view.scroll = Math.max(0, Math.min(view.scroll, fullHeight - size.height));
  g.fillStyle = colours.back;
  g.fillRect(0, 0, size.width, size.height);
  g.font = FONT;
  g.textBaseline = "middle";
  drawGrid(g);
  rows.forEach((row, place) => {
    const y = tops[place] - view.scroll;
    if (y + LANE_HEIGHT < RULER_HEIGHT || y > size.height) return;
    if (row.lane) drawLane(g, row.lane, y);
  });
  drawNames(g);
  drawRuler(g);
  drawMarks(g);
  drawOverview();
  frames++;
  lastFrame = performance.now() - began;
}

function drawLane(g, lane, y) {
  const perPixel = 1 / scale();
  const dimmed = found.length > 0 || document.getElementById("search").value.trim() !== "";
  let i = firstAbove(lane.covered, view.from);
  while (i < lane.count && lane.starts[i] < view.to) {
    const left = Math.max(NAMES_WIDTH - 1, xOf(lane.starts[i]));
    const right = Math.min(size.width + 1, xOf(lane.ends[i]));
    const width = Math.max(1, right - left);
    if (shown[categoryOf(lane, i)]) drawSpan(g, lane, i, left, y, width, dimmed);
    if (width < 2) {
      /* All that ends inside of this pixel would be drawn over it. */
      const next = timeAt(Math.floor(left) + 1);
      i = Math.max(i + 1, firstAbove(lane.covered, Math.max(next, view.from + perPixel), i + 1));
    } else {
      i++;
    }
  }
  if (lane.matches.length) drawMatches(g, lane, y);
}

function drawSpan(g, lane, i, left, y, width, dimmed) {
  const height = LANE_HEIGHT - 3;
  const estimated = isEstimated(lane, i);
  g.globalAlpha = dimmed ? 0.28 : 1;
  g.fillStyle = fillOf(lane, i);
  if (estimated && width > 6) {
    g.globalAlpha *= 0.45;
    g.fillRect(left, y, width, height);
    g.globalAlpha /= 0.45;
    hatch(g, left, y, width, height);
  } else {
    g.fillRect(left, y, width > 3 ? width - 0.6 : width, height);
  }
  if (width > 26) {
    g.fillStyle = estimated ? colours.text : colours.texts[categoryOf(lane, i)];
    g.fillText(fitted(g, source.names[lane.names[i]], width - 8), left + 4, y + height / 2 + 0.5);
  }
  g.globalAlpha = 1;
}

function hatch(g, left, y, width, height) {
  g.save();
  g.beginPath();
  g.rect(left, y, width, height);
  g.clip();
  g.strokeStyle = g.fillStyle;
  g.lineWidth = 1.2;
  g.beginPath();
  for (let x = left - height - (left % 6); x < left + width; x += 6) {
    g.moveTo(x, y + height);
    g.lineTo(x + height, y);
  }
  g.stroke();
  g.strokeRect(left + 0.5, y + 0.5, width - 1, height - 1);
  g.restore();
}

/* Matches in their full colour, one for each pixel at most. */
function drawMatches(g, lane, y) {
  let last = -10;
  for (const i of lane.matches) {
    if (lane.starts[i] > view.to) break;
    if (lane.ends[i] < view.from) continue;
    const left = Math.max(NAMES_WIDTH, xOf(lane.starts[i]));
    const right = Math.min(size.width + 1, xOf(lane.ends[i]));
    if (right < last + 1) continue;
    const width = Math.max(2, right - left);
    drawSpan(g, lane, i, left, y, width, false);
    g.strokeStyle = colours.accent;
    g.lineWidth = 1.5;
    if (width > 4) g.strokeRect(left + 0.5, y + 0.5, width - 1, LANE_HEIGHT - 4);
    last = left + width;
  }
}

/* Times at which lines are drawn: 1, 2 or 5 times a power of ten, about every 120 pixels. */
function gridStep() {
  const wanted = (view.to - view.from) * 120 / Math.max(1, size.width - NAMES_WIDTH);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * [1, 2, 5, 10].find((factor) => power * factor >= wanted);
}

function eachGridLine(visit) {
  const step = Math.max(gridStep(), 1e-3);
  for (let k = Math.ceil(view.from / step); k * step <= view.to; k++) visit(k * step, step);
}

function drawGrid(g) {
  g.fillStyle = colours.line;
  eachGridLine((time) => g.fillRect(Math.round(xOf(time)), RULER_HEIGHT, 1, size.height));
}

/* All times of the ruler have the unit and the digits of its step. */
function rulerText(time, step) {
  const [unit, per] = step >= 1e8 ? ["s", 1e9] : step >= 1e5 ? ["ms", 1e6] : step >= 100 ? ["\u00b5s", 1e3] : ["ns", 1];
  const digits = Math.max(0, Math.min(3, -Math.floor(Math.log10(step / per) + 1e-9)));
  return `${(time / per).toFixed(digits)} ${unit}`;
}

function drawRuler(g) {
  g.fillStyle = colours.panel;
  g.fillRect(0, 0, size.width, RULER_HEIGHT);
  g.fillStyle = colours.line;
  g.fillRect(0, RULER_HEIGHT - 1, size.width, 1);
  g.fillStyle = colours.dim;
  eachGridLine((time, step) => {
    const x = xOf(time);
    if (x > NAMES_WIDTH + 2 && x < size.width - 20) g.fillText(rulerText(time, step), x + 4, RULER_HEIGHT / 2);
  });
  g.fillStyle = colours.panel;
  g.fillRect(0, 0, NAMES_WIDTH, RULER_HEIGHT);
  g.fillStyle = colours.text;
  g.fillText(`${duration(view.to - view.from)} shown`, 12, RULER_HEIGHT / 2);
}

function drawNames(g) {
  g.fillStyle = colours.back;
  g.fillRect(0, RULER_HEIGHT, NAMES_WIDTH, size.height);
  rows.forEach((row, place) => {
    const y = tops[place] - view.scroll;
    if (y + LANE_HEIGHT < RULER_HEIGHT || y > size.height) return;
    if (row.heading !== undefined) {
      g.fillStyle = colours.panel;
      g.fillRect(0, y, size.width, LANE_HEIGHT - 2);
      g.font = `600 ${FONT}`;
      g.fillStyle = colours.text;
      g.fillText(row.heading, 12, y + LANE_HEIGHT / 2 - 1);
      g.font = FONT;
    } else if (row.lane.first) {
      g.fillStyle = colours.text;
      g.fillText(fitted(g, row.lane.track.name, NAMES_WIDTH - 20), 12, y + LANE_HEIGHT / 2 - 1);
    }
  });
  g.fillStyle = colours.line;
  g.fillRect(NAMES_WIDTH - 1, RULER_HEIGHT, 1, size.height);
}

/* What is chosen or hovered, and what is being measured. */
function drawMarks(g) {
  for (const [place, colour] of [[view.hovered, colours.dim], [view.chosen, colours.accent]]) {
    if (place === null) continue;
    const { lane, i } = place;
    const y = tops[lane.row] - view.scroll;
    const left = Math.max(NAMES_WIDTH, xOf(lane.starts[i]));
    const right = Math.min(size.width, xOf(lane.ends[i]));
    if (right < NAMES_WIDTH || left > size.width || y < RULER_HEIGHT - LANE_HEIGHT) continue;
    g.strokeStyle = colour;
    g.lineWidth = 2;
    g.strokeRect(left - 1, y - 1, Math.max(3, right - left) + 2, LANE_HEIGHT - 1);
  }
  if (view.measured !== null) {
    const [a, b] = [...view.measured].sort((one, other) => one - other);
    const left = Math.max(NAMES_WIDTH, xOf(a));
    const right = Math.max(left, xOf(b));
    g.globalAlpha = 0.16;
    g.fillStyle = colours.accent;
    g.fillRect(left, RULER_HEIGHT, right - left, size.height);
    g.globalAlpha = 1;
    g.fillRect(left, RULER_HEIGHT, 1, size.height);
    g.fillRect(right, RULER_HEIGHT, 1, size.height);
    g.fillStyle = colours.accent;
    g.font = `600 ${FONT}`;
    g.fillText(duration(b - a), left + 6, RULER_HEIGHT + 10);
    g.font = FONT;
  }
}

/* How busy threads and queues were in each pixel of the strip; made once for each width. */
let density = null;
function makeDensity(width) {
  density = { thread: new Float32Array(width), queue: new Float32Array(width) };
  const per = width / wholeEnd;
  for (const lane of lanes) {
    const sums = density[lane.track.kind] || density.thread;
    for (let i = 0; i < lane.count; i++) {
      const a = lane.starts[i] * per;
      const b = Math.max(a, lane.ends[i] * per);
      const first = Math.min(width - 1, Math.max(0, Math.floor(a)));
      const last = Math.min(width - 1, Math.max(0, Math.floor(b)));
      if (first === last) sums[first] += b - a;
      else {
        sums[first] += first + 1 - a;
        sums[last] += b - last;
        for (let x = first + 1; x < last; x++) sums[x] += 1;
      }
    }
  }
}

function drawOverview() {
  const g = overview.getContext("2d");
  const width = Math.max(1, Math.floor(size.width - NAMES_WIDTH));
  const height = 46;
  if (density === null) makeDensity(width);
  g.fillStyle = colours.back;
  g.fillRect(0, 0, size.width, height);
  g.font = FONT;
  g.textBaseline = "middle";
  g.fillStyle = colours.dim;
  g.fillText("threads, all together", 12, 12);
  g.fillText("queues, all together", 12, 34);
  g.save();
  g.translate(NAMES_WIDTH, 0);
  drawDensity(g, density.thread, 1, 20, colours.kinds[source.categories.indexOf("call")]);
  drawDensity(g, density.queue, 24, 20, colours.kinds[source.categories.indexOf("kernel")]);
  drawWindow(g, width, height);
  g.restore();
}

/* Where matches are, and which part of the whole the picture shows. */
function drawWindow(g, width, height) {
  g.fillStyle = colours.accent;
  let last = -1;
  for (const { lane, i } of found) {
    const x = Math.floor(lane.starts[i] / wholeEnd * width);
    if (x !== last) g.fillRect(x, 0, 1, height);
    last = x;
  }
  const left = view.from / wholeEnd * width;
  const right = view.to / wholeEnd * width;
  g.globalAlpha = 0.6;
  g.fillStyle = colours.panel;
  g.fillRect(0, 0, left, height);
  g.fillRect(right, 0, width - right, height);
  g.globalAlpha = 1;
  g.strokeStyle = colours.accent;
  g.lineWidth = 1.5;
  g.strokeRect(left + 0.5, 0.75, Math.max(3, right - left - 1.5), height - 1.5);
}

function drawDensity(g, sums, top, height, colour) {
  let most = 1;
  for (const sum of sums) most = Math.max(most, sum);
  g.fillStyle = colour;
  sums.forEach((sum, x) => {
    if (sum <= 0) return;
    const high = Math.max(1.5, sum / most * height);
    g.fillRect(x, top + height - high, 1, high);
  });
}
