/** OpenTelemetry's variables for what starts in this process until the end of the block. */
export function otelVariables(variables: Record<`OTEL_${string}`, string>): Disposable {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return {
    [Symbol.dispose]() {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    },
  };
}
