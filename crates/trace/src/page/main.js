// Puts the page together: what keys, mouse and wheel do.

class Page {
  constructor(model) {
    const byId = (id) => document.getElementById(id);
    this.model = model;
    this.selected = -1;
    this.view = new View(model);
    this.colors = new Colors(model);
    this.lanes = byId("lanes");
    this.painter = new Painter(this.lanes, byId("overview"), this.view, this.colors);
    this.panel = new Panel(model, this.colors, (event) => this.select(event));
    this.panel.search = (text) => this.search(text);
    this.input = byId("search");
    this.facts();
    this.buttons(byId);
    this.mouse(byId("overview"), byId("tip"));
    document.addEventListener("keydown", (key) => this.key(key));
    new ResizeObserver(() => this.resize()).observe(this.lanes);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolor());
    addEventListener("beforeprint", () => this.print(true));
    addEventListener("afterprint", () => this.print(false));
    this.panel.show(-1);
    this.panel.totals();
    this.panel.legend();
    this.resize();
  }

  facts() {
    const { model } = this;
    const facts = `${number(model.count)} events · ${number(model.stackCount)} stacks · ${duration(model.duration)}`;
    document.getElementById("facts").textContent = facts;
    const warning = document.getElementById("warning");
    warning.hidden = model.dropped === 0;
    warning.textContent = `The oldest ${number(model.dropped)} events were dropped by a limit.`;
  }

  buttons(byId) {
    const on = (id, act) => byId(id).addEventListener("click", () => (act(), this.draw()));
    on("zoom-in", () => this.view.zoom(0.5));
    on("zoom-out", () => this.view.zoom(2));
    on("fit", () => this.view.fit());
    on("next", () => this.move(1));
    on("previous", () => this.move(-1));
    on("help", () => byId("keys").showModal());
    byId("color").addEventListener("change", (change) => {
      this.colors.by = change.target.value;
      this.recolor();
    });
    byId("axis").addEventListener("change", (change) => {
      this.view.setAxis(change.target.value);
      this.painter.strip = null;
      if (this.selected >= 0) this.view.reveal(this.selected);
      this.draw();
    });
    byId("tools").addEventListener("submit", (submit) => submit.preventDefault());
    this.input.addEventListener("input", () => this.search(this.input.value));
  }

  /** Draws once before the next frame, however often it is asked for. */
  draw() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = undefined;
      this.painter.paint(this.selected);
    });
  }

  resize() {
    const { width, height } = this.lanes.getBoundingClientRect();
    if (width < 1 || height < 1) return;
    this.painter.resize(width, height);
    this.painter.paint(this.selected);
  }

  recolor() {
    this.colors.read();
    this.painter.strip = null;
    this.panel.legend();
    this.panel.show(this.selected);
    this.draw();
  }

  /** On paper: light colors, and as many stacks as fit on a page. */
  print(printing) {
    document.documentElement.classList.toggle("printing", printing);
    this.colors.read();
    const lanes = Math.min(this.model.stackCount, 28) * LANE + RULER + 8;
    this.lanes.style.height = printing ? `${lanes}px` : "";
    if (printing) {
      this.painter.resize(1000, lanes);
      this.lanes.style.aspectRatio = `1000 / ${lanes}`;
      this.lanes.style.height = "auto";
      this.painter.paint(this.selected);
    } else {
      this.lanes.style.aspectRatio = "";
      this.resize();
    }
    this.panel.legend();
    this.panel.show(this.selected);
  }

  select(event) {
    if (event < 0 || event >= this.model.count) return;
    this.selected = event;
    this.view.reveal(event);
    this.panel.show(event);
    const on = `${this.model.title(event)}, on stack ${this.model.stackName(this.model.stack[event])}, event ${event + 1}`;
    document.getElementById("status").textContent = on;
    this.draw();
  }

  move(by) {
    const next = this.selected < 0 ? this.view.after(this.view.from) : this.selected + by;
    this.select(Math.max(0, Math.min(next, this.model.count - 1)));
  }

  /** Another event of the same stack. */
  moveOnStack(by) {
    if (this.selected < 0) return this.move(by);
    const { begin, items } = this.model.eventsOf;
    const stack = this.model.stack[this.selected];
    const at = first(begin[stack], begin[stack + 1], (i) => items[i] >= this.selected) + by;
    if (at >= begin[stack] && at < begin[stack + 1]) this.select(items[at]);
  }

  /** The same moment on another stack: its last event before, or its first. */
  moveStack(by) {
    if (this.selected < 0) return this.move(by);
    const { model } = this;
    const stack = model.stack[this.selected] + by;
    if (stack < 0 || stack >= model.stackCount) return;
    const last = model.lastOf(stack, this.selected);
    const { begin, items } = model.eventsOf;
    if (last >= 0) this.select(last);
    else if (begin[stack] < begin[stack + 1]) this.select(items[begin[stack]]);
  }

  search(text) {
    if (this.input.value !== text) this.input.value = text;
    const found = matches(this.model, text);
    this.painter.matches = found;
    const count = found.length === 1 ? "1 event" : `${number(found.length)} events`;
    document.getElementById("found").value = text.trim() ? count : "";
    this.draw();
  }

  key(key) {
    if (key.ctrlKey || key.metaKey || key.altKey || document.querySelector("dialog[open]")) return;
    if (key.target === this.input) return this.keyInSearch(key);
    if (key.target.matches("select, input")) return;
    const act = this.keys()[key.key];
    if (!act) return;
    // Space and Enter belong to what has the focus; arrows scroll a panel that has it.
    if (key.target.closest("#panel") && key.key.startsWith("Arrow")) return;
    act();
    this.draw();
    key.preventDefault();
  }

  keyInSearch(key) {
    if (key.key === "Enter") {
      this.select(step(this.painter.matches, this.selected, !key.shiftKey));
      key.preventDefault();
    } else if (key.key === "Escape") {
      this.search("");
      this.lanes.focus();
    }
  }

  keys() {
    const { view } = this;
    const page = view.height - RULER;
    const click = (id) => () => {
      const select = document.getElementById(id);
      select.selectedIndex = 1 - select.selectedIndex;
      select.dispatchEvent(new Event("change"));
    };
    return {
      ArrowLeft: () => view.pan(-80), ArrowRight: () => view.pan(80),
      ArrowUp: () => this.moveStack(-1), ArrowDown: () => this.moveStack(1),
      PageUp: () => view.scroll(-page), PageDown: () => view.scroll(page),
      "+": () => this.zoomAtSelected(0.5), "=": () => this.zoomAtSelected(0.5), "-": () => this.zoomAtSelected(2),
      0: () => view.fit(),
      ".": () => this.move(1), ",": () => this.move(-1), "]": () => this.moveOnStack(1), "[": () => this.moveOnStack(-1),
      Home: () => this.select(0), End: () => this.select(this.model.count - 1),
      "/": () => this.input.select(), "?": () => document.getElementById("keys").showModal(),
      c: click("color"), o: click("axis"),
      1: () => this.panel.open("event"), 2: () => this.panel.open("tree"), 3: () => this.panel.open("totals"),
    };
  }

  zoomAtSelected(factor) {
    const x = this.selected >= 0 ? this.view.x[this.selected] : undefined;
    const isSeen = x >= this.view.from && x <= this.view.to;
    this.view.zoom(factor, isSeen ? x : undefined);
  }

  mouse(overview, tip) {
    const { view, lanes } = this;
    lanes.addEventListener("wheel", (wheel) => this.wheel(wheel, false), { passive: false });
    overview.addEventListener("wheel", (wheel) => this.wheel(wheel, true), { passive: false });
    this.drag(lanes, (dx, dy) => (view.pan(-dx), view.scroll(-dy)), (x, y) => this.click(x, y));
    const go = (x) => view.show(((x - LABELS) / (view.width - LABELS)) * view.end, view.to - view.from);
    this.drag(overview, (dx, dy, x) => go(x), (x) => go(x));
    lanes.addEventListener("pointermove", (pointer) => this.hover(pointer, tip));
    lanes.addEventListener("pointerleave", () => (tip.hidden = true));
  }

  wheel(wheel, zooms) {
    const { view } = this;
    const pixels = wheel.deltaMode === 1 ? 16 : 1;
    if (wheel.ctrlKey || wheel.metaKey || zooms) {
      view.zoom(1.0018 ** (wheel.deltaY * pixels), zooms ? undefined : view.fromPixel(wheel.offsetX));
    } else {
      const across = wheel.deltaX || (wheel.shiftKey ? wheel.deltaY : 0);
      if (across) view.pan(across * pixels);
      else view.scroll(wheel.deltaY * pixels);
    }
    this.draw();
    wheel.preventDefault();
  }

  /** Calls one function while the pointer is dragged, and the other if it was only a click. */
  drag(on, moved, clicked) {
    let last = null;
    let far = 0;
    on.addEventListener("pointerdown", (pointer) => {
      last = [pointer.offsetX, pointer.offsetY];
      far = 0;
      on.setPointerCapture(pointer.pointerId);
    });
    on.addEventListener("pointermove", (pointer) => {
      if (!last) return;
      const [dx, dy] = [pointer.offsetX - last[0], pointer.offsetY - last[1]];
      far += Math.abs(dx) + Math.abs(dy);
      if (far < 4) return;
      moved(dx, dy, pointer.offsetX);
      last = [pointer.offsetX, pointer.offsetY];
      this.draw();
    });
    on.addEventListener("pointerup", (pointer) => {
      if (last && far < 4) clicked(pointer.offsetX, pointer.offsetY);
      last = null;
      this.draw();
    });
    on.addEventListener("pointercancel", () => (last = null));
  }

  /** The event at a place: a switch whose arrow is there, or the end of the run, or what the
      stack did last. */
  eventAt(x, y) {
    const { view, model } = this;
    const stack = view.stackAt(y);
    const near = view.nearest(view.fromPixel(Math.max(x, LABELS)));
    if (near < 0) return -1;
    const close = Math.abs(view.toPixel(view.x[near]) - x) <= 4;
    const [a, b] = [model.stack[near], model.target[near]];
    if (close && (stack === a || stack === b || (b >= 0 && (stack - a) * (stack - b) < 0))) return near;
    if (stack < 0) return -1;
    const at = view.fromPixel(Math.max(x, LABELS));
    const { begin, items } = model.runsOf;
    const run = first(begin[stack], begin[stack + 1], (i) => view.runEnd(items[i]) > at);
    if (run < begin[stack + 1] && view.runBegin(items[run]) <= at) return Math.min(model.runs.end[items[run]], model.count - 1);
    const last = model.lastOf(stack, Math.max(0, view.after(at) - 1));
    return last >= 0 ? last : model.birth[stack];
  }

  click(x, y) {
    this.lanes.focus();
    this.select(this.eventAt(x, y));
  }

  hover(pointer, tip) {
    const event = pointer.buttons ? -1 : this.eventAt(pointer.offsetX, pointer.offsetY);
    tip.hidden = event < 0 || pointer.offsetX < LABELS;
    if (tip.hidden) return;
    const { model } = this;
    const f = model.functionAt(event);
    tip.textContent = `${model.title(event)}\n${model.stackName(model.stack[event])} · ${duration(model.time[event])}` + (f >= 0 ? `\nin ${model.functions[f]}` : "");
    const left = pointer.offsetX + 14;
    tip.style.left = `${Math.min(left, this.view.width - tip.offsetWidth - 8)}px`;
    tip.style.top = `${pointer.offsetY + 34 + 16}px`;
  }
}

load().then((model) => {
  window.page = new Page(model);
  document.documentElement.dataset.ready = performance.now().toFixed(0);
});
