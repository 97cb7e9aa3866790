import { signal } from "@preact/signals";

/** Light or dark as the machine has it, unless the reader chose one here. */
type Theme = "light" | "dark";
const KEPT = "lazaret-theme";
const machine = matchMedia("(prefers-color-scheme: dark)");

export const theme = signal<Theme>(kept() ?? (machine.matches ? "dark" : "light"));

machine.addEventListener("change", () => {
  if (!kept()) theme.value = machine.matches ? "dark" : "light";
});

export function applyTheme(): void {
  theme.subscribe((value) => {
    document.documentElement.dataset.theme = value;
  });
}

export function toggleTheme(): void {
  theme.value = theme.value === "dark" ? "light" : "dark";
  try {
    localStorage.setItem(KEPT, theme.value);
  } catch {
    // A browser that keeps nothing for us: the choice lasts until the page is left.
  }
}

function kept(): Theme | undefined {
  try {
    const value = localStorage.getItem(KEPT);
    return value === "light" || value === "dark" ? value : undefined;
  } catch {
    return undefined;
  }
}
