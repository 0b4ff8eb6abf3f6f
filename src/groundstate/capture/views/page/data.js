/* The spans as typed arrays, and questions about them. */

const source = JSON.parse(document.getElementById("data").textContent);
const CATEGORY_NAMES = {
  call: "calls", wait: "waits", submit: "submitting calls", failed: "failed calls",
  submission: "submissions", kernel: "kernels", copy: "copies", fill: "fills", sync: "barriers, events",
};

/* Rows of the picture from top to bottom: headings of processes, and lanes of spans. */
const rows = [];
const lanes = [];
let spanCount = 0;
let wholeEnd = 1;

function unpackLane(raw, track, first) {
  const count = raw.starts.length;
  const lane = {
    track, first, row: 0, count,
    starts: new Float64Array(count), ends: new Float64Array(count), covered: new Float64Array(count),
    names: Int32Array.from(raw.names), notes: Int32Array.from(raw.notes), kinds: Uint8Array.from(raw.kinds),
    matches: [],
  };
  let at = 0;
  let furthest = 0;
  for (let i = 0; i < count; i++) {
    at += raw.starts[i];
    lane.starts[i] = at;
    lane.ends[i] = at + raw.lengths[i];
    furthest = Math.max(furthest, lane.ends[i]);
    lane.covered[i] = furthest; /* never falls, so that it can be searched */
  }
  wholeEnd = Math.max(wholeEnd, furthest);
  spanCount += count;
  return lane;
}

function unpack() {
  const several = source.processes.length > 1;
  for (const process of source.processes) {
    if (several) rows.push({ heading: `${process.name}` });
    for (const track of source.tracks) {
      if (track.process !== process.number || track.taken) continue;
      track.taken = true;
      track.lanes.forEach((raw, index) => {
        const lane = unpackLane(raw, track, index === 0);
        lane.row = rows.length;
        lanes.push(lane);
        rows.push({ lane });
      });
      track.lanes = null;
    }
  }
}
unpack();

/* The first place whose value is more than `limit`, in an array that never falls. */
function firstAbove(values, limit, from = 0) {
  let low = from;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

const categoryOf = (lane, i) => lane.kinds[i] >> 1;
const isEstimated = (lane, i) => (lane.kinds[i] & 1) === 1;

/* How often each name comes, and how long all of them took. */
const totals = source.names.map(() => ({ count: 0, time: 0 }));
for (const lane of lanes) {
  for (let i = 0; i < lane.count; i++) {
    const total = totals[lane.names[i]];
    total.count++;
    total.time += lane.ends[i] - lane.starts[i];
  }
}

/* Spans whose name or note has a text; all of them are kept with their lane, in order of time. */
let found = [];
function findAll(text) {
  const wanted = text.trim().toLowerCase();
  found = [];
  for (const lane of lanes) lane.matches = [];
  if (!wanted) return found;
  const names = source.names.map((name) => name.toLowerCase().includes(wanted));
  const notes = source.notes.map((note) => note.toLowerCase().includes(wanted));
  for (const lane of lanes) {
    for (let i = 0; i < lane.count; i++) {
      if ((names[lane.names[i]] || notes[lane.notes[i]]) && shown[categoryOf(lane, i)]) {
        lane.matches.push(i);
        found.push({ lane, i });
      }
    }
  }
  found.sort((a, b) => a.lane.starts[a.i] - b.lane.starts[b.i]);
  return found;
}

const shown = source.categories.map(() => true);

/* A length of time in three digits. */
function duration(ns) {
  const units = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3]];
  for (const [unit, size] of units) {
    if (Math.abs(ns) >= size * 0.9995) return `${three(ns / size)} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}

function three(value) {
  const size = Math.abs(value);
  return value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}
