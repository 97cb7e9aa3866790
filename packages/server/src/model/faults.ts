/** The engine could not be asked, or gave no verdict: no statement about the file. The job runs again. */
export class EngineUnavailable extends Error {
  /** It had begun to look at the file, so the file itself may be the reason. */
  readonly whileScanning: boolean;

  constructor(message: string, options: ErrorOptions & { whileScanning?: boolean } = {}) {
    super(message, options);
    this.name = "EngineUnavailable";
    this.whileScanning = options.whileScanning ?? false;
  }
}

/** There is no room now: all slots are taken and the waiting line is full, or too many jobs wait or deliver already. */
export class Busy extends Error {
  /** When there should be room, where that is known. */
  readonly backInSeconds: number | undefined;

  constructor(message: string, options: { backInSeconds?: number } = {}) {
    super(message);
    this.name = "Busy";
    this.backInSeconds = options.backInSeconds;
  }
}

/** The store of jobs, results and messages cannot be asked or written to: disk full, database gone. Nobody is to rely on it. */
export class QueueUnavailable extends Error {
  /** Whether it may end with nothing changed in the settings, so that another start is worth trying. */
  readonly passes: boolean;

  constructor(message: string, { passes = false, ...options }: ErrorOptions & { passes?: boolean | undefined } = {}) {
    super(message, options);
    this.name = "QueueUnavailable";
    this.passes = passes;
  }
}

/** The bytes of a file come too slowly to hold a slot that others wait for. */
export class TooSlow extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TooSlow";
  }
}
