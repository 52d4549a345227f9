// The trace: what is embedded in the page, and indexes into it.

/** Reads what is embedded: JSON, deflated, in base64. */
async function load() {
  const text = document.getElementById("data").textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Model(await new Response(stream).json());
}

/** Lists of numbers by key: those of key k stand from begin[k] to begin[k + 1]. */
class Index {
  constructor(keys, count) {
    this.begin = new Int32Array(count + 1);
    for (const key of keys) this.begin[key + 1]++;
    for (let k = 0; k < count; k++) this.begin[k + 1] += this.begin[k];
    this.items = new Int32Array(keys.length);
    const next = this.begin.slice();
    for (let i = 0; i < keys.length; i++) this.items[next[keys[i]]++] = i;
  }
}

/** The first number from low on, and below high, for which a test holds; high if for none.
    The test must not hold before a number for which it does not. */
function first(low, high, test) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

class Model {
  constructor(data) {
    Object.assign(this, data);
    this.stackCount = data.stacks.design.length;
    this.count = data.events.what.length;
    this.stack = Int32Array.from(data.events.stack);
    this.target = Int32Array.from(data.events.target);
    this.what = Uint8Array.from(data.events.what);
    this.time = new Float64Array(this.count + 1);
    let time = 0;
    for (let i = 0; i < this.count; i++) this.time[i] = time += data.events.time[i];
    this.time[this.count] = data.duration;
    const creating = ["create", "clone"].map((word) => data.words.indexOf(word));
    this.switches = this.target.map((target, i) => (target >= 0 && !creating.includes(this.what[i]) ? 1 : 0));
    this.eventsOf = new Index(this.stack, this.stackCount);
    this.runsOf = new Index(data.runs.stack, this.stackCount);
    this.lives();
  }

  is(event, word) {
    return this.words[this.what[event]] === word;
  }

  /** Whether another stack runs after an event. */
  isSwitch(event) {
    return this.switches[event] === 1;
  }

  /** The events with which each stack begins to exist, and ends. */
  lives() {
    const ending = new Set(["return", "retire", "throw", "drop"]);
    this.birth = new Int32Array(this.stackCount).fill(this.count);
    this.death = new Int32Array(this.stackCount).fill(this.count);
    for (let i = this.count - 1; i >= 0; i--) {
      this.birth[this.stack[i]] = i;
      if (this.target[i] >= 0) this.birth[this.target[i]] = i;
      const word = this.words[this.what[i]];
      if (ending.has(word) && this.death[this.stack[i]] === this.count) this.death[this.stack[i]] = i;
    }
  }

  stackName(stack) {
    const begun = this.stacks.function[stack];
    return begun < 0 ? `${stack}` : `${stack} ${this.functions[begun]}`;
  }

  design(stack) {
    return this.designs[this.stacks.design[stack]];
  }

  tagName(event) {
    const tag = this.events.tag[event];
    return tag < 0 ? "" : this.tags[tag];
  }

  note(event) {
    return this.notes[this.events.note[event]];
  }

  /** What happened, in a few words. */
  title(event) {
    return [this.words[this.what[event]], this.tagName(event), this.note(event)].filter(Boolean).join(" ");
  }

  /** The function that ran at an event. */
  functionAt(event) {
    const frame = this.events.frames[event];
    return frame >= 0 ? this.frames.function[frame] : this.stacks.function[this.stack[event]];
  }

  /** The parent of each stack just before an event (or just after it). */
  parents(event, after) {
    const parents = new Int32Array(this.stackCount).fill(-1);
    const { event: at, child, parent } = this.links;
    for (let i = 0; i < at.length && (at[i] < event || (after && at[i] === event)); i++) parents[child[i]] = parent[i];
    return parents;
  }

  /** The last event of a stack that is not after another event; -1 if there is none. */
  lastOf(stack, event) {
    const { begin, items } = this.eventsOf;
    const i = first(begin[stack], begin[stack + 1], (i) => items[i] > event);
    return i > begin[stack] ? items[i - 1] : -1;
  }

  /** The run in which an event happens, or the one that it begins; -1 if nothing ran. */
  runAt(event) {
    const i = first(0, this.runs.begin.length, (i) => this.runs.begin[i] > event);
    return i > 0 && this.runs.end[i - 1] >= event ? i - 1 : -1;
  }

  /** The innermost frame of a stack when it was seen last; a copy that has not run yet is where its origin was. */
  lastFrame(stack, event) {
    for (const seen = new Set(); !seen.has(stack); ) {
      const last = this.lastOf(stack, event);
      if (last >= 0) return this.events.frames[last];
      seen.add(stack);
      if (this.stacks.origin[stack] < 0) return -1;
      event = this.birth[stack];
      stack = this.stacks.origin[stack];
    }
    return -1;
  }

  /** Frames of a stack at an event, then of its parent at that moment, and so on. */
  backtrace(event) {
    const parents = this.parents(event, false);
    const stacks = [];
    const seen = new Set();
    for (let stack = this.stack[event]; stack >= 0 && !seen.has(stack); stack = parents[stack]) {
      seen.add(stack);
      const frames = [];
      let frame = this.lastFrame(stack, event);
      for (; frame >= 0; frame = this.frames.caller[frame]) frames.push(frame);
      stacks.push({ stack, frames });
    }
    return stacks;
  }
}

/** A time in nanoseconds, for people. */
function duration(nanoseconds) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]];
  for (const [size, unit] of units) {
    if (nanoseconds >= size) return `${Number((nanoseconds / size).toPrecision(4))} ${unit}`;
  }
  return `${Math.round(nanoseconds)} ns`;
}

function number(value) {
  return value.toLocaleString("en").replaceAll(",", "\u202f");
}
