// From clicks on a board to a legal move: each click narrows down the moves that begin with it.

/** Moves that begin with the parts that were clicked, in that order. */
export function matching(choices, chosen) {
  return choices.filter((one) => chosen.every((target, at) => one.targets[at] === target));
}

/** The parts that can be clicked next, and those with which to begin again. */
export function openTargets(choices, chosen) {
  const next = matching(choices, chosen).map((one) => one.targets[chosen.length]);
  const first = choices.map((one) => one.targets[0]);
  return new Set([...next, ...first].filter(Boolean));
}

/** What is chosen after a click on a part. */
export function picked(choices, chosen, target) {
  const longer = [...chosen, target];
  if (matching(choices, longer).length) return longer;
  return chosen.length === 1 && chosen[0] === target ? [] : [target];
}
