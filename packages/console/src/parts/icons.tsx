import type { JSX } from "preact";

/** Drawn here: 20 × 20, one stroke, the colour of the text. */
const PATHS = {
  scan: "M3 7V4a1 1 0 0 1 1-1h3M13 3h3a1 1 0 0 1 1 1v3M17 13v3a1 1 0 0 1-1 1h-3M7 17H4a1 1 0 0 1-1-1v-3M3 10h14",
  activity: "M2 10h4l2.500-6 3.500 12 2.500-6H18",
  findings: "M10 2.500l7 2.700v5c0 4-3 6.500-7 7.800-4-1.300-7-3.800-7-7.800v-5zM10 6.500v4M10 13.300v.2",
  dead: "M3 5h14v10H3zM3 5.500l7 5.500 7-5.500M13 18l5-5M18 18l-5-5",
  engines:
    "M10 6.500a3.500 3.500 0 1 0 0 7 3.500 3.500 0 0 0 0-7zM10 2v3M10 15v3M2 10h3M15 10h3M4.300 4.300l2.200 2.200M13.500 13.500l2.200 2.200M4.300 15.700l2.200-2.200M13.500 6.500l2.200-2.200",
  buckets: "M3 5c0-1.700 14-1.700 14 0s-14 1.700-14 0l1.500 11c.3 1.700 10.700 1.700 11 0L17 5",
  keys: "M12.500 3a4.500 4.500 0 1 0 0 9 4.500 4.500 0 0 0 0-9zM9.300 10.700L3 17M5 15l2 2M13.500 6.500v.1",
  settings: "M3 5h8M15 5h2M13 3v4M3 10h2M9 10h8M7 8v4M3 15h8M15 15h2M13 13v4",
  theme: "M10 3a7 7 0 1 0 7 7 5.500 5.500 0 0 1-7-7z",
  search: "M8.500 3a5.500 5.500 0 1 0 0 11 5.500 5.500 0 0 0 0-11zM12.500 12.500L17 17",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        stroke-width="1.500"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}
