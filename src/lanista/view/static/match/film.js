// A match's steps, fetched in parts as they are needed; only some parts are kept.

import { ask } from "../server.js";

const PART = 50;
const KEPT = 24;

export class Film {
  constructor(query) {
    this.query = query;
    this.parts = new Map();
  }

  async open() {
    this.about = await ask("/api/match/film", this.query);
    this.bySteps = new Map();
    for (const decided of this.about.decisions) {
      if (!this.bySteps.has(decided.step)) this.bySteps.set(decided.step, []);
      this.bySteps.get(decided.step).push(decided);
    }
    return this;
  }

  /** Return a step that is here already, or null. */
  here(step) {
    const part = this.parts.get(Math.floor(step / PART));
    return Array.isArray(part) ? part[step % PART] || null : null;
  }

  async step(step) {
    const number = Math.floor(step / PART);
    const steps = await this.#part(number);
    if (step % PART > PART - 15 && (number + 1) * PART < this.about.steps) this.#part(number + 1);
    return steps[step % PART];
  }

  #part(number) {
    if (!this.parts.has(number)) {
      const pending = ask("/api/match/steps", { ...this.query, first: number * PART, count: PART })
        .then(({ steps }) => {
          this.parts.set(number, steps);
          return steps;
        })
        .catch((refusal) => {
          this.parts.delete(number);
          throw refusal;
        });
      this.parts.set(number, pending);
      if (this.parts.size > KEPT) this.parts.delete(this.parts.keys().next().value);
    }
    return Promise.resolve(this.parts.get(number));
  }
}
