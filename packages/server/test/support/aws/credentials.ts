/** For the SDK's usual chain. The stand-ins take any, and no test may find those of the machine it runs on. */
export function useCredentials(): void {
  process.env.AWS_ACCESS_KEY_ID = "AKIDOFTHETESTS";
  process.env.AWS_SECRET_ACCESS_KEY = "secret-of-the-tests";
  delete process.env.AWS_SESSION_TOKEN;
}
