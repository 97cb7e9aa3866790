import UPlot, { type AlignedData, type Options } from "uplot";
import "uplot/dist/uPlot.min.css";

export type Plot = UPlot;
export type PlotData = AlignedData;

export function draw(element: HTMLElement, size: { width: number; height: number }, data: PlotData): UPlot {
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const band = (label: string, name: string) => ({
    label,
    stroke: colour(name),
    fill: colour(`${name}-soft`),
    width: 1,
    points: { show: false },
  });
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } };
  const options: Options = {
    ...size,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 1)] } },
    series: [{}, band("clean", "--clean"), band("infected", "--infected"), band("not scanned", "--no")],
    axes: [
      { ...axis, values: clock, size: 26 },
      { ...axis, size: 44 },
    ],
  };
  return new UPlot(options, data, element);
}

function clock(_plot: UPlot, splits: number[]): string[] {
  return splits.map((seconds) => new Date(seconds * 1000).toTimeString().slice(0, 5));
}
