// Numbers as people read them. What is not known is a dash, never a zero.

export const UNKNOWN = "—";

/** 950, 12,400, 1.5M */
export function count(value) {
  if (value === null || value === undefined) return UNKNOWN;
  const size = Math.abs(value);
  if (size >= 1e9) return `${short(value / 1e9)}G`;
  if (size >= 1e6) return `${short(value / 1e6)}M`;
  return Math.round(value).toLocaleString("en-US");
}

function short(value) {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1);
}

/** 40 s, 12 min, 3.5 h */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  if (seconds < 90) return `${Math.max(0, Math.round(seconds))} s`;
  if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${(seconds / 3600).toFixed(1)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** 0.318 [0.276, 0.359] */
export function estimate(score) {
  if (!score) return UNKNOWN;
  const digits = score.against === "NashConv" ? 4 : 3;
  const value = score.value.toFixed(digits);
  if (score.low === null || score.high === null) return value;
  return `${value} [${score.low.toFixed(digits)}, ${score.high.toFixed(digits)}]`;
}

/** How long ago something was, from seconds since 1970. */
export function ago(moment) {
  if (!moment) return UNKNOWN;
  const seconds = Date.now() / 1000 - moment;
  return seconds < 5 ? "now" : `${duration(seconds)} ago`;
}

export function percent(share) {
  return share === null || share === undefined ? UNKNOWN : `${Math.floor(share * 100)} %`;
}
