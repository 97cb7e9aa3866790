/** The client starts here with the words of the wire; the calls follow. */
export type { ErrorBody, ScanResult, Status } from "@lazaret/contract";
