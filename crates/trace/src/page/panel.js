// Beside the timeline: the event that is selected, the stacks at that moment, and totals.

const MOST = 200; // so many rows, stacks of a backtrace, or stacks under one parent are shown
const DEEPEST = 100; // and so many levels of the tree

/** An element with what is in it: texts and other elements. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") made.style.cssText = value;
    else if (value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== undefined && child !== ""));
  return made;
}

class Panel {
  constructor(model, colors, select) {
    Object.assign(this, { model, colors, select });
    this.sorted = { functions: ["time", -1], tags: ["number", -1], stacks: ["time", -1] };
    this.tabs = ["event", "tree", "totals"];
    for (const tab of this.tabs) {
      const button = document.getElementById(`tab-${tab}`);
      button.addEventListener("click", () => this.open(tab));
      button.addEventListener("keydown", (key) => this.moveTab(key, tab));
    }
  }

  open(tab) {
    for (const other of this.tabs) {
      const button = document.getElementById(`tab-${other}`);
      button.setAttribute("aria-selected", String(other === tab));
      button.tabIndex = other === tab ? 0 : -1;
      document.getElementById(other).hidden = other !== tab;
    }
  }

  moveTab(key, tab) {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[key.key];
    if (!move) return;
    const next = this.tabs[(this.tabs.indexOf(tab) + move + 3) % 3];
    this.open(next);
    document.getElementById(`tab-${next}`).focus();
    key.preventDefault();
    key.stopPropagation();
  }

  show(event) {
    document.getElementById("event").replaceChildren(...this.event(event));
    document.getElementById("tree").replaceChildren(...this.tree(event));
  }

  event(event) {
    const { model } = this;
    if (event < 0) {
      return [element("p", { class: "soft hint" }, "Click into the timeline, or press . for the first event.")];
    }
    const rows = [
      ["time", duration(model.time[event])],
      ["number", `${number(event + 1)} of ${number(model.count)}`],
      ["stack", this.stackButton(model.stack[event], event)],
    ];
    if (model.target[event] >= 0) rows.push(["to", this.stackButton(model.target[event], event)]);
    if (model.tagName(event)) rows.push(["tag", model.tagName(event)]);
    if (model.is(event, "clone")) rows.push(["copy of", this.stackButton(model.stacks.origin[model.target[event]], event)]);
    else if (model.note(event)) rows.push([model.isSwitch(event) ? "values" : "what", model.note(event)]);
    const stacks = model.backtrace(event);
    const facts = rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]);
    return [
      element("h2", {}, model.title(event)),
      element("dl", {}, ...facts),
      ...stacks.slice(0, MOST).flatMap((part, depth) => this.frames(part, depth, event)),
      stacks.length > MOST ? element("p", { class: "soft" }, `and ${number(stacks.length - MOST)} more stacks`) : "",
    ];
  }

  /** The frames of one stack of a backtrace. */
  frames({ stack, frames }, depth, event) {
    const { model, colors } = this;
    const title = element("h3", {}, depth === 0 ? "on " : "resumed by ", this.stackButton(stack, event));
    const lines = frames.map((frame) => {
      const position = model.frames.position[frame];
      const source = position < 0 ? "" : model.positions.source[position].trim();
      return element("li", {},
        element("code", {}, model.functions[model.frames.function[frame]]),
        position < 0 ? "" : element("div", { class: "place" }, model.positions.place[position]),
        source ? element("pre", {}, source) : "");
    });
    if (!lines.length) lines.push(element("li", { class: "soft" }, "no frames are known"));
    return [title, element("ol", { class: "frames", style: `--swatch: ${colors.ofStack(stack)}` }, ...lines)];
  }

  stackButton(stack, event) {
    const { model } = this;
    const go = () => this.select(Math.max(model.lastOf(stack, event), model.birth[stack]) % model.count);
    return element("button", { type: "button", class: "link", onclick: go, title: model.design(stack) }, model.stackName(stack));
  }

  /** All stacks that exist after an event, each under its parent. */
  tree(event) {
    const { model } = this;
    if (event < 0) return [element("p", { class: "soft hint" }, "Select an event to see the stacks at that moment.")];
    const parents = model.parents(event, true);
    const run = model.runAt(event);
    const running = run >= 0 && (model.runs.end[run] > event || model.runs.begin[run] === event) ? model.runs.stack[run] : -1;
    const waiting = new Set();
    for (let stack = running; stack >= 0 && !waiting.has(stack); stack = parents[stack]) waiting.add(stack);
    const alive = [];
    for (let stack = 0; stack < model.stackCount; stack++) {
      if (model.birth[stack] <= event && event < model.death[stack]) alive.push(stack);
    }
    const children = new Map();
    for (const stack of alive) {
      const parent = parents[stack];
      if (!children.has(parent)) children.set(parent, []);
      children.get(parent).push(stack);
    }
    const state = (stack) => this.state(stack, event, running, waiting);
    const list = this.branch(-1, children, event, state, 0);
    return [
      element("h2", {}, `${number(alive.length)} stacks at ${duration(model.time[event])}`),
      element("p", { class: "soft" }, `after event ${number(event + 1)}, ${model.title(event)}`),
      list ?? element("p", { class: "soft" }, "There are none."),
    ];
  }

  state(stack, event, running, waiting) {
    const { model } = this;
    if (stack === running) return "running";
    if (waiting.has(stack)) return "waiting";
    const { begin, items } = model.runsOf;
    const hasRun = begin[stack] < begin[stack + 1] && model.runs.begin[items[begin[stack]]] <= event;
    if (hasRun || model.stacks.begun[stack]) return model.stacks.design[stack] === 0 ? "left" : "suspended";
    return "new";
  }

  /** The stacks under a parent, those first that wait or run. */
  branch(parent, children, event, state, depth) {
    const stacks = children.get(parent);
    if (!stacks) return undefined;
    if (depth === DEEPEST) return element("p", { class: "soft" }, "and more below");
    const isBusy = (stack) => ["running", "waiting"].includes(state(stack));
    const shown = [...stacks.filter(isBusy), ...stacks.filter((stack) => !isBusy(stack))].slice(0, MOST);
    const lines = shown.map((stack) =>
      element("li", { class: state(stack) },
        element("i", { style: `background: ${this.colors.ofStack(stack)}` }),
        this.stackButton(stack, event), " ",
        element("span", { class: "state" }, `${state(stack)} · ${this.model.design(stack)}`),
        this.branch(stack, children, event, state, depth + 1)));
    if (stacks.length > MOST) lines.push(element("li", { class: "soft" }, `and ${number(stacks.length - MOST)} more`));
    return element("ul", { class: "tree" }, ...lines);
  }

  totals() {
    const { model } = this;
    const functions = model.functions.map((name) => ({ name, time: 0, number: 0 }));
    const stacks = Array.from({ length: model.stackCount }, (_, i) => ({ name: model.stackName(i), time: 0, number: 0 }));
    model.runs.stack.forEach((stack, run) => {
      const time = model.time[model.runs.end[run]] - model.time[model.runs.begin[run]];
      const ran = [stacks[stack], functions[model.runs.function[run]]];
      for (const total of ran) {
        if (total) (total.time += time), total.number++;
      }
    });
    const tags = model.tags.map((name) => ({ name, number: 0 }));
    for (const tag of model.events.tag) if (tag >= 0) tags[tag].number++;
    document.getElementById("totals").replaceChildren(
      ...this.table("functions", "Functions", functions, [["name", "function"], ["number", "runs"], ["time", "time"]]),
      ...this.table("tags", "Tags", tags, [["name", "tag"], ["number", "switches"]]),
      ...this.table("stacks", "Stacks", stacks, [["name", "stack"], ["number", "runs"], ["time", "time"]]),
    );
  }

  table(key, title, rows, columns) {
    const [by, sign] = this.sorted[key];
    const order = (a, b) => (typeof a[by] === "string" ? a[by].localeCompare(b[by]) : a[by] - b[by]);
    const shown = rows.filter((row) => row.number > 0).sort((a, b) => sign * order(a, b));
    const head = columns.map(([column, name]) => {
      const sort = () => {
        this.sorted[key] = [column, column === by ? -sign : column === "name" ? 1 : -1];
        this.totals();
        document.querySelector(`#totals [data-sort="${key} ${column}"]`).focus();
      };
      const sorted = column === by ? (sign > 0 ? "ascending" : "descending") : undefined;
      const arrow = column === by ? (sign > 0 ? " ↑" : " ↓") : "";
      return element("th", { scope: "col", "aria-sort": sorted },
        element("button", { type: "button", onclick: sort, "data-sort": `${key} ${column}` }, name + arrow));
    });
    const body = shown.slice(0, MOST).map((row) =>
      element("tr", {}, ...columns.map(([column]) => element("td", {}, this.cell(row, column)))));
    const more = shown.length > MOST ? [element("p", { class: "soft" }, `and ${number(shown.length - MOST)} more`)] : [];
    return [element("h3", {}, title), element("table", { id: `totals-${key}` }, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...body)), ...more];
  }

  cell(row, column) {
    if (column === "time") return duration(row.time);
    if (column === "number") return number(row.number);
    return element("button", { type: "button", onclick: () => this.search(row.name), title: "Search for it" }, row.name);
  }

  legend() {
    const { model, colors } = this;
    const entries = colors.by === "design"
      ? [...new Set(model.stacks.design)].sort().map((d) => [model.designs[d], colors.ofDesign(d)])
      : colors.order.filter((f) => colors.time[f] > 0).slice(0, 24).map((f) => [model.functions[f], colors.ofFunction(f)]);
    const legend = entries.map(([name, color]) => element("span", {}, element("i", { style: `background: ${color}` }), name));
    document.getElementById("legend").replaceChildren(...legend);
  }
}
