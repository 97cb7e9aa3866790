import { type CentralHeader, centralHeader, IN_ZIP64_FIELD } from "./zip-headers.ts";

/**
 * Follows directories while they pass. A directory is a chain of headers, each beginning exactly where the one before
 * ends. "PK\1\2" may stand anywhere in packed bytes, in names and comments, by chance or by intent, so every occurrence
 * may begin a chain, and all chains are followed side by side until they break: a false one cannot hide the true one.
 */
export interface DirectoryChains {
  header(at: number, bytes: Buffer, index: number): void;
  /** The chain that ends exactly here, if any. */
  endingAt(place: number): DirectoryEntry | undefined;
  /** The chain that ended at `place` goes on at `next`: something that is no header stands between. */
  resume(place: number, next: number): void;
  /** The longest chain met so far, whether it ended properly or not. */
  longest(): number;
  /** Headers are strewn about as in no archive: not all chains were followed. */
  tangled(): boolean;
}

/** One header of a chain, and the sum of the chain up to it. */
export interface DirectoryEntry {
  header: CentralHeader;
  previous: DirectoryEntry | undefined;
  entries: number;
  largestBytes: number;
  totalBytes: number;
  /** Some entry is encrypted, is zip64, has a method that the engine does not know (else -1). */
  encrypted: boolean;
  zip64: boolean;
  oddMethod: number;
}

export interface ChainRules {
  /** Longer chains are not remembered entry by entry. */
  maxEntries: number;
  isEncrypted(header: CentralHeader): boolean;
  isKnownMethod(method: number): boolean;
}

/** Chains followed at once. An archive is one; the machine code of a zip program holds a handful of lone signatures. */
const MAX_OPEN_CHAINS = 64;
/** Chains begun in one file: every stored archive within it begins one. Beyond, following them is all a file is for. */
const MAX_CHAINS = 65_536;

export function directoryChains(rules: ChainRules): DirectoryChains {
  /** The last entry of every open chain, by the place where the next record must begin. */
  const open = new Map<number, DirectoryEntry>();
  /** Entries remembered by open chains: what bounds the memory, together with the number of chains. */
  let remembered = 0;
  let begun = 0;
  let longest = 0;
  let tangled = false;

  const overfull = (): boolean => open.size > MAX_OPEN_CHAINS || remembered > 2 * rules.maxEntries;
  function close(place: number): void {
    remembered -= open.get(place)?.entries ?? 0;
    open.delete(place);
  }
  function put(entry: DirectoryEntry, place: number): void {
    const rival = open.get(place);
    if (rival) close(place);
    const kept = rival ? merged(entry, rival) : entry;
    open.set(place, kept);
    remembered += kept.entries;
  }

  return {
    header(at, bytes, index) {
      if (tangled) return;
      const previous = open.get(at);
      if (previous) close(at);
      else begun += 1;
      const entry = following(previous, centralHeader(at, bytes, index), rules);
      put(entry, entry.header.endAt);
      longest = Math.max(longest, entry.entries);
      if (overfull()) for (const place of open.keys()) if (place < at) close(place);
      tangled = begun > MAX_CHAINS || overfull();
      if (tangled) open.clear();
    },
    endingAt: (place) => open.get(place),
    resume(place, next) {
      const entry = open.get(place);
      if (!entry) return;
      close(place);
      put(entry, next);
    },
    longest: () => longest,
    tangled: () => tangled,
  };
}

function following(
  previous: DirectoryEntry | undefined,
  header: CentralHeader,
  { maxEntries, isEncrypted, isKnownMethod }: ChainRules,
): DirectoryEntry {
  const { packedBytes, unpackedBytes, localOffset, method } = header;
  const zip64 = packedBytes === IN_ZIP64_FIELD || unpackedBytes === IN_ZIP64_FIELD || localOffset === IN_ZIP64_FIELD;
  const bytes = zip64 ? 0 : unpackedBytes;
  const oddMethod = isKnownMethod(method) ? -1 : method;
  const encrypted = isEncrypted(header);
  if (!previous) {
    return { header, previous, entries: 1, largestBytes: bytes, totalBytes: bytes, encrypted, zip64, oddMethod };
  }
  const entries = previous.entries + 1;
  return {
    header,
    previous: entries > maxEntries ? undefined : previous,
    entries,
    largestBytes: Math.max(previous.largestBytes, bytes),
    totalBytes: previous.totalBytes + bytes,
    encrypted: encrypted || previous.encrypted,
    zip64: zip64 || previous.zip64,
    oddMethod: oddMethod === -1 ? previous.oddMethod : oddMethod,
  };
}

/** Two chains that go on as one: the longer one's entries, and the worst of both in the sums. */
function merged(one: DirectoryEntry, other: DirectoryEntry): DirectoryEntry {
  const [longer, shorter] = one.entries >= other.entries ? [one, other] : [other, one];
  return {
    ...longer,
    largestBytes: Math.max(longer.largestBytes, shorter.largestBytes),
    totalBytes: Math.max(longer.totalBytes, shorter.totalBytes),
    encrypted: longer.encrypted || shorter.encrypted,
    zip64: longer.zip64 || shorter.zip64,
    oddMethod: Math.max(longer.oddMethod, shorter.oddMethod),
  };
}
