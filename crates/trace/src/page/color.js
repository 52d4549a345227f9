// Colors of functions and designs, in light, dark and print.

class Colors {
  constructor(model) {
    this.by = "function";
    const time = new Float64Array(model.functions.length);
    model.runs.function.forEach((f, i) => {
      if (f >= 0) time[f] += model.time[model.runs.end[i]] - model.time[model.runs.begin[i]] + 1;
    });
    // The functions that run longest have the colors that differ most.
    this.order = Array.from(time.keys()).sort((a, b) => time[b] - time[a]);
    this.hues = new Float64Array(time.length);
    this.order.forEach((f, rank) => (this.hues[f] = (250 + rank * 137.508) % 360));
    this.time = time;
    this.model = model;
    this.read();
  }

  /** Takes over what the style sheet says now. */
  read() {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["back", "raised", "ink", "soft", "faint", "line", "accent", "arrow", "lane", "warn", "run-light", "run-chroma", "run-ink", "sans"]) {
      this[name] = style.getPropertyValue(`--${name}`).trim();
    }
    this.cache = new Map();
  }

  ofFunction(f) {
    return f < 0 ? this.shade(0, 0) : this.shade(this.hues[f], 1);
  }

  ofDesign(design) {
    const hues = [0, 250, 150, 75, 20, 310];
    return this.shade(hues[design], design === 0 ? 0.15 : 1);
  }

  ofRun(run) {
    const { runs, stacks } = this.model;
    return this.by === "design" ? this.ofDesign(stacks.design[runs.stack[run]]) : this.ofFunction(runs.function[run]);
  }

  ofStack(stack) {
    const { stacks } = this.model;
    return this.by === "design" ? this.ofDesign(stacks.design[stack]) : this.ofFunction(stacks.function[stack]);
  }

  shade(hue, strength) {
    const key = hue * 2 + strength;
    if (!this.cache.has(key)) {
      this.cache.set(key, `oklch(${this["run-light"]} ${this["run-chroma"] * strength} ${hue.toFixed(1)})`);
    }
    return this.cache.get(key);
  }
}
