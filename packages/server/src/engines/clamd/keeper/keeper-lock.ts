import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/**
 * Held by the one process that keeps clamd for a data folder. The kernel takes it back however that process ends, which no file with a
 * number in it does: so it is a lock on a database in which there is nothing. Undefined while another has it.
 */
export function keeperLock(folder: string): Disposable | undefined {
  const database = new DatabaseSync(join(folder, "keeper.lock"));
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    // SQLITE_BUSY
    if ((error as { errcode?: number }).errcode === 5) return undefined;
    throw error;
  }
  return { [Symbol.dispose]: () => database.close() };
}
