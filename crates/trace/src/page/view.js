// Which part of the trace is shown: a range of the axis, and the first lane.

const LABELS = 170; // pixels left of the lanes
const RULER = 24; // pixels above them
const LANE = 36; // pixels of each

class View {
  constructor(model) {
    this.model = model;
    this.width = 800;
    this.height = 400;
    this.top = 0;
    this.setAxis("time");
  }

  /** Places events by time, or by their order. */
  setAxis(axis) {
    const { model } = this;
    const anchor = this.x && this.nearest((this.from + this.to) / 2);
    const shown = this.x && (this.to - this.from) / this.end;
    this.axis = axis;
    this.x = axis === "time" ? model.time : Float64Array.from({ length: model.count + 1 }, (_, i) => i);
    this.end = Math.max(this.x[model.count], 1);
    this.sums();
    this.fit();
    if (anchor !== undefined && shown < 0.999) this.show(this.x[anchor], shown * this.end);
  }

  /** For each run, how long the runs before it on its stack took together. */
  sums() {
    const { begin, items } = this.model.runsOf;
    this.sum = new Float64Array(items.length + 1);
    for (let i = 0; i < items.length; i++) {
      this.sum[i + 1] = this.sum[i] + this.runEnd(items[i]) - this.runBegin(items[i]);
    }
    this.lane = begin;
  }

  runBegin(run) {
    return this.x[this.model.runs.begin[run]];
  }

  runEnd(run) {
    return this.x[this.model.runs.end[run]];
  }

  /** How much of the axis a pixel is. */
  get pixel() {
    return (this.to - this.from) / Math.max(1, this.width - LABELS);
  }

  toPixel(x) {
    return LABELS + (x - this.from) / this.pixel;
  }

  fromPixel(pixel) {
    return this.from + (pixel - LABELS) * this.pixel;
  }

  laneTop(stack) {
    return RULER + stack * LANE - this.top;
  }

  stackAt(y) {
    const stack = Math.floor((y - RULER + this.top) / LANE);
    return y >= RULER && stack >= 0 && stack < this.model.stackCount ? stack : -1;
  }

  fit() {
    this.from = -0.01 * this.end;
    this.to = 1.01 * this.end;
  }

  /** Shows so much of the axis around a place. */
  show(center, span) {
    this.from = center - span / 2;
    this.to = center + span / 2;
    this.clamp();
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    const least = this.axis === "time" ? 10 : 2;
    const span = Math.min(Math.max((this.to - this.from) * factor, least), this.end * 1.02);
    const share = (around - this.from) / (this.to - this.from);
    this.from = around - span * share;
    this.to = this.from + span;
    this.clamp();
  }

  pan(pixels) {
    const move = pixels * this.pixel;
    this.from += move;
    this.to += move;
    this.clamp();
  }

  scroll(pixels) {
    const lanes = this.model.stackCount * LANE + RULER + 8 - this.height;
    this.top = Math.max(0, Math.min(this.top + pixels, lanes));
  }

  clamp() {
    const span = this.to - this.from;
    const edge = Math.min(0.01 * this.end, span * 0.1);
    if (span >= this.end * 1.02) return this.fit();
    if (this.from < -edge) this.from = -edge;
    if (this.from > this.end + edge - span) this.from = this.end + edge - span;
    this.to = this.from + span;
  }

  /** Moves so that an event can be seen; zooms in if there is a crowd around it. */
  reveal(event) {
    const x = this.x[event];
    const span = this.to - this.from;
    if (x < this.from + span * 0.03 || x > this.to - span * 0.03) this.show(x, span);
    for (const stack of [this.model.target[event], this.model.stack[event]]) {
      if (stack < 0) continue;
      const y = this.laneTop(stack);
      if (y < RULER) this.scroll(y - RULER);
      if (y + LANE > this.height) this.scroll(y + LANE + 4 - this.height);
    }
  }

  /** The event that is nearest to a place of the axis. */
  nearest(x) {
    const after = this.after(x);
    if (after === 0) return 0;
    if (after >= this.model.count) return this.model.count - 1;
    return this.x[after] - x < x - this.x[after - 1] ? after : after - 1;
  }

  /** The first event that is not before a place. */
  after(x) {
    return first(0, this.model.count, (i) => this.x[i] >= x);
  }
}
