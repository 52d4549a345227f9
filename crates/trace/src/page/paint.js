// Draws the timeline. What is narrower than a pixel is drawn together, so a frame costs as much
// as there are pixels, however many events there are.

const APART = 7; // pixels from event to event, above which each is drawn for itself
const CELL = 2; // pixels that are drawn together beyond that
const BOX = 20; // the height of a run

class Painter {
  constructor(canvas, overview, view, colors) {
    Object.assign(this, { canvas, overview, view, colors, model: view.model });
    this.matches = [];
  }

  /** Fits the canvases to the page. */
  resize(width, height) {
    const ratio = window.devicePixelRatio || 1;
    for (const [canvas, h] of [[this.canvas, height], [this.overview, 34]]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(h * ratio);
      canvas.getContext("2d").setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.view.width = width;
    this.view.height = height;
    this.view.scroll(0);
    this.strip = null;
  }

  paint(selected) {
    const { view, colors } = this;
    const ctx = this.canvas.getContext("2d");
    this.font = `12px ${colors.sans}`;
    ctx.font = this.font;
    ctx.textBaseline = "middle";
    ctx.fillStyle = colors.back;
    ctx.fillRect(0, 0, view.width, view.height);
    const firstLane = Math.max(0, Math.floor(view.top / LANE));
    const lastLane = Math.min(this.model.stackCount, firstLane + Math.ceil(view.height / LANE) + 1);
    ctx.save();
    ctx.beginPath();
    ctx.rect(LABELS, RULER, view.width - LABELS, view.height - RULER);
    ctx.clip();
    for (let stack = firstLane; stack < lastLane; stack++) this.lane(ctx, stack);
    const from = Math.max(0, view.after(view.from) - 1);
    const to = Math.min(this.model.count, view.after(view.to) + 1);
    if ((to - from) * APART <= view.width) this.events(ctx, from, to);
    else this.crowd(ctx, from, to);
    if (selected >= 0) this.selected(ctx, selected);
    ctx.restore();
    this.labels(ctx, firstLane, lastLane, selected);
    this.ruler(ctx, selected);
    this.paintOverview(selected);
  }

  /** The runs of a stack, and its life as a line. */
  lane(ctx, stack) {
    const { view, model, colors } = this;
    const y = view.laneTop(stack);
    if (stack % 2 === 0) {
      ctx.fillStyle = colors.lane;
      ctx.fillRect(LABELS, y, view.width, LANE);
    }
    const middle = y + LANE / 2;
    const born = Math.max(LABELS, view.toPixel(view.x[model.birth[stack]]));
    const died = Math.min(view.width, view.toPixel(view.x[model.death[stack]]));
    ctx.fillStyle = colors.line;
    if (died > born) ctx.fillRect(born, middle - 0.5, died - born, 1);
    const { begin, items } = model.runsOf;
    const end = begin[stack + 1];
    let i = first(begin[stack], end, (i) => view.runEnd(items[i]) > view.from);
    while (i < end) {
      const x0 = view.toPixel(view.runBegin(items[i]));
      if (x0 > view.width) break;
      const x1 = view.toPixel(view.runEnd(items[i]));
      ctx.fillStyle = colors.ofRun(items[i]);
      if (x1 - x0 >= CELL) {
        this.box(ctx, items[i], Math.max(x0, LABELS - 5), Math.min(x1, view.width + 5), middle);
        i++;
        continue;
      }
      // All that begins in the same cell is one bar, as dense as the stack ran in it.
      const cell = Math.floor(x0 / CELL) * CELL;
      const next = first(i + 1, end, (j) => view.toPixel(view.runBegin(items[j])) >= cell + CELL);
      const share = Math.min(1, (view.sum[next] - view.sum[i]) / (CELL * view.pixel));
      ctx.globalAlpha = 0.3 + 0.7 * share;
      ctx.fillRect(cell, middle - BOX / 2, CELL, BOX);
      ctx.globalAlpha = 1;
      i = next;
    }
  }

  box(ctx, run, x0, x1, middle) {
    const { model, colors } = this;
    ctx.beginPath();
    ctx.roundRect(x0, middle - BOX / 2, x1 - x0, BOX, Math.min(4, (x1 - x0) / 2));
    ctx.fill();
    const begun = model.runs.function[run];
    if (begun < 0 || x1 - x0 < 34) return;
    ctx.fillStyle = colors["run-ink"];
    this.text(ctx, model.functions[begun], x0 + 6, middle + 0.5, x1 - x0 - 10);
  }

  /** Text that is cut to a width. */
  text(ctx, text, x, y, width) {
    let shown = text;
    if (ctx.measureText(shown).width > width) {
      const letters = Math.floor((width / ctx.measureText(text).width) * text.length) - 1;
      if (letters < 2) return;
      shown = text.slice(0, letters) + "…";
    }
    ctx.fillText(shown, x, y);
  }

  /** Each event for itself: arrows of switches with their labels, marks of the others. */
  events(ctx, from, to) {
    const { view, model, colors } = this;
    const labelled = [];
    for (let event = from; event < to; event++) {
      const x = view.toPixel(view.x[event]);
      // A copy comes from what it is a copy of.
      const from = model.is(event, "clone") ? model.stacks.origin[model.target[event]] : model.stack[event];
      const y = view.laneTop(from) + LANE / 2;
      if (model.is(event, "host call")) this.hostCall(ctx, event, x, y);
      else if (model.target[event] >= 0) this.arrow(ctx, event, x, y, labelled);
      else this.mark(ctx, event, x, y);
    }
    ctx.font = `11px ${colors.sans}`;
    for (const [text, x, y, width] of labelled) {
      ctx.fillStyle = colors.back;
      ctx.fillRect(x - 2, y - 6.5, width + 3, 13);
      ctx.fillStyle = colors.ink;
      ctx.fillText(text, x, y + 0.5);
    }
    ctx.font = this.font;
  }

  arrow(ctx, event, x, y, labelled) {
    const { view, model, colors } = this;
    const to = view.laneTop(model.target[event]) + LANE / 2;
    const down = Math.sign(to - y);
    ctx.strokeStyle = ctx.fillStyle = model.is(event, "throw") ? colors.warn : colors.arrow;
    ctx.setLineDash(model.isSwitch(event) ? [] : [2, 3]);
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x, to - down * 4);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath();
    ctx.moveTo(x, to);
    ctx.lineTo(x - 3.5, to - down * 7);
    ctx.lineTo(x + 3.5, to - down * 7);
    ctx.fill();
    const text = [model.tagName(event), model.note(event)].filter(Boolean).join(" ");
    if (text) this.label(ctx, text, x + 5, down > 0 ? y + LANE / 2 : y - LANE / 2, labelled);
  }

  /** A label, if it does not cover another one. */
  label(ctx, text, x, y, labelled) {
    const width = ctx.measureText(text).width * (11 / 12);
    const covers = ([, x2, y2, width2]) => y === y2 && x < x2 + width2 + 6 && x2 < x + width + 6;
    if (width < 160 && !labelled.slice(-12).some(covers)) labelled.push([text, x, y, width]);
  }

  mark(ctx, event, x, y) {
    const { model, colors } = this;
    const bad = model.is(event, "trap") || model.is(event, "throw");
    ctx.fillStyle = bad ? colors.warn : colors.arrow;
    ctx.beginPath();
    if (bad || model.is(event, "drop")) {
      ctx.lineWidth = 2;
      ctx.strokeStyle = ctx.fillStyle;
      ctx.moveTo(x - 4, y - 4);
      ctx.lineTo(x + 4, y + 4);
      ctx.moveTo(x + 4, y - 4);
      ctx.lineTo(x - 4, y + 4);
      ctx.stroke();
      ctx.lineWidth = 1;
    } else {
      ctx.arc(x, y + BOX / 2, 2.5, 0, 7);
      ctx.fill();
    }
  }

  /** The time that the host takes, as a bar under the run. */
  hostCall(ctx, event, x, y) {
    const { view, model, colors } = this;
    const { begin, items } = model.eventsOf;
    const stack = model.stack[event];
    const i = first(begin[stack], begin[stack + 1], (i) => items[i] > event);
    const end = i < begin[stack + 1] ? view.toPixel(view.x[items[i]]) : view.width;
    ctx.fillStyle = colors.ink;
    ctx.globalAlpha = 0.55;
    ctx.fillRect(x, y + BOX / 2 - 3, Math.max(1, end - x), 3);
    ctx.globalAlpha = 1;
  }

  /** Switches that are too many for arrows: how far they reach, for each column. */
  crowd(ctx, from, to) {
    const { view, model, colors } = this;
    const columns = Math.ceil(view.width / CELL);
    const low = new Float64Array(columns).fill(Infinity);
    const high = new Float64Array(columns).fill(-Infinity);
    const step = Math.max(1, Math.floor((to - from) / 50000));
    const { from: left, x } = view;
    const scale = 1 / (view.pixel * CELL);
    for (let event = from; event < to; event += step) {
      if (!model.switches[event]) continue;
      const column = Math.floor(LABELS / CELL + (x[event] - left) * scale);
      if (column < 0 || column >= columns) continue;
      const a = model.stack[event];
      const b = model.target[event];
      low[column] = Math.min(low[column], a, b);
      high[column] = Math.max(high[column], a, b);
    }
    ctx.fillStyle = colors.arrow;
    ctx.globalAlpha = 0.16;
    for (let column = 0; column < columns; column++) {
      if (low[column] === Infinity) continue;
      const top = view.laneTop(low[column]) + LANE / 2;
      ctx.fillRect(column * CELL, top, 1, view.laneTop(high[column]) + LANE / 2 - top);
    }
    ctx.globalAlpha = 1;
  }

  selected(ctx, event) {
    const { view, model, colors } = this;
    const x = view.toPixel(view.x[event]);
    ctx.fillStyle = colors.accent;
    ctx.fillRect(x - 0.5, RULER, 1, view.height);
    ctx.strokeStyle = colors.accent;
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.arc(x, view.laneTop(model.stack[event]) + LANE / 2, 6, 0, 7);
    ctx.stroke();
    ctx.lineWidth = 1;
  }

  labels(ctx, from, to, selected) {
    const { view, model, colors } = this;
    ctx.fillStyle = colors.back;
    ctx.fillRect(0, 0, LABELS, view.height);
    for (let stack = from; stack < to; stack++) {
      const y = view.laneTop(stack);
      ctx.fillStyle = colors.ofStack(stack);
      ctx.beginPath();
      ctx.roundRect(10, y + LANE / 2 - 5, 10, 10, 3);
      ctx.fill();
      const chosen = selected >= 0 && model.stack[selected] === stack;
      ctx.font = chosen ? `600 ${this.font}` : this.font;
      ctx.fillStyle = chosen ? colors.accent : colors.ink;
      this.text(ctx, model.stackName(stack), 27, y + LANE / 2 + 0.5, LABELS - 34);
    }
    ctx.font = this.font;
    ctx.fillStyle = colors.line;
    ctx.fillRect(LABELS - 1, 0, 1, view.height);
  }

  /** Times, or numbers of events, above the lanes; and what the search found. */
  ruler(ctx) {
    const { view, colors } = this;
    ctx.fillStyle = colors.back;
    ctx.fillRect(LABELS, 0, view.width, RULER);
    const rough = 90 * view.pixel;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
    const least = view.axis === "order" ? Math.max(1, step) : step;
    ctx.font = `11px ${colors.sans}`;
    for (let x = Math.max(0, Math.ceil(view.from / least)) * least; x <= Math.min(view.to, view.end); x += least) {
      const pixel = view.toPixel(x);
      ctx.fillStyle = colors.line;
      ctx.fillRect(pixel, RULER - 6, 1, 6);
      ctx.fillStyle = colors.soft;
      ctx.fillText(view.axis === "time" ? duration(x) : number(Math.round(x)), pixel + 4, RULER / 2 - 1);
    }
    ctx.font = this.font;
    ctx.fillStyle = colors.line;
    ctx.fillRect(0, RULER - 1, view.width, 1);
    this.found(ctx, (x) => view.toPixel(x), LABELS, view.width, RULER - 5, 5);
  }

  found(ctx, toPixel, left, right, y, height) {
    ctx.fillStyle = this.colors.accent;
    let last = -1;
    for (const event of this.matches) {
      const x = Math.round(toPixel(this.view.x[event]));
      if (x < left || x > right || x === last) continue;
      ctx.fillRect(x - 1, y, 2, height);
      last = x;
    }
  }

  paintOverview(selected) {
    const { view, colors } = this;
    const ctx = this.overview.getContext("2d");
    const width = view.width - LABELS;
    const toPixel = (x) => LABELS + (x / view.end) * width;
    this.strip ??= this.paintStrip(width);
    ctx.clearRect(0, 0, view.width, 34);
    ctx.fillStyle = colors.raised;
    ctx.fillRect(0, 0, view.width, 34);
    ctx.drawImage(this.strip, LABELS, 6, width, 22);
    this.found(ctx, toPixel, LABELS, view.width, 0, 5);
    ctx.fillStyle = colors.soft;
    ctx.font = `12px ${colors.sans}`;
    ctx.textBaseline = "middle";
    const shown = view.axis === "time" ? duration(Math.min(view.to - view.from, view.end)) : "order";
    ctx.fillText(shown, 10, 17);
    const from = Math.max(LABELS, toPixel(view.from));
    const to = Math.min(view.width - 1, toPixel(view.to));
    ctx.fillStyle = colors.back;
    ctx.globalAlpha = 0.65;
    ctx.fillRect(LABELS, 6, from - LABELS, 22);
    ctx.fillRect(to, 6, view.width - to, 22);
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colors.accent;
    ctx.strokeRect(from + 0.5, 4.5, Math.max(2, to - from - 1), 25);
    if (selected >= 0) {
      ctx.fillStyle = colors.accent;
      ctx.fillRect(toPixel(view.x[selected]) - 0.5, 2, 1, 30);
    }
  }

  /** Who ran, over the whole trace. */
  paintStrip(width) {
    const { view, model, colors } = this;
    const strip = document.createElement("canvas");
    strip.width = Math.max(1, Math.floor(width));
    strip.height = 22;
    const ctx = strip.getContext("2d");
    const runs = model.runs.begin.length;
    for (let x = 0; x < strip.width; x++) {
      const at = ((x + 0.5) / strip.width) * view.end;
      const run = first(0, runs, (i) => view.runEnd(i) > at);
      if (run === runs || view.runBegin(run) > at) continue;
      ctx.fillStyle = colors.ofRun(run);
      ctx.fillRect(x, 0, 1, 22);
    }
    return strip;
  }
}
