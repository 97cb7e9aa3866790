/** The engine could not be asked, or gave no verdict: no statement about the file. The job runs again. */
export class EngineUnavailable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EngineUnavailable";
  }
}

/** All slots are taken and the waiting line is full. */
export class Busy extends Error {
  constructor(message: string) {
    super(message);
    this.name = "Busy";
  }
}
