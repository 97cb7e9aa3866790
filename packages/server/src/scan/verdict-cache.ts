import { hash } from "node:crypto";
import { recentlyUsed } from "../flow/recently-used.ts";
import type { Verdict } from "../model/verdict.ts";

/**
 * Verdicts about contents that were scanned before, in memory, the least recently used forgotten first.
 *
 * A verdict is given out again only for the same bytes, by their digest and length, and only while everything else that it
 * depends on is the same: see `Edition`. What an engine could not say for certain is never kept.
 */
export interface VerdictCache {
  /** Whether anything is known of a content, by whatever edition. Counts as nothing. */
  knows(content: Content): boolean;
  /** What is known of a content by this edition. */
  find(content: Content, edition: Edition): Known | undefined;
  keep(content: Content, edition: Edition, known: Known): void;
  counts(): CacheCounts;
}

/** A content of which every byte has arrived. */
export interface Content {
  /** A character for each byte: half the memory of hexadecimal digits. */
  digest: string;
  sizeBytes: number;
}

/** Returns a content's SHA-256 and length. */
export function contentOf(bytes: Uint8Array): Content {
  return { digest: hash("sha256", bytes, "binary"), sizeBytes: bytes.length };
}

export function hexOf(digest: string): string {
  return Buffer.from(digest, "latin1").toString("hex");
}

/**
 * By what a content was scanned. Each part is an object that stands for one state of rules, signatures and settings, and is
 * never used for another one; settings that only change with a restart need none, as the cache ends with the process.
 */
export interface Edition {
  /** What we look for ourselves: rules. */
  ours: object;
  /** The other engine's signatures and settings, where it is certain what they are. Then whole verdicts are known. */
  other: object | undefined;
}

interface Known {
  /** About all of it. Only with an `Edition` that is certain, and never `unscannable`. */
  verdict?: Verdict;
  /**
   * We found nothing in it, and had nothing to show to the other engine as long as that opens these ways of packing by itself:
   * it still has to be shown the file as it is.
   */
  cleanIfOpened?: string;
}

export interface CacheCounts {
  /** Answered without any engine. */
  hits: number;
  /** Our own part was known; the other engine was asked. */
  partHits: number;
  misses: number;
  entries: number;
}

interface Entry {
  verdict: Verdict | undefined;
  cleanIfOpened: string | undefined;
  sizeBytes: number;
  ours: object;
  other: object | undefined;
}

/** Names of members are a client's own, and may be of any length. */
const LONGEST_TEXT = 512;
const MOST_TYPES = 1000;

export function verdictCache(maxEntries: number): VerdictCache {
  const entries = recentlyUsed<Entry>(maxEntries);
  // One for each file type instead of one for each file.
  const cleans = new Map<string | undefined, Verdict>();
  const counts = { hits: 0, partHits: 0, misses: 0 };

  function compact(verdict: Verdict): Verdict | undefined {
    if (verdict.kind === "unscannable") return undefined;
    if (verdict.kind === "infected") {
      const tooLong = verdict.finding.length + (verdict.member?.length ?? 0) > LONGEST_TEXT;
      return tooLong ? undefined : { ...verdict, cached: true };
    }
    const { fileType } = verdict;
    const same = cleans.get(fileType);
    if (same) return same;
    const clean: Verdict = { kind: "clean", ...(fileType !== undefined && { fileType }), cached: true };
    if (cleans.size < MOST_TYPES) cleans.set(fileType, clean);
    return clean;
  }

  return {
    knows: ({ digest }) => entries.has(digest),

    find({ digest, sizeBytes }, { ours, other }) {
      const entry = entries.get(digest);
      if (!entry || entry.sizeBytes !== sizeBytes || entry.ours !== ours) {
        counts.misses += 1;
        return undefined;
      }
      if (entry.verdict && other !== undefined && entry.other === other) {
        counts.hits += 1;
        return { verdict: entry.verdict };
      }
      if (entry.cleanIfOpened === undefined) {
        counts.misses += 1;
        return undefined;
      }
      counts.partHits += 1;
      return { cleanIfOpened: entry.cleanIfOpened };
    },

    keep({ digest, sizeBytes }, { ours, other }, { verdict, cleanIfOpened }) {
      const whole = other !== undefined && verdict ? compact(verdict) : undefined;
      if (!whole && cleanIfOpened === undefined) return;
      entries.set(digest, { sizeBytes, ours, other, verdict: whole, cleanIfOpened });
    },

    counts: () => ({ ...counts, entries: entries.size }),
  };
}
