// Finding events by the names of functions, tags and stacks, and by what happened.

/** The events that a text is found in. */
function matches(model, text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return [];
  const has = (name) => name.toLowerCase().includes(wanted);
  const functions = model.functions.map(has);
  const tags = model.tags.map(has);
  const words = model.words.map((word) => word === wanted);
  const notes = model.notes.map(has);
  const stacks = new Uint8Array(model.stackCount);
  for (let stack = 0; stack < model.stackCount; stack++) stacks[stack] = has(`stack ${model.stackName(stack)}`) ? 1 : 0;
  const found = [];
  for (let event = 0; event < model.count; event++) {
    const target = model.target[event];
    if (functions[model.functionAt(event)] || tags[model.events.tag[event]] || words[model.what[event]] ||
        notes[model.events.note[event]] || stacks[model.stack[event]] || (target >= 0 && stacks[target])) found.push(event);
  }
  return found;
}

/** The match after an event, or the one before it; around the ends. */
function step(found, event, forwards) {
  if (!found.length) return -1;
  const after = first(0, found.length, (i) => found[i] > event);
  if (forwards) return found[after % found.length];
  const before = found[after - 1] === event ? after - 2 : after - 1;
  return found[(before + found.length) % found.length];
}
