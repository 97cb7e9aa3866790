import { type TestClamd, testClamd } from "../support/clamd.ts";
import { type FileServer, fileServer } from "../support/file-server.ts";
import { atTheEnd } from "../support/leftovers.ts";
import { type TestService, testService } from "../support/service.ts";

interface SigningService {
  clamd: TestClamd;
  /** Files to download. */
  files: FileServer;
  service: TestService;
}

/** A service with clamd that signs its callbacks, for all tests of a file; it ends after the last of them. */
export async function signingService(dataDir: string): Promise<SigningService> {
  const clamd = await testClamd();
  atTheEnd(() => clamd[Symbol.asyncDispose]());
  const files = await fileServer();
  atTheEnd(() => files[Symbol.asyncDispose]());
  const service = await testService({
    clamd: `unix:${clamd.socketPath}`,
    dataDir,
    allowHttpCallbacks: true,
    signCallbackInvocations: true,
  });
  atTheEnd(() => service[Symbol.asyncDispose]());
  return { clamd, files, service };
}
